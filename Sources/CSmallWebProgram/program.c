// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "confine.h"
#include "process.h"
#include "starter.h"
#include "view.h"
#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

// Stack of the process before it becomes the program.
#define STACK_SIZE (64 << 10)

// Interval of the sums; and the delay before a sum over the limit is repeated.
#define LOOK_NANOSECONDS 10000000
#define SECOND_LOOK_NANOSECONDS 1000000

// The supervisor's descriptors, after the program's.
enum { REPORT = SWPROGRAM_DESCRIPTORS, PARENT, NEXT };

// Parameters and state of a supervisor.
struct start {
    const struct swprogram *program;
    int flags;                  // namespaces, as for clone()
    int report;
    int parent_end;             // readable when smallweb has ended; -1 without pidfds
    pid_t parent, supervisor;
    uid_t user;
    gid_t group;
    int is_copy;                // true for a copy of a starter
    int has_view, has_proc;
    struct swprogram_report said;
};

// MARK: Between fork and exec

static int limit(int resource, uint64_t soft, uint64_t hard) {
    struct rlimit value, inherited;
    if (getrlimit(resource, &inherited) != 0) return -1;
    value.rlim_max = hard < inherited.rlim_max ? hard : inherited.rlim_max;
    value.rlim_cur = soft < value.rlim_max ? soft : value.rlim_max;
    return setrlimit(resource, &value);
}

// Since Linux 5.14 each user namespace counts its processes separately; before, the user's other
// processes would count against the program.
static int counts_processes(const struct start *start) {
    struct utsname name;
    if (!(start->flags & CLONE_NEWUSER) || uname(&name) != 0) return 0;
    char *rest;
    long major = strtol(name.release, &rest, 10);
    long minor = *rest == '.' ? strtol(rest + 1, NULL, 10) : 0;
    return major > 5 || (major == 5 && minor >= 14);
}

static int limit_all(struct start *start) {
    const struct swprogram *program = start->program;
    // Does not limit root. Without /proc the account's count is unknown, so there is no limit.
    uint64_t others = counts_processes(start) ? 0 : watch_account();
    uint64_t processes = SWPROGRAM_PROCESSES_MAX + others;
    if ((counts_processes(start) || others > 0) && limit(RLIMIT_NPROC, processes, processes) == 0
        && start->user != 0)
        start->said.holds |= SWPROGRAM_PROCESSES;
    // SIGXCPU at the soft limit tells the cause; SIGKILL a second later ends programs that ignore
    // it.
    uint64_t seconds = program->processor_seconds;
    return limit(RLIMIT_CPU, seconds, seconds + 1) != 0
            || limit(RLIMIT_AS, program->memory_bytes, program->memory_bytes) != 0
            || limit(RLIMIT_FSIZE, program->memory_bytes, program->memory_bytes) != 0
            || limit(RLIMIT_NOFILE, program->descriptors_max, program->descriptors_max) != 0
            // 1, not 0: too small for a core file, and the only value that also keeps the memory
            // from a program that collects dumps.
            || limit(RLIMIT_CORE, 1, 1) != 0
        ? -1 : 0;
}

