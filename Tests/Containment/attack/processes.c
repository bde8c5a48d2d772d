// SPDX-License-Identifier: MIT
// Signals to other processes, and their priorities, limits and memory.
#define _GNU_SOURCE
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum {
    PIDFD_SEND_SIGNAL = 424,
    PIDFD_OPEN = 434,
    PIDFD_GETFD = 438,
    PROCESS_MADVISE = 440,
    PROCESS_MRELEASE = 448,
    // Signals that tell run.py which attempt arrived at the victim.
    FIRST_SIGNAL = 40,
};

static pid_t victim(void) { return (pid_t)told_number("victim"); }
static pid_t smallweb(void) { return (pid_t)told_number("smallweb"); }

// MARK: Signals: to the victim real ones, to smallweb those that only ask

static long to_victim(void) { return syscall(SYS_kill, victim(), FIRST_SIGNAL); }
static long thread_of_victim(void) { return syscall(SYS_tkill, victim(), FIRST_SIGNAL + 1); }
static long group_thread(void) {
    return syscall(SYS_tgkill, victim(), victim(), FIRST_SIGNAL + 2);
}
static long queue(void) {
    siginfo_t info = {.si_signo = FIRST_SIGNAL + 3, .si_code = SI_QUEUE};
    return syscall(SYS_rt_sigqueueinfo, victim(), FIRST_SIGNAL + 3, &info);
}
static long queue_thread(void) {
    siginfo_t info = {.si_signo = FIRST_SIGNAL + 4, .si_code = SI_QUEUE};
    return syscall(SYS_rt_tgsigqueueinfo, victim(), victim(), FIRST_SIGNAL + 4, &info);
}
static long by_descriptor(void) {
    int process = (int)syscall(PIDFD_OPEN, victim(), 0);
    return process < 0 ? -1
        : syscall(PIDFD_SEND_SIGNAL, process, FIRST_SIGNAL + 5, NULL, 0);
}
static long victims_group(void) { return syscall(SYS_kill, -victim(), FIRST_SIGNAL + 6); }

// The kernel sends a signal to the owner of a descriptor when there is something to read.
static int owned(int ends[2], int number) {
    if (syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, ends) != 0) return -1;
    if (fcntl(ends[0], F_SETSIG, number) != 0) return -1;
    return fcntl(ends[0], F_SETFL, O_ASYNC);
}
static long provoke(const int ends[2], long status) {
    if (write(ends[1], "x", 1) != 1) return -1;
    return status;
}
static long set_owner(void) {
    int ends[2];
    if (owned(ends, FIRST_SIGNAL + 7) != 0) return -1;
    return provoke(ends, fcntl(ends[0], F_SETOWN, victim()));
}
static long set_owner_ex(void) {
    struct f_owner_ex owner = {F_OWNER_PID, victim()};
    int ends[2];
    if (owned(ends, FIRST_SIGNAL + 8) != 0) return -1;
    return provoke(ends, fcntl(ends[0], F_SETOWN_EX, &owner));
}
static long set_owner_ioctl(void) {
    int ends[2], owner = victim();
    if (owned(ends, FIRST_SIGNAL + 9) != 0) return -1;
    return provoke(ends, ioctl(ends[0], FIOSETOWN, &owner));
}
static long set_group_ioctl(void) {
    int ends[2], owner = victim();
    if (owned(ends, FIRST_SIGNAL + 10) != 0) return -1;
    return provoke(ends, ioctl(ends[0], SIOCSPGRP, &owner));
}
static long owner_of_pipe(void) { return fcntl(0, F_SETOWN, smallweb()); }
static long signal_of_pipe(void) { return fcntl(0, F_SETSIG, SIGUSR1); }
static long ask_smallweb(void) { return syscall(SYS_kill, smallweb(), 0); }
static long ask_group(void) { return syscall(SYS_kill, -smallweb(), 0); }
static long ask_queue(void) {
    siginfo_t info = {.si_code = SI_QUEUE};
    return syscall(SYS_rt_sigqueueinfo, smallweb(), 0, &info);
}
static long ask_descriptor(void) {
    int process = (int)syscall(PIDFD_OPEN, smallweb(), 0);
    return process < 0 ? -1 : syscall(PIDFD_SEND_SIGNAL, process, 0, NULL, 0);
}

