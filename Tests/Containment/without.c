// SPDX-License-Identifier: MIT
// Runs a command as on a kernel that lacks something: without [users] [landlock] -- COMMAND…
// A filter of system calls does it, which all that the command starts inherits: what is tested has
// no part in it.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#define NEW_TIME 0x80
#define NAMESPACES \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID \
     | CLONE_NEWNET)

enum { CLONE3 = 435, LANDLOCK_FIRST = 444, LANDLOCK_LAST = 446 };

static struct sock_filter lines[64];
static unsigned short count;

static void add(int code, int equal, int other, unsigned value) {
    lines[count++] = (struct sock_filter){
        .code = (unsigned short)code, .jt = (unsigned char)equal, .jf = (unsigned char)other,
        .k = value};
}

static void finish(unsigned action) { add(BPF_RET | BPF_K, 0, 0, action); }

static void refuse(int call, int error) {
    add(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (unsigned)call);
    finish(SECCOMP_RET_ERRNO | (unsigned)error);
}

static void refuse_flags(int call, unsigned flags) {
    add(BPF_JMP | BPF_JEQ | BPF_K, 0, 4, (unsigned)call);
    add(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, args));
    add(BPF_JMP | BPF_JSET | BPF_K, 0, 1, flags);
    finish(SECCOMP_RET_ERRNO | EPERM);
    finish(SECCOMP_RET_ALLOW);
}

int main(int argc, char **argv) {
    int index = 1;
    add(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, arch));
    add(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, ARCHITECTURE);
    finish(SECCOMP_RET_KILL_PROCESS);
    add(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
    for (; index < argc && strcmp(argv[index], "--") != 0; index++) {
        if (strcmp(argv[index], "users") == 0) {
            // The flags of clone3() are in memory, which a filter cannot read.
            refuse(CLONE3, ENOSYS);
            refuse(SYS_setns, EPERM);
            refuse_flags(SYS_clone, NAMESPACES);
            refuse_flags(SYS_unshare, NAMESPACES | NEW_TIME);
        } else if (strcmp(argv[index], "landlock") == 0) {
            for (int call = LANDLOCK_FIRST; call <= LANDLOCK_LAST; call++) refuse(call, ENOSYS);
        } else {
            break;
        }
    }
    if (index + 1 >= argc || strcmp(argv[index], "--") != 0) {
        fputs("usage: without [users] [landlock] -- COMMAND…\n", stderr);
        return 2;
    }
    finish(SECCOMP_RET_ALLOW);
    struct sock_fprog code = {.len = count, .filter = lines};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
        || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &code) != 0) {
        perror("without");
        return 1;
    }
    execvp(argv[index + 1], argv + index + 1);
    perror(argv[index + 1]);
    return 127;
}
