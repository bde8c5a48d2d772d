// SPDX-License-Identifier: MIT
// The filter of system calls, an allow list. A filter sees numbers, not memory: no paths, and no
// addresses of sockets.
#define _GNU_SOURCE
#include "confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
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

int confine_calls(const struct confinement *confinement) {
    (void)confinement;
    return 0;
}

int confine_pairs(void) { return -1; }

int confine_grant(int pairs) {
    (void)pairs;
    return 0;
}

#else

// Calls with the same number on all architectures, which the headers may lack.
enum {
    PIDFD_OPEN = 434, CLONE3 = 435, CLOSE_RANGE = 436, OPENAT2 = 437,
    FACCESSAT2 = 439, EPOLL_PWAIT2 = 441, LANDLOCK_FIRST = 444, LANDLOCK_LAST = 446,
    FUTEX_WAITV = 449, FCHMODAT2 = 452, MAP_SHADOW_STACK = 453, FUTEX_WAKE = 454,
    FUTEX_REQUEUE = 456, MSEAL = 462, SETXATTRAT = 463, GETXATTRAT = 464, LISTXATTRAT = 465,
    REMOVEXATTRAT = 466,
};

// Calls beyond these numbers are unknown here. For libraries, ENOSYS means that the kernel lacks a
// call, and they do without.
#define CALLS_MAX 512
#define CALLS_KNOWN 466

// MARK: The list

// Allowed with any other containment.
static const short allowed[] = {
    // Its memory. No userfaultfd() and no memfd_create(): the sum does not cover their memory.
    SYS_brk, SYS_mmap, SYS_munmap, SYS_mprotect, SYS_mremap, SYS_madvise, SYS_mincore, SYS_msync,
    SYS_mlock, SYS_mlock2, SYS_munlock, SYS_membarrier, SYS_pkey_alloc, SYS_pkey_free,
    SYS_pkey_mprotect, MAP_SHADOW_STACK, MSEAL,
    // Its threads and children. The flags of clone() are checked below.
    SYS_execve, SYS_execveat, SYS_exit, SYS_exit_group, SYS_wait4, SYS_waitid, SYS_futex,
    FUTEX_WAITV, FUTEX_WAKE, FUTEX_WAKE + 1, FUTEX_REQUEUE, SYS_set_tid_address,
    SYS_set_robust_list, SYS_get_robust_list, SYS_rseq, SYS_gettid, SYS_getpid, SYS_getppid,
    SYS_getpgid, SYS_getsid, SYS_sched_yield, SYS_sched_getaffinity, SYS_sched_getparam,
    SYS_sched_getscheduler, SYS_sched_getattr, SYS_sched_get_priority_max,
    SYS_sched_get_priority_min, SYS_sched_rr_get_interval, SYS_setrlimit, SYS_getrlimit,
    SYS_getrusage, SYS_times, SYS_getpriority, SYS_ioprio_get, SYS_restart_syscall,
#ifdef SYS_fork
    SYS_fork, SYS_vfork, SYS_getpgrp, SYS_arch_prctl,
#endif
    // Its signals and clocks.
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_rt_sigsuspend, SYS_rt_sigpending,
    SYS_rt_sigtimedwait, SYS_sigaltstack, SYS_setitimer, SYS_getitimer, SYS_timer_create,
    SYS_timer_settime, SYS_timer_gettime, SYS_timer_getoverrun, SYS_timer_delete, SYS_nanosleep,
    SYS_clock_nanosleep, SYS_clock_gettime, SYS_clock_getres, SYS_gettimeofday,
    SYS_timerfd_create, SYS_timerfd_settime, SYS_timerfd_gettime,
#ifdef SYS_alarm
    SYS_alarm, SYS_pause, SYS_time,
#endif
    // Its user and its machine. It may ask, but not change them.
    SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getresuid, SYS_getresgid, SYS_getgroups,
    SYS_capget, SYS_uname, SYS_sysinfo, SYS_getcpu, SYS_getrandom, SYS_umask,
    // Its own descriptors. fcntl() and ioctl() are restricted below. No vmsplice() and splice(),
    // which have had vulnerabilities.
    SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64, SYS_pwrite64, SYS_preadv,
    SYS_pwritev, SYS_preadv2, SYS_pwritev2, SYS_lseek, SYS_close, CLOSE_RANGE, SYS_dup, SYS_dup3,
    SYS_pipe2, SYS_pselect6, SYS_ppoll, SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait,
    EPOLL_PWAIT2, SYS_eventfd2, SYS_signalfd4, SYS_copy_file_range, SYS_fsync,
    SYS_fdatasync, SYS_sync_file_range, SYS_fadvise64, SYS_readahead, SYS_ftruncate,
#ifdef SYS_dup2
    SYS_dup2, SYS_pipe, SYS_select, SYS_poll, SYS_epoll_create, SYS_epoll_wait, SYS_eventfd,
    SYS_signalfd,
#endif
    // Sockets: only pairs of its own. Rules for addresses are below.
    SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg, SYS_shutdown, SYS_getsockname, SYS_getpeername,
    SYS_getsockopt,
    // Files, which are protected by its file system or by Landlock. No inotify: it reports names in
    // directories that Landlock hides.
    SYS_openat, OPENAT2, SYS_faccessat, FACCESSAT2, SYS_fstat, SYS_newfstatat, SYS_statx,
    SYS_statfs, SYS_fstatfs, SYS_readlinkat, SYS_getdents64, SYS_getcwd, SYS_chdir, SYS_fchdir,
    SYS_mkdirat, SYS_unlinkat, SYS_symlinkat, SYS_mknodat, SYS_getxattr, SYS_lgetxattr,
    SYS_fgetxattr, SYS_listxattr, SYS_llistxattr, SYS_flistxattr, GETXATTRAT, LISTXATTRAT,
#ifdef SYS_open
    SYS_open, SYS_creat, SYS_access, SYS_stat, SYS_lstat, SYS_readlink, SYS_getdents, SYS_mkdir,
    SYS_rmdir, SYS_unlink, SYS_symlink, SYS_mknod,
#endif
};

