// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "confine.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifndef ARCHITECTURE

int confine_calls(const pid_t *protected) {
    (void)protected;
    return 0;
}

#else

// Calls whose numbers all architectures share, and which the headers may lack.
enum {
    PIDFD_SEND_SIGNAL = 424,
    IO_URING_SETUP = 425,
    OPEN_TREE = 428,
    FSPICK = 433,
    CLONE3 = 435,
    PIDFD_GETFD = 438,
    PROCESS_MADVISE = 440,
    MOUNT_SETATTR = 442,
};

// Other processes, the kernel's keys, its mounts and namespaces, and doors that are open to root
// alone but have had holes. The three of io_uring and all from open_tree() to fspick() are
// ranges, below.
static const int refused[] = {
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, PIDFD_GETFD,
    PROCESS_MADVISE, SYS_connect, SYS_add_key, SYS_request_key, SYS_keyctl, SYS_mount,
    SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_unshare, SYS_setns, MOUNT_SETATTR, SYS_bpf,
    SYS_perf_event_open, SYS_userfaultfd, SYS_kexec_load, SYS_kexec_file_load, SYS_init_module,
    SYS_finit_module, SYS_delete_module, SYS_open_by_handle_at, SYS_reboot, SYS_swapon,
    SYS_swapoff, SYS_acct, SYS_quotactl, SYS_syslog, SYS_settimeofday, SYS_clock_settime,
    SYS_adjtimex, SYS_clock_adjtime, SYS_sethostname, SYS_setdomainname, SYS_vhangup,
    SYS_fanotify_init,
#ifdef __x86_64__
    SYS_iopl, SYS_ioperm, SYS_modify_ldt,
#endif
};

#define CALL_COUNT (sizeof refused / sizeof *refused)
#define NAMESPACES \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID \
     | CLONE_NEWNET)

struct filter {
    struct sock_filter lines[CALL_COUNT + 128];
    unsigned short count;
};

static void add(struct filter *filter, int code, int equal, int other, uint32_t value) {
    filter->lines[filter->count++] = (struct sock_filter){
        .code = (unsigned short)code, .jt = (unsigned char)equal, .jf = (unsigned char)other,
        .k = value};
}

static void load(struct filter *filter, size_t offset) {
    add(filter, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

// The lower half, on machines whose lower half comes first: numbers of 32 bits are all in it.
static void load_argument(struct filter *filter, int index) {
    load(filter, offsetof(struct seccomp_data, args) + 8 * (size_t)index);
}

static void finish(struct filter *filter, uint32_t action) {
    add(filter, BPF_RET | BPF_K, 0, 0, action);
}

static void skip_unless(struct filter *filter, uint32_t value, int lines) {
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, lines, value);
}

static void refuse(struct filter *filter, int call, int error) {
    skip_unless(filter, (uint32_t)call, 1);
    finish(filter, SECCOMP_RET_ERRNO | (uint32_t)error);
}

// One refusal for all of them: the kernel's work at each start grows with the lines.
static void refuse_all(struct filter *filter) {
    for (unsigned left = CALL_COUNT; left > 0; left--)
        add(filter, BPF_JMP | BPF_JEQ | BPF_K, (int)left, 0, (uint32_t)refused[CALL_COUNT - left]);
    add(filter, BPF_JMP | BPF_JA, 0, 0, 1);
    finish(filter, SECCOMP_RET_ERRNO | EPERM);
}

static void refuse_range(struct filter *filter, int first, int last) {
    add(filter, BPF_JMP | BPF_JGE | BPF_K, 0, 2, (uint32_t)first);
    add(filter, BPF_JMP | BPF_JGT | BPF_K, 1, 0, (uint32_t)last);
    finish(filter, SECCOMP_RET_ERRNO | EPERM);
}

// Refuses `call` where its argument has one of `count` values, or where it has none of them.
static void refuse_argument(
    struct filter *filter, int call, int index, const uint32_t *values, int count, int is_one) {
    skip_unless(filter, (uint32_t)call, count + 3);
    load_argument(filter, index);
    for (int left = count; left > 0; left--)
        add(filter, BPF_JMP | BPF_JEQ | BPF_K, is_one ? left - 1 : left, 0, *values++);
    // After the last value: refuse what is none of them, or pass over the refusal.
    if (is_one) filter->lines[filter->count - 1].jf = 1;
    finish(filter, SECCOMP_RET_ERRNO | (uint32_t)(is_one ? EPERM : EACCES));
    finish(filter, SECCOMP_RET_ALLOW);
}

static void refuse_signals(struct filter *filter, const pid_t *protected) {
    static const int calls[] = {
        SYS_kill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo};
    uint32_t values[5] = {
        (uint32_t)protected[0], (uint32_t)protected[1], (uint32_t)-protected[1],
        (uint32_t)-getpgid(protected[0]),
        // To every process of the user.
        (uint32_t)-1};
    for (unsigned index = 0; index < sizeof calls / sizeof *calls; index++)
        refuse_argument(filter, calls[index], 0, values, 5, 1);
    // They name a thread or a descriptor, which may be that of a protected process.
    refuse(filter, SYS_tkill, EPERM);
    refuse(filter, PIDFD_SEND_SIGNAL, EPERM);
    const uint32_t itself = 0;
    refuse_argument(filter, SYS_prlimit64, 0, &itself, 1, 0);
}

int confine_calls(const pid_t *protected) {
    struct filter filter = {.count = 0};
    const uint32_t local = AF_UNIX;
    // Both type into a terminal.
    const uint32_t typing[] = {TIOCSTI, TIOCLINUX};
    load(&filter, offsetof(struct seccomp_data, arch));
    add(&filter, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, ARCHITECTURE);
    finish(&filter, SECCOMP_RET_KILL_PROCESS);
    load(&filter, offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
    // The same calls by other numbers (x32).
    add(&filter, BPF_JMP | BPF_JGE | BPF_K, 0, 1, 0x40000000);
    finish(&filter, SECCOMP_RET_ERRNO | ENOSYS);
#endif
    refuse_all(&filter);
    refuse_range(&filter, IO_URING_SETUP, IO_URING_SETUP + 2);
    refuse_range(&filter, OPEN_TREE, FSPICK);
    // Its flags are in memory, which a filter cannot read; libraries then use clone().
    refuse(&filter, CLONE3, ENOSYS);
    refuse_argument(&filter, SYS_socket, 0, &local, 1, 0);
    refuse_argument(&filter, SYS_socketpair, 0, &local, 1, 0);
    refuse_argument(&filter, SYS_ioctl, 1, typing, 2, 1);
    skip_unless(&filter, SYS_clone, 4);
    load_argument(&filter, 0);
    add(&filter, BPF_JMP | BPF_JSET | BPF_K, 0, 1, NAMESPACES);
    finish(&filter, SECCOMP_RET_ERRNO | EPERM);
    finish(&filter, SECCOMP_RET_ALLOW);
    if (protected) refuse_signals(&filter, protected);
    finish(&filter, SECCOMP_RET_ALLOW);
    struct sock_fprog code = {.len = filter.count, .filter = filter.lines};
    // Without the flag some kernels slow the program down, against attacks that need more than one
    // user's data.
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &code) == 0)
        return 1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &code) == 0;
}

#endif