// Becomes the program. Until then it shares its memory with the supervisor, which waits, and then
// reads `said`.
static void become(struct start *start) {
    const struct swprogram *program = start->program;
    int is_first = start->flags & CLONE_NEWPID;
    start->said.stage = SWPROGRAM_SET_UP;
    // Its own process group, so that signals to the group reach it alone.
    setpgid(0, 0);
    if (!is_first && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() != start->supervisor)
        _exit(0);
    confine_capabilities();
    start->said.stage = SWPROGRAM_FOLDER;
    if (chdir(program->folder) != 0) return;
    start->said.stage = SWPROGRAM_SET_UP;
    if (limit_all(start) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return;
    // A large page stays whole while a part of it is mapped, but the sum counts only that part.
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    struct confinement confinement = {
        .has_view = start->has_view, .has_proc = start->has_proc, .has_pids = is_first};
    confinement.landlock = confine_files(program, &confinement);
    if (confinement.landlock) start->said.holds |= SWPROGRAM_LANDLOCK;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (!(program->without & SWPROGRAM_SECCOMP) && confine_calls(&confinement))
        start->said.holds |= SWPROGRAM_SECCOMP;
    start->said.stage = SWPROGRAM_EXECUTE;
    if (program->path) {
        execve(program->path, (char *const *)program->arguments,
            (char *const *)program->environment);
        return;
    }
    start->said.stage = SWPROGRAM_ENDED;
    _exit(0);
}

static int begin(void *start) {
    become(start);
    ((struct start *)start)->said.number = errno;
    _exit(127);
}

// MARK: The supervisor

// Sets up the program's own file system, or at least its own /proc. The kernel may refuse them, as
// in some containers; a starter has tried it for its copies. Returns 0 if the program may not run.
static int hide_files(struct start *start) {
    uint32_t without = start->program->without;
    int has_users = (start->flags & CLONE_NEWUSER) != 0;
    if (start->is_copy)
        start->has_view = start->has_proc = view_copy(start->program);
    else if (!(without & SWPROGRAM_VIEW))
        start->has_view = view_enter(start->program, has_users, &start->has_proc);
    // Otherwise the machine's /proc, which shows its processes, is covered by an own one.
    if (!start->is_copy && !start->has_view && !(without & SWPROGRAM_PROC))
        start->has_proc = view_mount_proc("/proc", has_users);
    if (start->has_view) start->said.holds |= SWPROGRAM_VIEW;
    if (start->has_proc) start->said.holds |= SWPROGRAM_PROC;
    return start->has_view || !start->is_copy;
}

// Gives the program's descriptors their numbers, and closes all others but the supervisor's.
static int arrange(struct start *start) {
    int all[NEXT];
    memcpy(all, start->program->descriptors, sizeof start->program->descriptors);
    all[REPORT] = start->report;
    all[PARENT] = start->parent_end;
    for (int number = 0; number < NEXT; number++) {
        int may_be_closed = number == PARENT
            || (number >= SWPROGRAM_USUAL_DESCRIPTORS && number < SWPROGRAM_DESCRIPTORS);
        if (all[number] < 0 && may_be_closed) continue;
        if (all[number] < 0) all[number] = open("/dev/null", O_RDWR | O_CLOEXEC);
        // Move all out of the way first, before a number is reused.
        all[number] = fcntl(all[number], F_DUPFD_CLOEXEC, NEXT);
        if (all[number] < 0) return -1;
    }
    for (int number = 0; number < NEXT; number++) {
        if (all[number] < 0) {
            close(number);
        } else if (dup3(all[number], number, number >= REPORT ? O_CLOEXEC : 0) < 0) {
            return -1;
        }
    }
    start->report = REPORT;
    if (start->parent_end >= 0) start->parent_end = PARENT;
    close_from(NEXT);
    return 0;
}

// Requests a signal for smallweb's end. Returns true if smallweb has already ended.
static int follow_parent(const struct start *start) {
    prctl(PR_SET_PDEATHSIG, start->flags & CLONE_NEWPID ? SIGKILL : SIGTERM);
    struct pollfd end = {.fd = start->parent_end, .events = POLLIN};
    if (end.fd >= 0) return poll(&end, 1, 0) != 0;
    // A parent in another PID namespace has number 0 here.
    pid_t parent = getppid();
    return parent != start->parent && !(start->flags & CLONE_NEWPID && parent == 0);
}

// A moment of the monotonic clock in nanoseconds.
static uint64_t moment(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

// Waits for a signal or a pair of sockets until `end`. Returns the signal, or 0. Sets `has_pair` if
// a process waits for a pair.
static int wait_until(uint64_t end, int signals, int pairs, int *has_pair) {
    struct pollfd events[] = {
        {.fd = signals, .events = POLLIN}, {.fd = pairs, .events = POLLIN}};
    uint64_t now = moment();
    struct timespec rest = {.tv_nsec = now < end ? (long)(end - now) : 0};
    struct signalfd_siginfo signal;
    *has_pair = 0;
    if (ppoll(events, 2, &rest, NULL) <= 0) return 0;
    *has_pair = events[1].revents & POLLIN;
    return read(signals, &signal, sizeof signal) > 0 ? (int)signal.ssi_signo : 0;
}

// Waits for the program, and reaps all other processes. The program itself is not reaped yet, so
// that its number is not reused. Returns the cause of its end, or -1 when smallweb asks for it.
static int wait_for(pid_t program, const struct start *start, int pairs, int *status) {
    int is_first = start->flags & CLONE_NEWPID, exceeded = 0;
    int watches = start->said.holds & SWPROGRAM_WATCH;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    // The first process of a namespace is killed instead; the program could send it SIGTERM.
    if (!is_first) sigaddset(&set, SIGTERM);
    int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0) return -1;
    uint64_t next = moment() + LOOK_NANOSECONDS;
    for (;;) {
        siginfo_t ended = {.si_pid = 0};
        int result = waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT | __WALL);
        if (result != 0 && errno != EINTR) return -1;
        if (ended.si_pid == program) {
            int is_exit = ended.si_code == CLD_EXITED;
            *status = is_exit ? (ended.si_status & 0xFF) << 8 : ended.si_status;
            return SWPROGRAM_ENDED;
        }
        if (ended.si_pid > 0) waitpid(ended.si_pid, NULL, __WALL);
        int has_pair;
        uint64_t end = ended.si_pid > 0 ? 0 : next;
        if (wait_until(end, signals, pairs, &has_pair) == SIGTERM) return -1;
        int has_room = !watches || watch_has_room(start->program);
        if (has_room && has_pair && confine_grant(pairs)) watch_pair();
        // Neither orphans that end nor pairs that are made put off a sum that is due.
        if (has_room && moment() < next) continue;
        next = moment() + LOOK_NANOSECONDS;
        if (!watches) continue;
        // Between vfork() and exec() memory is counted twice, so one sum over the limit is not
        // enough.
        int before = exceeded, is_certain = 0;
        exceeded = watch_sum(start->program, start->has_proc, start->has_view, &is_certain);
        if (exceeded && (before || is_certain)) return exceeded;
        next = moment() + (exceeded ? SECOND_LOOK_NANOSECONDS : LOOK_NANOSECONDS);
    }
}