// Metadata. In a file system of its own only the temporary directory is writable. Landlock does not
// cover these calls.
static const short with_view[] = {
    SYS_fchmod, SYS_fchmodat, FCHMODAT2, SYS_fchown, SYS_fchownat, SYS_utimensat, SYS_setxattr,
    SYS_lsetxattr, SYS_fsetxattr, SETXATTRAT, SYS_removexattr, SYS_lremovexattr,
    SYS_fremovexattr, REMOVEXATTRAT,
    // A temporary file system has a limited size. Elsewhere one call allocates any size before the
    // next sum.
    SYS_fallocate,
#ifdef SYS_chmod
    SYS_chmod, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes, SYS_futimesat,
#endif
};

// Landlock restricts these to the temporary directory. Without it, and with the user's files
// visible, a lock could stop the user's programs.
static const short with_files_kept[] = {
    SYS_linkat, SYS_renameat, SYS_renameat2, SYS_flock,
#ifdef SYS_link
    SYS_link, SYS_rename,
#endif
};

// If no other processes can be named or reached, a program may signal its own and arrange them in
// groups and sessions. Otherwise all are killed as one group, which they must not leave.
static const short with_processes_kept[] = {
    SYS_kill, SYS_tkill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo};

// MARK: The filter

struct filter {
    struct sock_filter lines[600];
    unsigned short count;
};

static void add(struct filter *filter, int code, unsigned equal, unsigned other, uint32_t value) {
    filter->lines[filter->count++] = (struct sock_filter){
        .code = (unsigned short)code, .jt = (unsigned char)equal, .jf = (unsigned char)other,
        .k = value};
}

