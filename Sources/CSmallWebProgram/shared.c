// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "shared.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// For the way into them, and for the supervisor, which begins with a copy of it.
#ifdef HAS_THREAD_SANITIZER
#define STACK_SIZE (256 << 10)
#else
#define STACK_SIZE (64 << 10)
#endif

struct namespaces {
    int users, network;         // descriptors; -1 when they could not be made
};

#ifdef HAS_THREAD_SANITIZER

struct copied {
    void (*run)(void *);
    void *argument;
};

static int begin_copy(void *argument) {
    struct copied *copied = argument;
    copied->run(copied->argument);
    return 1;
}

// The thread sanitizer has locks of its own. One that another thread holds would never be released
// in the copy, and only its own clone(), which wants a stack, sees to that.
pid_t copy_process(int flags, void (*run)(void *), void *argument) {
    char stack[STACK_SIZE / 2] __attribute__((aligned(16)));
    struct copied copied = {run, argument};
    return clone(begin_copy, stack + sizeof stack, flags, &copied);
}

#else

pid_t copy_process(int flags, void (*run)(void *), void *argument) {
    pid_t process = (pid_t)syscall(SYS_clone, flags, 0, 0, 0, 0);
    if (process == 0) run(argument);
    return process;
}

#endif

static void write_file(const char *path, const char *text) {
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0) return;
    (void)!write(file, text, strlen(text));
    close(file);
}

void map_user(uid_t user, gid_t group) {
    char line[64];
    // The files below belong to root while the process is guarded; no program runs here yet.
    prctl(PR_SET_DUMPABLE, 1);
    write_file("/proc/self/setgroups", "deny");
    snprintf(line, sizeof line, "%u %u 1", user, user);
    write_file("/proc/self/uid_map", line);
    snprintf(line, sizeof line, "%u %u 1", group, group);
    write_file("/proc/self/gid_map", line);
    prctl(PR_SET_DUMPABLE, 0);
}

static pid_t wait_for(pid_t process) {
    pid_t ended;
    do ended = waitpid(process, NULL, __WALL);
    while (ended < 0 && errno == EINTR);
    return ended;
}

// What is handed to the process that opens them.
struct opening {
    uid_t user;
    gid_t group;
    int end;                    // of the pipe to which it writes them
};

static void open_own(void *argument) {
    const struct opening *opening = argument;
    map_user(opening->user, opening->group);
    struct namespaces opened = {
        .users = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC),
        .network = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC)};
    (void)!write(opening->end, &opened, sizeof opened);
    _exit(0);
}

// By a process that has its own memory, so that this one stays guarded, but the same descriptors.
static struct namespaces open_namespaces(void) {
    struct namespaces opened;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return (struct namespaces){-1, -1};
    struct opening opening = {.user = geteuid(), .group = getegid(), .end = ends[1]};
    pid_t process = copy_process(CLONE_FILES | CLONE_NEWUSER | CLONE_NEWNET, open_own, &opening);
    // With the process gone, nothing or all of it has been written.
    if (process > 0) wait_for(process);
    close(ends[1]);
    if (read(ends[0], &opened, sizeof opened) != sizeof opened)
        opened = (struct namespaces){-1, -1};
    close(ends[0]);
    return opened;
}

// Those of this process. They end with it.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct namespaces shared = {-1, -1};
static unsigned programs;

static struct namespaces namespaces(void) {
    pthread_mutex_lock(&lock);
    if (programs < 2 && ++programs == 2) shared = open_namespaces();
    struct namespaces taken = shared;
    pthread_mutex_unlock(&lock);
    return taken;
}

struct entry {
    struct namespaces namespaces;
    void (*make)(void *);
    void *context;
    int is_inside;
};

static int enter(void *argument) {
    struct entry *entry = argument;
    entry->is_inside = setns(entry->namespaces.users, CLONE_NEWUSER) == 0
        && setns(entry->namespaces.network, CLONE_NEWNET) == 0;
    if (entry->is_inside) entry->make(entry->context);
    return 0;
}

int shared_enter(void (*make)(void *), void *context) {
    struct entry entry = {.namespaces = namespaces(), .make = make, .context = context};
    if (entry.namespaces.users < 0 || entry.namespaces.network < 0) return 0;
    char stack[STACK_SIZE] __attribute__((aligned(16)));
    pid_t process = clone_sharing(enter, stack + sizeof stack, CLONE_VM | CLONE_VFORK, &entry);
    if (process > 0) wait_for(process);
    return entry.is_inside;
}
