// SPDX-License-Identifier: MIT
// Replaces members of the static Swift runtime that smallweb does not use, and that take a tenth of
// each start (decision 0025). The linker takes a member of an archive only for a symbol that is
// undefined so far. If a later toolchain needs another symbol of such a member, the linker adds the
// member as well, and reports duplicate symbols.
//
// Not in packages that depend on smallweb, nor where the runtime is a shared library.
#ifdef SMALLWEB_OWNS_PROCESS
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

// CommandLine.cpp reads the arguments from /proc/self/maps before main() begins.
// `swposix_arguments` has them.
char **_swift_stdlib_getUnsafeArgvArgc(int *count) {
    static char *none[] = {NULL};
    *count = 0;
    return none;
}

// Backtrace.cpp and the crash handler look for a program that is not installed. The code that
// reports a fatal error only checks if they are enabled: the second number of 22.
int32_t _swift_backtraceSettings[22];

bool _swift_backtrace_isThunkFunction(const char *name) {
    (void)name;
    return false;
}

// DispatchGlobalExecutor.cpp, and with it libdispatch: tasks run on event loops. A task without one
// gets a new thread for each resumption.
__attribute__((swiftcall)) void swift_job_run(void *job, void *identity, uintptr_t implementation);

struct later {
    void *job;
    struct timespec deadline;
    clockid_t clock;
};

static _Noreturn void die(const char *why) {
    fprintf(stderr, "smallweb: %s\n", why);
    abort();
}

static void *run(void *data) {
    struct later *later = data;
    // 0 for now: a time long past.
    while (clock_nanosleep(later->clock, TIMER_ABSTIME, &later->deadline, NULL) != 0) {}
    void *job = later->job;
    free(later);
    swift_job_run(job, NULL, 0);
    return NULL;
}

static void start(struct later later) {
    struct later *copy = malloc(sizeof *copy);
    pthread_t thread;
    if (copy == NULL) die("out of memory");
    *copy = later;
    if (pthread_create(&thread, NULL, run, copy) != 0) die("no thread can be started");
    pthread_detach(thread);
}

void swift_dispatchEnqueueGlobal(void *job) {
    start((struct later){.job = job, .clock = CLOCK_MONOTONIC});
}

// `clock` is 1 for the clock that runs during suspend, 2 for the other.
void swift_dispatchEnqueueWithDeadline(bool global, long long seconds, long long nanoseconds,
    long long tolerance_seconds, long long tolerance_nanoseconds, int clock, void *job) {
    (void)global, (void)tolerance_seconds, (void)tolerance_nanoseconds;
    start((struct later){
        .job = job,
        .deadline = {.tv_sec = seconds, .tv_nsec = nanoseconds},
        .clock = clock == 1 ? CLOCK_BOOTTIME : CLOCK_MONOTONIC,
    });
}

// The main thread has no queue: nothing compiled here needs it.
void swift_dispatchEnqueueMain(void *job) {
    (void)job;
    die("a task wants the main actor, which this binary has not");
}

void swift_task_enqueueOnDispatchQueue(void *job, void *queue) {
    (void)job, (void)queue;
    die("a task wants a dispatch queue, which this binary has not");
}

_Noreturn void dispatch_main(void) {
    die("a task wants the main queue, which this binary has not");
}

void dispatch_assert_queue(void *queue) { (void)queue; }
char _dispatch_main_q[1];

// The only two symbols of glibc 2.35; without them 2.34 is enough. Hidden, so that libraries which
// are opened later find glibc's.
//
// Swift's Glibc module refers to hypotf, and nothing calls it. glibc computes it like this.
__attribute__((visibility("hidden"))) float hypotf(float x, float y) {
    if (isinf(x) || isinf(y)) return INFINITY;
    return (float)sqrt((double)x * x + (double)y * y);
}

// libgcc's unwinder calls it for the frames of a function. Nothing here catches exceptions: one
// thrown by libstdc++ finds no frames and ends the process, as it would with them.
__attribute__((visibility("hidden"))) int _dl_find_object(void *place, void *result) {
    (void)place, (void)result;
    return -1;
}
#endif