static void say(struct start *start, int stage, int number) {
    start->said.stage = stage;
    start->said.number = number;
    (void)!write(start->report, &start->said, sizeof start->said);
}

static _Noreturn void supervise(void *argument) {
    struct start start = *(const struct start *)argument;
    int is_first = start.flags & CLONE_NEWPID;
    // smallweb's handlers use its own descriptors. All signals are blocked.
    forget_handlers();
    // A starter has already left the terminal.
    if (start.is_copy) setpgid(0, 0); else leave_terminal();
    prctl(PR_SET_NAME, SUPERVISOR_NAME);
    if (!is_first) prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (arrange(&start) != 0) {
        say(&start, SWPROGRAM_SET_UP, errno);
        _exit(1);
    }
    if (!start.is_copy) forget_words();
    if (start.flags & CLONE_NEWUSER) map_user(start.user, start.group);
    if (is_first && !hide_files(&start)) {
        say(&start, SWPROGRAM_SET_UP, errno);
        _exit(1);
    }
    if (follow_parent(&start)) _exit(1);
    start.supervisor = getpid();
    int pairs = -1;
    if (watch_begin(start.has_proc)) {
        start.said.holds |= SWPROGRAM_WATCH;
        if (!(start.program->without & SWPROGRAM_SECCOMP)) pairs = confine_pairs();
    }
    static char stack[STACK_SIZE] __attribute__((aligned(16)));
    pid_t program =
        clone_sharing(begin, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &start);
    if (program < 0) {
        say(&start, SWPROGRAM_SET_UP, errno);
        _exit(1);
    }
    watch_given();
    // The pipes are the program's: they must end with it.
    for (int number = 0; number < SWPROGRAM_DESCRIPTORS; number++) close(number);
    int status = 0;
    if (start.said.stage != SWPROGRAM_EXECUTE || start.said.number != 0) {
        say(&start, start.said.stage, start.said.number);
    } else {
        int stage = wait_for(program, &start, pairs, &status);
        if (stage >= 0) say(&start, stage, status);
    }
    if (!is_first) watch_end(program);
    _exit(0);
}

// MARK: smallweb's side

// Returns the supervisor's process, or -1.
static pid_t make_with(struct start *start, int flags) {
    start->flags = flags;
    start->said.holds = (flags & CLONE_NEWPID ? SWPROGRAM_PIDS : 0)
        | (start->is_copy || flags & CLONE_NEWNET ? SWPROGRAM_NETWORK : 0)
        | (flags & CLONE_NEWUSER ? SWPROGRAM_USERS : 0);
    // No exit signal: a wait() of smallweb's own for its children ignores this process.
    return copy_process(flags | (start->is_copy ? CLONE_PARENT : 0), supervise, start);
}

// In a user namespace of its own below the starter's, which counts its processes.
static pid_t make_copy(const struct swprogram *program, int report, int parent_end) {
    struct start start = {
        .program = program, .report = report, .parent_end = parent_end, .user = geteuid(),
        .group = getegid(), .is_copy = 1};
    return make_with(&start, SUPERVISOR_NAMESPACES);
}

