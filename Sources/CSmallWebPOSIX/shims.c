// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "CSmallWebPOSIX.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// The field has no name in the GNU C library's headers before 2.36.
#ifdef sigev_notify_thread_id
#define THREAD_ID sigev_notify_thread_id
#else
#define THREAD_ID _sigev_un._tid
#endif

static volatile sig_atomic_t pending_signal;
static volatile sig_atomic_t pending_event_fd = -1;

static int argument_count;
static char **arguments;

// The GNU C library passes the arguments of main() to constructors, too.
__attribute__((constructor)) static void keep_arguments(int count, char **words) {
    argument_count = count;
    arguments = words;
}

int swposix_argument_count(void) { return argument_count; }

const char *const *swposix_arguments(void) { return (const char *const *)arguments; }

const char *swposix_error_name(int number) { return strerrorname_np(number); }

int swposix_library_scope(int connects) {
#ifdef SMALLWEB_OWNS_PROCESS
    if (!connects || (getenv("LD_PRELOAD") == NULL && access("/etc/ld.so.preload", F_OK) != 0))
        return RTLD_LOCAL | RTLD_DEEPBIND;
#endif
    (void)connects;
    return RTLD_LOCAL;
}

static int note_openssl(struct dl_phdr_info *info, size_t size, void *number) {
    const char *name = strrchr(info->dlpi_name, '/');
    (void)size;
    if (name == NULL || strncmp(name, "/libssl.so.", 11) != 0) return 0;
    *(int *)number = atoi(name + 11);
    return 1;
}

int swposix_openssl_number(void) {
    int number = 0;
    (void)dl_iterate_phdr(note_openssl, &number);
    return number;
}