static void load(struct filter *filter, size_t offset) {
    add(filter, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

// The lower half, on little-endian machines: values of 32 bits are in it.
static void load_argument(struct filter *filter, int index) {
    load(filter, offsetof(struct seccomp_data, args) + 8 * (size_t)index);
}

static void finish(struct filter *filter, uint32_t action) {
    add(filter, BPF_RET | BPF_K, 0, 0, action);
}

#define REFUSED(error) (SECCOMP_RET_ERRNO | (uint32_t)(error))

static void skip_unless(struct filter *filter, uint32_t value, unsigned lines) {
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, lines, value);
}

static void refuse(struct filter *filter, int call, int error) {
    skip_unless(filter, (uint32_t)call, 1);
    finish(filter, REFUSED(error));
}

// Allows `call` if its argument has one of `count` values.
static void allow_argument(
    struct filter *filter, int call, int index, const uint32_t *values, unsigned count, int error) {
    skip_unless(filter, (uint32_t)call, count + 3);
    load_argument(filter, index);
    for (unsigned left = count; left > 0; left--)
        add(filter, BPF_JMP | BPF_JEQ | BPF_K, left, 0, *values++);
    finish(filter, REFUSED(error));
    finish(filter, SECCOMP_RET_ALLOW);
}

#define ALLOW_ARGUMENT(filter, call, index, values, error) \
    allow_argument(filter, call, index, values, sizeof(values) / sizeof *(values), error)

static void allow_arguments(struct filter *filter, const struct confinement *confinement) {
    // Requests with small effects, made by libraries; others fail as on a descriptor without the
    // feature. They could type into terminals, make files immutable, or send signals.
    static const uint32_t controls[] = {
        0x5401 /* TCGETS */, 0x802C542A /* TCGETS2 */, 0x5413 /* TIOCGWINSZ */,
        0x541B /* FIONREAD */, 0x5421 /* FIONBIO */, 0x5450 /* FIONCLEX */, 0x5451 /* FIOCLEX */};
    // No owner and no signal of a descriptor, no leases, no directory notification.
    static const uint32_t commands[] = {
        F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_SETLK, F_SETLKW, F_GETOWN,
        36, 37, 38 /* F_OFD_… */, F_DUPFD_CLOEXEC, F_GETPIPE_SZ, 1034};
    static const uint32_t local[] = {AF_UNIX}, itself[] = {0};
    // No larger buffers, and no filters of a socket.
    static const uint32_t options[] = {
        SO_REUSEADDR, SO_BROADCAST, SO_KEEPALIVE, SO_OOBINLINE, SO_PRIORITY, SO_LINGER,
        SO_PASSCRED, SO_RCVLOWAT, SO_RCVTIMEO, SO_SNDTIMEO, SO_TIMESTAMP};
    // Confining itself further; without a listener, whose descriptor would keep a filter.
    static const uint32_t filters[] = {0, 1 /* TSYNC */, 2 /* LOG */, 3, 4 /* SPEC_… */, 5, 6, 7};
    // No hiding from the sum, no large pages that stay whole for a small mapped part, no kernel
    // tables of a chosen size, and no core scheduling with other processes.
    static const uint32_t controls_itself[] = {
        PR_SET_PDEATHSIG, PR_GET_PDEATHSIG, PR_GET_DUMPABLE, PR_SET_NAME, PR_GET_NAME,
        PR_GET_SECCOMP, PR_SET_SECCOMP, PR_CAPBSET_READ, PR_CAPBSET_DROP, PR_GET_SECUREBITS,
        PR_GET_KEEPCAPS, PR_SET_TIMERSLACK, PR_GET_TIMERSLACK, PR_SET_CHILD_SUBREAPER,
        PR_GET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS, PR_GET_TID_ADDRESS,
        PR_GET_THP_DISABLE, PR_CAP_AMBIENT, PR_GET_SPECULATION_CTRL, PR_SET_SPECULATION_CTRL,
        54 /* PR_PAC_RESET_KEYS */, 55, 56 /* PR_…_TAGGED_ADDR_CTRL */, 65, 66 /* PR_…_MDWE */,
        0x53564D41 /* PR_SET_VMA */};
    ALLOW_ARGUMENT(filter, SYS_ioctl, 1, controls, ENOTTY);
    ALLOW_ARGUMENT(filter, SYS_fcntl, 1, commands, EPERM);
    ALLOW_ARGUMENT(filter, SYS_socketpair, 0, local, EACCES);
    ALLOW_ARGUMENT(filter, SYS_prlimit64, 0, itself, EPERM);
    ALLOW_ARGUMENT(filter, SYS_setsockopt, 2, options, ENOPROTOOPT);
    ALLOW_ARGUMENT(filter, SYS_seccomp, 1, filters, EINVAL);
    ALLOW_ARGUMENT(filter, SYS_prctl, 0, controls_itself, EINVAL);
    // Shared memory without a file is kept by a single mapped page, and the sum does not cover it.
    skip_unless(filter, SYS_mmap, 5);
    load_argument(filter, 3);
    add(filter, BPF_ALU | BPF_AND | BPF_K, 0, 0, MAP_SHARED | MAP_ANONYMOUS);
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, MAP_SHARED | MAP_ANONYMOUS);
    finish(filter, REFUSED(EPERM));
    finish(filter, SECCOMP_RET_ALLOW);
    // Only without an address. sendmsg() is not allowed, as its address is in memory.
    skip_unless(filter, SYS_sendto, 6);
    load_argument(filter, 4);
    skip_unless(filter, 0, 3);
    load(filter, offsetof(struct seccomp_data, args) + 8 * 4 + 4);
    skip_unless(filter, 0, 1);
    finish(filter, SECCOMP_RET_ALLOW);
    finish(filter, REFUSED(EPERM));
    // No namespaces, and no thread with its own descriptors: the sum looks at the process's.
    skip_unless(filter, SYS_clone, 6);
    load_argument(filter, 0);
    add(filter, BPF_JMP | BPF_JSET | BPF_K, 0, 1, CLONE_THREAD);
    add(filter, BPF_JMP | BPF_JSET | BPF_K, 0, 1, CLONE_FILES);
    add(filter, BPF_JMP | BPF_JSET | BPF_K, 0, 1,
        CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER
            | CLONE_NEWPID | CLONE_NEWNET);
    finish(filter, REFUSED(EPERM));
    finish(filter, SECCOMP_RET_ALLOW);
    if (confinement->has_pids || confinement->landlock >= 6) return;
    // Only itself and its group: any other number could be smallweb's, one of its threads', or the
    // user's.
    const uint32_t own[] = {(uint32_t)getpid(), 0, (uint32_t)-getpid()};
    ALLOW_ARGUMENT(filter, SYS_kill, 0, own, EPERM);
    allow_argument(filter, SYS_tgkill, 0, own, 1, EPERM);
    allow_argument(filter, SYS_rt_tgsigqueueinfo, 0, own, 1, EPERM);
}