// Makes a supervisor in as many namespaces as the kernel allows. Returns its process, or -1.
static pid_t make_supervisor(void *argument) {
    struct start *start = argument;
    enum { PIDS = SUPERVISOR_NAMESPACES & ~CLONE_NEWUSER };
    const int choices[] = {
        CLONE_NEWUSER | CLONE_NEWNET | PIDS, CLONE_NEWUSER | PIDS, CLONE_NEWNET | PIDS, 0};
    uint32_t without = start->program->without;
    for (unsigned index = 0; index < sizeof choices / sizeof *choices; index++) {
        int flags = choices[index];
        if ((flags & CLONE_NEWPID && without & SWPROGRAM_PIDS)
            || (flags & CLONE_NEWNET && without & SWPROGRAM_NETWORK)
            || (flags & CLONE_NEWUSER && without & SWPROGRAM_USERS))
            continue;
        pid_t process = make_with(start, flags);
        if (process > 0 || errno == EAGAIN || errno == ENOMEM) return process;
    }
    return -1;
}

// A pidfd of this process, readable when it has ended; -1 without pidfds.
static int open_end_of_this(void) {
#ifdef SYS_pidfd_open
    return (int)syscall(SYS_pidfd_open, getpid(), 0);
#else
    return -1;
#endif
}

// Blocks all signals: a handler of smallweb's must not run in a copy.
static int without_signals(int (*make)(void *), void *context) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int result = make(context), error = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return result;
}

struct opening {
    const struct swprogram *program;
    int parent_end;
    struct swprogram_starter *starter;
};

static int open_starter(void *argument) {
    const struct opening *opening = argument;
    return starter_open(opening->program, opening->parent_end, make_copy, opening->starter);
}

int swprogram_open_starter(const struct swprogram *program, struct swprogram_starter *starter) {
    struct opening opening = {program, open_end_of_this(), starter};
    int is_open = without_signals(open_starter, &opening);
    if (opening.parent_end >= 0) close(opening.parent_end);
    return is_open;
}

int swprogram_start(
    const struct swprogram *program, struct swprogram_supervisor *supervisor) {
    int ends[2], error = 0;
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return errno;
    *supervisor = (struct swprogram_supervisor){.report = ends[0], .is_first = 1};
    if (program->starter >= 0) {
        error = starter_ask(program->starter, program, ends[1]);
    } else {
        struct start start = {
            .program = program, .report = ends[1], .parent_end = open_end_of_this(),
            .parent = getpid(), .user = geteuid(), .group = getegid()};
        supervisor->process = without_signals(make_supervisor, &start);
        if (supervisor->process < 0) error = errno;
        supervisor->is_first = (start.flags & CLONE_NEWPID) != 0;
        if (start.parent_end >= 0) close(start.parent_end);
    }
    close(ends[1]);
    if (error != 0) close(ends[0]);
    return error;
}

int swprogram_report(struct swprogram_supervisor *supervisor, struct swprogram_report *report) {
    for (;;) {
        ssize_t count = read(supervisor->report, report, sizeof *report);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && errno == EAGAIN) return 0;
        if (count != sizeof *report) return -1;
        if (report->stage != SWPROGRAM_STARTED) return 1;
        supervisor->process = report->number;
    }
}

void swprogram_end(struct swprogram_supervisor *supervisor) {
    struct swprogram_report report;
    struct pollfd said = {.fd = supervisor->report, .events = POLLIN};
    // A starter reports it at once, or was killed.
    while (supervisor->process == 0) {
        poll(&said, 1, -1);
        if (swprogram_report(supervisor, &report) < 0) return;
    }
    kill(supervisor->process, supervisor->is_first ? SIGKILL : SIGTERM);
    if (!supervisor->is_first) kill(supervisor->process, SIGCONT);
    // The first process of a namespace is gone only after all others.
    wait_for_process(supervisor->process);
}

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int guards, guard_before;

void swprogram_guard(int begins) {
    pthread_mutex_lock(&guard);
    if (begins && guards++ == 0) {
        guard_before = prctl(PR_GET_DUMPABLE);
        prctl(PR_SET_DUMPABLE, 0);
    } else if (!begins && --guards == 0) {
        // Only the kernel can set 2.
        if (guard_before == 1) prctl(PR_SET_DUMPABLE, 1);
    }
    pthread_mutex_unlock(&guard);
}