// run.py writes the numbers of smallweb's threads when there are some.
static int threads(pid_t *numbers, int count) {
    char text[4096] = "";
    int found = 0, used, file = -1;
    for (int tries = 0; tries < 400 && file < 0; tries++) {
        file = open("threads", O_RDONLY);
        if (file < 0) usleep(10000);
    }
    if (file < 0 || read(file, text, sizeof text - 1) < 0) return 0;
    for (char *next = text; found < count; next += used)
        if (sscanf(next, "%d%n", &numbers[found++], &used) != 1) return found - 1;
    return found;
}

static long any_thread(long (*ask)(pid_t)) {
    pid_t numbers[64];
    int count = threads(numbers, 64), is_done = 0;
    for (int index = 0; index < count; index++) is_done |= ask(numbers[index]) >= 0;
    return is_done - 1;
}
static long kill_number(pid_t thread) { return syscall(SYS_kill, thread, 0); }
static long tkill_number(pid_t thread) { return syscall(SYS_tkill, thread, 0); }
static long tgkill_number(pid_t thread) { return syscall(SYS_tgkill, smallweb(), thread, 0); }
static long kill_thread(void) { return any_thread(kill_number); }
static long tkill_thread(void) { return any_thread(tkill_number); }
static long tgkill_thread(void) { return any_thread(tgkill_number); }

const struct attempt signals[] = {
    {"kill", to_victim}, {"tkill", thread_of_victim}, {"tgkill", group_thread},
    {"queue", queue}, {"queue-thread", queue_thread}, {"pidfd", by_descriptor},
    {"kill-group", victims_group}, {"setown", set_owner}, {"setown-ex", set_owner_ex},
    {"fiosetown", set_owner_ioctl}, {"siocspgrp", set_group_ioctl},
    {"setown-pipe", owner_of_pipe}, {"setsig-pipe", signal_of_pipe},
    {"smallweb", ask_smallweb}, {"smallweb-group", ask_group}, {"smallweb-queue", ask_queue},
    {"smallweb-pidfd", ask_descriptor}, {"smallweb-thread", kill_thread},
    {"smallweb-tkill", tkill_thread}, {"smallweb-tgkill", tgkill_thread}, {NULL, NULL},
};

// MARK: Priorities, limits and memory of the victim

static long priority(void) { return syscall(SYS_setpriority, PRIO_PROCESS, victim(), 19); }
static long priority_group(void) { return syscall(SYS_setpriority, PRIO_PGRP, victim(), 19); }
static long priority_user(void) {
    // It cannot be taken back, so only where the user is the test's own.
    errno = ECANCELED;
    if (told_number("dedicated") != 1) return -1;
    return syscall(SYS_setpriority, PRIO_USER, getuid(), 19);
}
static long affinity(void) {
    unsigned long first = 1;
    return syscall(SYS_sched_setaffinity, victim(), sizeof first, &first);
}
static long scheduler(void) {
    struct sched_param parameters = {0};
    return syscall(SYS_sched_setscheduler, victim(), SCHED_BATCH, &parameters);
}
static long parameters(void) {
    struct sched_param parameters = {0};
    return syscall(SYS_sched_setparam, victim(), &parameters);
}
static long attributes(void) {
    struct { uint32_t size, policy; uint64_t flags; int32_t nice; uint32_t rest[7]; } value = {
        .size = 48, .nice = 19};
    return syscall(SYS_sched_setattr, victim(), &value, 0);
}
static long io_priority(void) { return syscall(SYS_ioprio_set, 1, victim(), 3 << 13); }
static long limit(void) {
    struct rlimit none = {0, 0};
    return syscall(SYS_prlimit64, victim(), RLIMIT_CORE, &none, NULL);
}
static long read_limit(void) {
    struct rlimit value;
    return syscall(SYS_prlimit64, victim(), RLIMIT_CORE, NULL, &value);
}
static long move_pages(void) {
    unsigned long first = 1;
    return syscall(SYS_migrate_pages, victim(), 64, &first, &first);
}
static long core_scheduling(void) { return prctl(62, 2, victim(), 0, 0); }
static long join_group(void) { return syscall(SYS_setpgid, 0, smallweb()); }
static long join_victim(void) { return syscall(SYS_setpgid, 0, victim()); }
static long session(void) { return syscall(SYS_getsid, victim()); }