static void put(unsigned char *calls, const short *list, size_t size) {
    for (size_t index = 0; index < size / sizeof *list; index++) calls[list[index]] = 1;
}

// The answer changes at each number of `changes` from `low` up to `high`. A binary tree, as one
// comparison per allowed call would slow every call and every start.
static void decide(
    struct filter *filter, const short *changes, int low, int high, int refuses_first) {
    if (low == high) {
        int is_allowed = (low % 2 == 1) == refuses_first;
        finish(filter, is_allowed ? SECCOMP_RET_ALLOW : REFUSED(EPERM));
        return;
    }
    int middle = (low + high) / 2;
    unsigned short line = filter->count;
    add(filter, BPF_JMP | BPF_JGE | BPF_K, 0, 0, (uint32_t)changes[middle]);
    decide(filter, changes, low, middle, refuses_first);
    filter->lines[line].jt = (unsigned char)(filter->count - line - 1);
    decide(filter, changes, middle + 1, high, refuses_first);
}

static void allow_listed(struct filter *filter, const struct confinement *confinement) {
    unsigned char calls[CALLS_MAX] = {0};
    put(calls, allowed, sizeof allowed);
    if (confinement->has_view) put(calls, with_view, sizeof with_view);
    if (confinement->has_view || confinement->landlock)
        put(calls, with_files_kept, sizeof with_files_kept);
    if (confinement->has_view || confinement->landlock >= 3) calls[SYS_truncate] = 1;
    if (confinement->has_pids || confinement->landlock >= 6)
        put(calls, with_processes_kept, sizeof with_processes_kept);
    if (confinement->has_pids) calls[SYS_setpgid] = calls[SYS_setsid] = 1;
    short changes[CALLS_MAX];
    int count = 0;
    for (short call = 1; call < CALLS_MAX; call++)
        if (calls[call] != calls[call - 1]) changes[count++] = call;
    decide(filter, changes, 0, count, !calls[0]);
}