int swposix_columns(int fd) {
    struct winsize size;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int swposix_temporary_file(char *name) { return mkostemp(name, O_CLOEXEC); }

int swposix_unnamed_file(const char *directory) {
    return open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

ssize_t swposix_copy_range(int from, off_t *offset, int to, size_t count) {
    return copy_file_range(from, offset, to, NULL, count, 0);
}

int swposix_accept(int fd) { return accept4(fd, NULL, NULL, SOCK_CLOEXEC); }

int swposix_socket(int family, int kind) {
    return socket(family, kind | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

int swposix_event(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

int swposix_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC); }

int swposix_pidfd_open(int pid) {
#ifdef SYS_pidfd_open
    return (int)syscall(SYS_pidfd_open, pid, 0);
#else
    (void)pid;
    return -1;
#endif
}

static void note_signal(int signal_number) {
    int saved = errno;
    uint64_t one = 1;
    pending_signal = signal_number;
    (void)!write(pending_event_fd, &one, sizeof one);
    errno = saved;
}

static int unblock(int signal_number) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal_number);
    return sigprocmask(SIG_UNBLOCK, &set, NULL);
}

int swposix_signal_to_event(int signal_number, int event_fd) {
    struct sigaction action = {.sa_handler = note_signal, .sa_flags = (int)SA_RESETHAND};
    struct sigaction inherited;
    if (sigaction(signal_number, NULL, &inherited) != 0) return -1;
    if (inherited.sa_handler == SIG_IGN) return 0;
    pending_event_fd = event_fd;
    if (sigaction(signal_number, &action, NULL) != 0) return -1;
    return unblock(signal_number);
}

int swposix_note_signal(int signal_number) {
    struct sigaction action = {.sa_handler = note_signal, .sa_flags = (int)SA_RESETHAND};
    struct sigaction inherited;
    if (sigaction(signal_number, NULL, &inherited) != 0 || inherited.sa_handler == SIG_IGN
        || inherited.sa_handler == note_signal)
        return 0;
    // On a terminal, Swift's runtime has a handler of its own for SIGQUIT, which ends the process.
    if (sigaction(signal_number, &action, NULL) != 0) return 0;
    (void)unblock(signal_number);
    return 1;
}

void swposix_forget_signal(int signal_number) {
    struct sigaction current;
    if (sigaction(signal_number, NULL, &current) == 0 && current.sa_handler == note_signal)
        signal(signal_number, SIG_DFL);
}

void swposix_forget_event(void) { pending_event_fd = -1; }

int swposix_pending_signal(void) { return pending_signal; }

int swposix_wait_readable(int fd) {
    struct pollfd event = {.fd = fd, .events = POLLIN};
    sigset_t all, before;
    int count = 0;
    // Signals are unblocked only while ppoll() waits.
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return -1;
    while (pending_signal == 0 && count <= 0) {
        count = ppoll(&event, 1, NULL, &before);
        if (count < 0 && errno != EINTR) break;
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return count > 0 ? 0 : -1;
}

static volatile sig_atomic_t continuations;

static void count_continuation(int signal_number) {
    (void)signal_number;
    continuations = continuations + 1;
}

void swposix_count_continuations(void) {
    struct sigaction action = {.sa_handler = count_continuation, .sa_flags = SA_RESTART};
    struct sigaction inherited;
    if (sigaction(SIGCONT, NULL, &inherited) != 0 || inherited.sa_handler != SIG_DFL) return;
    // Without the handler, a stop counts as running time.
    if (sigaction(SIGCONT, &action, NULL) == 0) (void)unblock(SIGCONT);
}

int swposix_continuations(void) { return continuations; }

static volatile sig_atomic_t owns_signals;

void swposix_own_signals(void) { owns_signals = 1; }

void swposix_ignore_pipe(void) {
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    if (owns_signals) signal(SIGPIPE, SIG_IGN);
    else pthread_sigmask(SIG_BLOCK, &pipe, NULL);
}

static void interrupt(int signal_number) { (void)signal_number; }

// Without a handler the signal would end the process.
static int catch_alarm(void) {
    struct sigaction action = {.sa_handler = interrupt};
    return sigaction(SIGALRM, &action, NULL);
}

// One per thread, made at its first use, never deleted.
static _Thread_local timer_t alarm_timer;
static _Thread_local int has_alarm_timer;

int swposix_begin_alarm(long milliseconds) {
    struct itimerspec time = {
        .it_value = {
            .tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000},
        .it_interval = {.tv_nsec = 100000000},
    };
    if (catch_alarm() != 0 || unblock(SIGALRM) != 0) return -1;
    if (!has_alarm_timer) {
        struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM};
        event.THREAD_ID = gettid();
        if (timer_create(CLOCK_MONOTONIC, &event, &alarm_timer) != 0) {
            // Callers of a blocking call treat EAGAIN as "wait".
            if (errno == EAGAIN) errno = ENOMEM;
            return -1;
        }
        has_alarm_timer = 1;
    }
    return timer_settime(alarm_timer, 0, &time, NULL);
}

void swposix_end_alarm(void) {
    struct itimerspec none = {.it_value = {.tv_sec = 0}};
    int saved = errno;
    // A timer that is still running only interrupts calls, which are retried.
    if (has_alarm_timer) (void)timer_settime(alarm_timer, 0, &none, NULL);
    errno = saved;
}

int swposix_processor_count(void) {
    cpu_set_t processors;
    return sched_getaffinity(0, sizeof processors, &processors) == 0 ? CPU_COUNT(&processors) : 1;
}

int swposix_block_signals(void) {
    // Signals that a thread causes itself, or that interrupt it.
    static const int own[] = {
        SIGPIPE, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGALRM};
    sigset_t others;
    sigfillset(&others);
    for (unsigned index = 0; index < sizeof own / sizeof *own; index++)
        sigdelset(&others, own[index]);
    return pthread_sigmask(SIG_BLOCK, &others, NULL);
}

void swposix_interrupt(pthread_t thread) {
    if (owns_signals && catch_alarm() == 0) pthread_kill(thread, SIGALRM);
}

void swposix_die_of(int signal_number) {
    signal(signal_number, SIG_DFL);
    unblock(signal_number);
    raise(signal_number);
}