static long write_there(const char *name, const char *text) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/%s", told_number("victim"), name);
    int file = open(path, O_WRONLY);
    if (file < 0) return -1;
    return write(file, text, strlen(text));
}
static long oom_score(void) { return write_there("oom_score_adj", "999"); }
static long oom_old(void) { return write_there("oom_adj", "15"); }
static long dump_filter(void) { return write_there("coredump_filter", "0x7f"); }
static long references(void) { return write_there("clear_refs", "1"); }
static long slack(void) { return write_there("timerslack_ns", "900000000"); }
static long group(void) { return write_there("autogroup", "19"); }

static long trace(void) { return syscall(SYS_ptrace, PTRACE_ATTACH, victim(), 0, 0); }
static long seize(void) { return syscall(SYS_ptrace, PTRACE_SEIZE, victim(), 0, 0); }
static long copy(long call) {
    char byte;
    struct iovec here = {&byte, 1}, away = {(void *)told_number("address"), 1};
    return syscall(call, victim(), &here, 1, &away, 1, 0);
}
static long read_memory(void) { return copy(SYS_process_vm_readv); }
static long write_memory(void) { return copy(SYS_process_vm_writev); }
static long compare(void) { return syscall(SYS_kcmp, victim(), victim(), 2, 0, 0); }
static long take_descriptor(void) {
    int process = (int)syscall(PIDFD_OPEN, victim(), 0);
    return process < 0 ? -1 : syscall(PIDFD_GETFD, process, 2, 0);
}
static long open_process(void) { return syscall(PIDFD_OPEN, victim(), 0); }
static long advise(void) {
    // A page may have 64 KiB, and be_victim() has twice that.
    struct iovec away = {(void *)(told_number("address") & ~0xFFFFL), 0x10000};
    int process = (int)syscall(PIDFD_OPEN, victim(), 0);
    return process < 0 ? -1 : syscall(PROCESS_MADVISE, process, &away, 1, 21, 0);
}
static long release(void) {
    int process = (int)syscall(PIDFD_OPEN, victim(), 0);
    return process < 0 ? -1 : syscall(PROCESS_MRELEASE, process, 0);
}

const struct attempt processes[] = {
    {"setpriority", priority}, {"setpriority-group", priority_group},
    {"setpriority-user", priority_user}, {"sched_setaffinity", affinity},
    {"sched_setscheduler", scheduler}, {"sched_setparam", parameters},
    {"sched_setattr", attributes}, {"ioprio_set", io_priority}, {"prlimit", limit},
    {"prlimit-read", read_limit}, {"migrate_pages", move_pages},
    {"core-scheduling", core_scheduling}, {"setpgid-smallweb", join_group},
    {"setpgid-victim", join_victim}, {"getsid", session}, {"oom_score_adj", oom_score},
    {"oom_adj", oom_old}, {"coredump_filter", dump_filter}, {"clear_refs", references},
    {"timerslack", slack}, {"autogroup", group}, {"ptrace-attach", trace},
    {"ptrace-seize", seize}, {"process_vm_readv", read_memory},
    {"process_vm_writev", write_memory}, {"kcmp", compare}, {"pidfd_open", open_process},
    {"pidfd_getfd", take_descriptor}, {"process_madvise", advise},
    {"process_mrelease", release}, {NULL, NULL},
};