int confine_calls(const struct confinement *confinement) {
    static struct filter filter;
    filter.count = 0;
    load(&filter, offsetof(struct seccomp_data, arch));
    add(&filter, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, ARCHITECTURE);
    finish(&filter, SECCOMP_RET_KILL_PROCESS);
    load(&filter, offsetof(struct seccomp_data, nr));
    // Newer calls, and on x86_64 the same calls by other numbers (x32).
    add(&filter, BPF_JMP | BPF_JGT | BPF_K, 0, 1, CALLS_KNOWN);
    finish(&filter, REFUSED(ENOSYS));
    // clone3's flags are in memory, which a filter cannot read; libraries then use clone(). They
    // call pidfd_open() to find out if the kernel has pidfds.
    refuse(&filter, CLONE3, ENOSYS);
    refuse(&filter, PIDFD_OPEN, ENOSYS);
    refuse(&filter, SYS_socket, EACCES);
    // The sent data stays in memory as whole pages of files that are deleted by then.
    refuse(&filter, SYS_sendfile, EINVAL);
    // The sum does not cover Landlock's rules.
    for (int call = LANDLOCK_FIRST; call <= LANDLOCK_LAST; call++) refuse(&filter, call, ENOSYS);
    if (!confinement->has_view) refuse(&filter, SYS_fallocate, EOPNOTSUPP);
    allow_arguments(&filter, confinement);
    allow_listed(&filter, confinement);
    struct sock_fprog code = {.len = filter.count, .filter = filter.lines};
    // Without the flag some kernels slow the program down, against attacks that need more than one
    // user's data.
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &code) == 0)
        return 1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &code) == 0;
}

// MARK: Pairs of sockets

int confine_pairs(void) {
    static struct filter filter;
    filter.count = 0;
    load(&filter, offsetof(struct seccomp_data, nr));
    add(&filter, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_socketpair);
    finish(&filter, SECCOMP_RET_USER_NOTIF);
    finish(&filter, SECCOMP_RET_ALLOW);
    struct sock_fprog code = {.len = filter.count, .filter = filter.lines};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    int pairs = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
        SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_SPEC_ALLOW, &code);
    // Out of the way of the program's numbers, which the supervisor closes.
    int moved = pairs < 0 ? -1 : fcntl(pairs, F_DUPFD_CLOEXEC, SWPROGRAM_DESCRIPTORS);
    if (pairs >= 0) close(pairs);
    return moved;
}

int confine_grant(int pairs) {
    // A newer kernel may write more than this header's size.
    union { struct seccomp_notif call; char room[512]; } waiting = {.room = {0}};
    union { struct seccomp_notif_resp call; char room[512]; } answer = {.room = {0}};
    if (ioctl(pairs, SECCOMP_IOCTL_NOTIF_RECV, &waiting) != 0) return 0;
    answer.call.id = waiting.call.id;
    answer.call.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    return ioctl(pairs, SECCOMP_IOCTL_NOTIF_SEND, &answer) == 0;
}

#endif
