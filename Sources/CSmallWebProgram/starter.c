// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "starter.h"
#include "process.h"
#include "view.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

// Limits of a program's arguments and environment.
#define STRINGS_MAX 512
#define BYTES_MAX (96 << 10)

// Header of a request. Then follow the path, the arguments and the environment, each string with a
// NUL. The report's descriptor is attached, followed by the program's descriptors set in `given`.
struct request {
    uint32_t arguments, environment, given;
    uint64_t processor_seconds, memory_bytes, descriptors_max;
};

// The report's descriptor, and the program's.
#define DESCRIPTORS_MAX (1 + SWPROGRAM_DESCRIPTORS)

union control {
    char bytes[CMSG_SPACE(DESCRIPTORS_MAX * sizeof(int))];
    struct cmsghdr header;
};

// MARK: smallweb's side

struct parts {
    struct iovec list[1 + STRINGS_MAX];
    int count;
    size_t bytes;
};

// Returns the number of strings. Those beyond the limit are counted, but not added.
static uint32_t add(struct parts *parts, const char *const *strings) {
    uint32_t count = 0;
    for (; strings[count]; count++) {
        size_t length = strlen(strings[count]) + 1;
        parts->bytes += length;
        if (parts->count < 1 + STRINGS_MAX)
            parts->list[parts->count] = (struct iovec){(void *)strings[count], length};
        parts->count++;
    }
    return count;
}

int starter_ask(int starter, const struct swprogram *program, int report) {
    struct request request = {
        .processor_seconds = program->processor_seconds, .memory_bytes = program->memory_bytes,
        .descriptors_max = program->descriptors_max};
    struct parts parts = {.list = {{&request, sizeof request}}, .count = 1};
    const char *const path[] = {program->path, NULL};
    add(&parts, path);
    request.arguments = add(&parts, program->arguments);
    request.environment = add(&parts, program->environment);
    if (parts.count > 1 + STRINGS_MAX || parts.bytes > BYTES_MAX) return EMSGSIZE;
    int descriptors[DESCRIPTORS_MAX] = {report}, count = 1;
    for (int number = 0; number < SWPROGRAM_DESCRIPTORS; number++) {
        if (program->descriptors[number] < 0) continue;
        request.given |= 1U << number;
        descriptors[count++] = program->descriptors[number];
    }
    union control control = {.bytes = {0}};
    struct msghdr message = {
        .msg_iov = parts.list, .msg_iovlen = (size_t)parts.count, .msg_control = &control,
        .msg_controllen = CMSG_SPACE(count * sizeof(int))};
    control.header = (struct cmsghdr){
        .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
        .cmsg_len = CMSG_LEN(count * sizeof(int))};
    memcpy(CMSG_DATA(&control.header), descriptors, count * sizeof(int));
    ssize_t sent;
    do sent = sendmsg(starter, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? errno : 0;
}

// MARK: The starter

struct starter {
    const struct swprogram *program;
    int parent_end, end;
    uid_t user;
    gid_t group;
    starter_make *make;
};

// Numbers of the starter's descriptors.
enum { REQUESTS, PARENT, NEXT };

static void try_copy(void *argument) {
    const struct starter *starter = argument;
    map_user(starter->user, starter->group);
    _exit(view_copy(starter->program) ? 0 : 1);
}

// True if a copy can have its own processes in /proc and a temporary directory.
static int can_copy(struct starter *starter) {
    pid_t process = copy_process(SUPERVISOR_NAMESPACES, try_copy, starter);
    return process > 0 && wait_for_process(process) == 0;
}

// Returns the strings of a list, followed by NULL, and moves behind their bytes.
static const char **take(char **bytes, const char **strings, uint32_t count) {
    for (; count > 0; count--) {
        *strings++ = *bytes;
        *bytes += strlen(*bytes) + 1;
    }
    *strings++ = NULL;
    return strings;
}

static void start(
    const struct starter *starter, const struct request *request, char *bytes,
    const int *received) {
    static const char *strings[STRINGS_MAX + 2];
    struct swprogram program = *starter->program;
    program.path = bytes;
    bytes += strlen(bytes) + 1;
    program.arguments = strings;
    program.environment = take(&bytes, strings, request->arguments);
    take(&bytes, (const char **)program.environment, request->environment);
    program.processor_seconds = request->processor_seconds;
    program.memory_bytes = request->memory_bytes;
    program.descriptors_max = request->descriptors_max;
    int report = *received++;
    for (int number = 0; number < SWPROGRAM_DESCRIPTORS; number++)
        program.descriptors[number] = request->given & 1U << number ? *received++ : -1;
    pid_t process = starter->make(&program, report, PARENT);
    struct swprogram_report said = {
        .stage = process > 0 ? SWPROGRAM_STARTED : SWPROGRAM_SET_UP,
        .number = process > 0 ? process : errno};
    (void)!write(report, &said, sizeof said);
}

// Serves requests until smallweb closes its end.
static _Noreturn void serve(const struct starter *starter) {
    static char bytes[BYTES_MAX];
    for (;;) {
        struct request request;
        union control control;
        struct iovec parts[] = {{&request, sizeof request}, {bytes, sizeof bytes}};
        struct msghdr message = {
            .msg_iov = parts, .msg_iovlen = 2, .msg_control = &control,
            .msg_controllen = sizeof control};
        ssize_t length = recvmsg(REQUESTS, &message, MSG_CMSG_CLOEXEC);
        if (length < 0 && errno == EINTR) continue;
        if (length <= 0) _exit(0);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        if (!header) continue;
        int received[DESCRIPTORS_MAX];
        int count = (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        memcpy(received, CMSG_DATA(header), count * sizeof(int));
        if (count == 1 + __builtin_popcount(request.given))
            start(starter, &request, bytes, received);
        while (count > 0) close(received[--count]);
    }
}

// Copies a path into the starter's own memory.
static const char *keep(char *place, const char *path) {
    size_t length = strlen(path);
    if (length >= PATH_MAX) _exit(1);
    return memcpy(place, path, length + 1);
}

static void run(void *argument) {
    struct starter starter = *(const struct starter *)argument;
    static struct swprogram program;
    static char folder[PATH_MAX], temporary[PATH_MAX];
    static const char *const none[] = {NULL};
    forget_handlers();
    leave_terminal();
    prctl(PR_SET_NAME, SUPERVISOR_NAME);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int end = fcntl(starter.end, F_DUPFD_CLOEXEC, NEXT);
    int parent_end = fcntl(starter.parent_end, F_DUPFD_CLOEXEC, NEXT);
    if (end < 0 || parent_end < 0 || dup3(end, REQUESTS, O_CLOEXEC) < 0
        || dup3(parent_end, PARENT, O_CLOEXEC) < 0)
        _exit(1);
    close_from(NEXT);
    map_user(starter.user, starter.group);
    if (!view_share(starter.program)) _exit(1);
    program = *starter.program;
    program.folder = keep(folder, program.folder);
    program.temporary = keep(temporary, program.temporary);
    program.places = program.reads = none;
    starter.program = &program;
    forget_all();
    if (!can_copy(&starter) || send(REQUESTS, "", 1, MSG_NOSIGNAL) != 1) _exit(1);
    serve(&starter);
}

int starter_open(
    const struct swprogram *program, int parent_end, starter_make *make,
    struct swprogram_starter *opened) {
    int ends[2];
    if (parent_end < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return 0;
    struct starter starter = {
        .program = program, .parent_end = parent_end, .end = ends[1], .user = geteuid(),
        .group = getegid(), .make = make};
    pid_t process = copy_process(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWNS, run, &starter);
    close(ends[1]);
    *opened = (struct swprogram_starter){process, ends[0]};
    char ready;
    // All signals are blocked.
    if (process > 0 && recv(ends[0], &ready, 1, 0) == 1) return 1;
    swprogram_close_starter(opened);
    return 0;
}

void swprogram_close_starter(const struct swprogram_starter *starter) {
    close(starter->descriptor);
    if (starter->process > 0) wait_for_process(starter->process);
}
