// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "watch.h"
#include "listing.h"
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// Nothing here allocates: the supervisor is a copy of one thread of a multithreaded program.

// Limit of processes listed at a time.
#define LISTED_MAX 4096

// Limit of mappings of all processes. The kernel takes some 300 bytes for each.
#define MAPPINGS_MAX 32768

// The size of a page: 4 KiB, with some kernels 16 or 64.
static uint64_t page_bytes = 4096;

// Kernel memory for a descriptor: the file, and a page for the text of a /proc file that was read
// in part.
#define DESCRIPTOR_BYTES ((12 << 10) + page_bytes)

// A pipe of the default size. Programs cannot get larger ones.
#define PIPE_BYTES (16 * page_bytes)

// Memory per byte of a descriptor's text in /proc: a lock, or an entry of an epoll, takes some 250
// bytes, and its line 60. It counts 16 times, since reading many lines takes long.
#define FACT_BYTES 64

// The most that both directions of a socket hold: a buffer each, and one more piece.
static uint64_t socket_bytes = 256 << 10;

// Looks, two of them every ten milliseconds, for which the program may still be in the middle of
// execve(), where it waits for a processor on a busy machine.
#define LATE_LOOKS_MAX 20

// Limit of pipes and sockets that can be told apart.
#define ENDS_MAX 4096

// Above this number of processes they get a lower priority.
#define CROWD 8
#define CROWD_NICENESS 10

// Milliseconds for the end of a killed group, before remaining processes are killed one by one.
#define ROUNDS_MAX 20

// Seconds after which processes that do not end are given up: the kernel is busy in them.
#define END_MAX 10

// MARK: Processes

static pid_t listed[LISTED_MAX];
static int listed_count;

// Reads a file of /proc, and adds a NUL. Returns its length, or -1.
static long read_text(const char *path, char *text, size_t size) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    long length = read(file, text, size - 1);
    close(file);
    if (length >= 0) text[length] = '\0';
    return length;
}

static void put(pid_t process) {
    if (listed_count < LISTED_MAX) listed[listed_count++] = process;
}

// Returns 0 if the list of children could not be read.
static int list_children(pid_t process, pid_t thread) {
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)process, (int)thread);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    pid_t child = 0;
    long length;
    while ((length = read(file, text, sizeof text)) > 0) {
        for (long index = 0; index < length; index++) {
            if (text[index] >= '0' && text[index] <= '9') {
                child = child * 10 + (text[index] - '0');
            } else if (child > 0) {
                put(child);
                child = 0;
            }
        }
    }
    close(file);
    return 1;
}

// Lists all processes of the namespace but this one, which is its first.
static int list_namespace(void) {
    static struct listing listing;
    if (!listing_begin(&listing, AT_FDCWD, "/proc")) return 0;
    for (const char *name; (name = listing_next(&listing));) {
        pid_t process = atoi(name);
        if (process > 1) put(process);
    }
    listing_end(&listing);
    return 1;
}

// Fills `listed` with the processes below this one, parents first. Returns 0 if that is not
// possible.
static int list(int has_proc) {
    static struct listing listing;
    listed_count = 0;
    if (has_proc) return list_namespace();
    pid_t itself = getpid();
    if (!list_children(itself, itself)) return 0;
    for (int index = 0; index < listed_count; index++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/task", (int)listed[index]);
        if (!listing_begin(&listing, AT_FDCWD, path)) continue;
        for (const char *name; (name = listing_next(&listing));)
            list_children(listed[index], atoi(name));
        listing_end(&listing);
    }
    return 1;
}

int watch_begin(int has_proc) {
    int ends[2], size = 0;
    socklen_t length = sizeof size;
    page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0) {
        getsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, &length);
        socket_bytes = (uint64_t)size + 16 * page_bytes;
        close(ends[0]);
        close(ends[1]);
    }
    return list(has_proc);
}

uint64_t watch_account(void) {
    static struct listing listing;
    uint64_t count = 0;
    uid_t user = geteuid();
    if (!listing_begin(&listing, AT_FDCWD, "/proc")) return 0;
    for (const char *name; (name = listing_next(&listing));) {
        char path[64];
        struct stat facts;
        if (name[0] < '0' || name[0] > '9') continue;
        snprintf(path, sizeof path, "%s/task", name);
        // A link for each thread, and two of its own.
        if (fstatat(listing.directory, path, &facts, 0) == 0 && facts.st_uid == user
            && facts.st_nlink > 2)
            count += facts.st_nlink - 2;
    }
    listing_end(&listing);
    return count;
}

// MARK: Sums

struct sum {
    uint64_t bytes, bound, threads, mappings, descriptors;
    uint64_t certain;           // the part of `bytes` that is certainly counted once
    uint64_t facts_max;         // the longest text about a descriptor
};

// The number in a line of /proc/PID/status, such as "RssAnon: 120 kB".
static uint64_t number(const char *text, const char *name) {
    const char *line = strstr(text, name);
    return line ? strtoull(line + strlen(name), NULL, 10) : 0;
}

// The content of /proc/PID/status; with many groups it is long.
static char status[32 << 10];

static int has_memory(const char *place) {
    char path[64];
    snprintf(path, sizeof path, "%s/status", place);
    if (read_text(path, status, sizeof status) <= 0) *status = '\0';
    return strstr(status, "\nVmSize:") != NULL;
}

// Fills `place` with the directory of a thread that still has the memory of its process: the first
// thread may have ended. Returns 0 if there is none. Its status is in `status`.
static int find_memory(pid_t process, char *place, size_t size) {
    static struct listing listing;
    char path[64];
    snprintf(place, size, "/proc/%d", (int)process);
    if (has_memory(place)) return 1;
    snprintf(path, sizeof path, "/proc/%d/task", (int)process);
    if (number(status, "\nThreads:") < 2 || !listing_begin(&listing, AT_FDCWD, path)) return 0;
    int is_found = 0;
    for (const char *name; !is_found && (name = listing_next(&listing));) {
        snprintf(place, size, "/proc/%d/task/%.10s", (int)process, name);
        is_found = has_memory(place);
    }
    listing_end(&listing);
    return is_found;
}

// Keys of pipes and sockets, which count once, and of deleted files. `given` has the program's own.
static uint64_t given[SWPROGRAM_DESCRIPTORS], seen[2 * ENDS_MAX];
static int seen_count;

// Key by inode alone: some file systems report another device for mappings.
static uint64_t key_of(const struct stat *facts) {
    return facts->st_ino << 2 | (uint64_t)(S_ISREG(facts->st_mode) ? 1 : 2);
}

// Returns 1 for a new key.
static int see(uint64_t key) {
    for (int index = 0; index < SWPROGRAM_DESCRIPTORS; index++)
        if (given[index] == key) return 0;
    uint64_t slot = (key * 0x9E3779B97F4A7C15) >> 51;
    for (; seen[slot]; slot = (slot + 1) % (2 * ENDS_MAX))
        if (seen[slot] == key) return 0;
    if (seen_count < ENDS_MAX) {
        seen[slot] = key;
        seen_count++;
    }
    return 1;
}

void watch_given(void) {
    struct stat facts;
    for (int number = 0; number < SWPROGRAM_DESCRIPTORS; number++)
        if (fstat(number, &facts) == 0) given[number] = key_of(&facts);
}

// True while the result is still open.
static int goes_on(const struct sum *sum) {
    return sum->certain <= sum->bound && sum->bytes <= 2 * sum->bound;
}

static void add_certain(struct sum *sum, uint64_t bytes) {
    sum->bytes += bytes;
    sum->certain += bytes;
}

static void add_descriptor(struct sum *sum, const struct stat *facts, int has_view) {
    int is_end = S_ISFIFO(facts->st_mode) || S_ISSOCK(facts->st_mode);
    int is_nameless = !has_view && S_ISREG(facts->st_mode) && facts->st_nlink == 0;
    sum->descriptors++;
    add_certain(sum, DESCRIPTOR_BYTES);
    if ((is_end || is_nameless) && see(key_of(facts)))
        add_certain(sum, is_nameless ? (uint64_t)facts->st_blocks * 512
            : S_ISFIFO(facts->st_mode) ? PIPE_BYTES : socket_bytes);
}

// Adds kernel memory that is held through a descriptor: a line of `path` for each item.
static void add_facts(struct sum *sum, const char *path) {
    static char text[64 << 10];
    uint64_t total = 0;
    long length = sizeof text;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    while (length == sizeof text && (length = read(file, text, sizeof text)) > 0)
        total += (uint64_t)length;
    close(file);
    add_certain(sum, FACT_BYTES * total);
    if (total > sum->facts_max) sum->facts_max = total;
}

// True once a program has shown its descriptors: it does not hide them any more by being late.
static int has_begun, late_looks;

// True for a program in the middle of execve(), whose descriptors are hidden as those of a file
// without read permission: it has the name of its supervisor, and either its memory, which is
// guarded, or new memory without code. Its status is in `status`.
static int is_late(void) {
    char own[64];
    const char *name = "Name:\t" SUPERVISOR_NAME "\n";
    if (has_begun || strncmp(status, name, strlen(name)) != 0 || ++late_looks > LATE_LOOKS_MAX
        || read_text("/proc/self/statm", own, sizeof own) < 0)
        return 0;
    return number(status, "\nVmExe:") == 0
        || number(status, "\nVmSize:") << 10 == strtoull(own, NULL, 10) * page_bytes;
}

static void add_descriptors(struct sum *sum, const char *place, int has_view, int wants_facts) {
    static struct listing listing;
    char path[128];
    struct stat facts;
    snprintf(path, sizeof path, "%s/fd", place);
    if (!listing_begin(&listing, AT_FDCWD, path)) {
        // They are hidden for a program file without read permission, and at the end of a process.
        if (errno == EACCES && has_memory(place) && !is_late()) sum->bytes = TOO_MUCH;
        return;
    }
    has_begun = 1;
    for (const char *name; (name = listing_next(&listing)) && goes_on(sum);) {
        snprintf(path, sizeof path, "%s/fdinfo/%.20s", place, name);
        if (wants_facts) add_facts(sum, path);
        else if (fstatat(listing.directory, name, &facts, 0) == 0)
            add_descriptor(sum, &facts, has_view);
    }
    listing_end(&listing);
    snprintf(path, sizeof path, "%s/exe", place);
    if (!wants_facts && stat(path, &facts) == 0) add_descriptor(sum, &facts, has_view);
}

// True if a line of /proc/PID/maps is about memory of unknown size: shared memory of /dev/zero, or
// a deleted file, unless a file system of its own counts it.
static int is_gone(const char *line, const char *temporary, int has_view) {
    const char *path = strchr(line, '/');
    size_t length = strlen(temporary), rest = strlen(line);
    if (!path) return 0;
    if (strncmp(path, "/dev/zero", 9) == 0) return strstr(line, "s ") != NULL;
    return !has_view && rest > 10 && strcmp(line + rest - 10, " (deleted)") == 0
        && ((strncmp(path, temporary, length) == 0 && path[length] == '/')
            || strncmp(path, "/dev/shm/", 9) == 0);
}

// Parses "START-END RIGHTS OFFSET DEVICE INODE PATH".
static void add_gone(struct sum *sum, const char *line) {
    struct stat facts = {.st_mode = S_IFREG};
    unsigned long long inode;
    if (sscanf(line, "%*s %*s %*s %*s %llu", &inode) != 1) return;
    facts.st_ino = inode;
    // As its size is unknown, two such mappings count as too much.
    if (strstr(line, " /dev/zero") || see(key_of(&facts))) add_certain(sum, sum->bound / 2 + 1);
}

static void add_mappings(
    struct sum *sum, const char *place, const struct swprogram *program, int has_view) {
    static char text[64 << 10];
    char path[64];
    long length;
    snprintf(path, sizeof path, "%s/maps", place);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    // The kernel returns whole lines for a buffer of this size.
    while (sum->mappings <= MAPPINGS_MAX && (length = read(file, text, sizeof text - 1)) > 0) {
        text[length] = '\0';
        char *line = text;
        for (char *newline; (newline = strchr(line, '\n')); line = newline + 1) {
            *newline = '\0';
            sum->mappings++;
            if (is_gone(line, program->temporary, has_view))
                add_gone(sum, line);
        }
    }
    close(file);
    if (sum->mappings > MAPPINGS_MAX) sum->bytes = TOO_MUCH;
}

// Adds a process's own memory, without mapped files, which all processes share. Kernel memory is
// counted by its upper limit; slow checks are in a second round, unless the first has found too
// much.
static void add_process(
    struct sum *sum, pid_t process, const struct swprogram *program, int has_view, int round) {
    char place[48];
    int is_there = find_memory(process, place, sizeof place);
    if (round == 0) sum->threads += number(status, "\nThreads:");
    if (!is_there) return;
    if (round == 0) {
        uint64_t kilobytes = number(status, "\nRssAnon:") + number(status, "\nRssShmem:")
            + number(status, "\nVmSwap:") + number(status, "\nHugetlbPages:");
        sum->bytes += kilobytes << 10;
        add_certain(sum, number(status, "\nVmPTE:") << 10);
    }
    add_descriptors(sum, place, has_view, round == 1);
    if (round == 1) add_mappings(sum, place, program, has_view);
}

static uint64_t temporary_bytes(const char *path, int has_view) {
    struct statvfs facts;
    if (!has_view) return listing_bytes(path);
    if (statvfs(path, &facts) != 0) return 0;
    return (uint64_t)(facts.f_blocks - facts.f_bfree) * facts.f_frsize;
}

// Bytes of the last sum that are certain, and of the pairs of sockets made since.
static uint64_t taken;

int watch_has_room(const struct swprogram *program) { return taken <= program->memory_bytes; }

void watch_pair(void) { taken += 2 * (socket_bytes + DESCRIPTOR_BYTES); }

int watch_sum(
    const struct swprogram *program, int has_proc, int has_view, int *is_certain) {
    struct sum sum = {.bound = program->memory_bytes};
    add_certain(&sum, temporary_bytes(program->temporary, has_view));
    memset(seen, 0, sizeof seen);
    seen_count = 0;
    if (!list(has_proc)) listed_count = 0;
    // Among many processes of the same priority, the supervisor would run too late.
    for (int index = 0; listed_count > CROWD && index < listed_count; index++)
        setpriority(PRIO_PROCESS, (id_t)listed[index], CROWD_NICENESS);
    for (int round = 0; round < 2; round++)
        for (int index = 0; index < listed_count && goes_on(&sum); index++)
            add_process(&sum, listed[index], program, has_view, round);
    // Any of them may have a text of this size.
    add_certain(&sum, sum.descriptors * 2 * sum.facts_max);
    *is_certain = sum.certain > sum.bound || seen_count == ENDS_MAX;
    taken = sum.certain;
    // Too many processes also have too much memory, so this comes first.
    if (sum.threads > SWPROGRAM_PROCESSES_MAX) return SWPROGRAM_COUNT;
    return sum.bytes > sum.bound || *is_certain ? SWPROGRAM_MEMORY : 0;
}

// MARK: The end

static uint64_t seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec;
}

// Returns 1 if no child is left.
static int reap(void) {
    int status;
    pid_t child;
    do child = waitpid(-1, &status, __WALL | WNOHANG);
    while (child > 0 || (child < 0 && errno == EINTR));
    return child < 0 && errno == ECHILD;
}

// Stops all processes before the first is killed, since running ones could start others.
static void kill_listed(void) {
    int before = -1;
    for (int round = 0; round < 64 && list(0) && listed_count != before; round++) {
        before = listed_count;
        for (int index = 0; index < listed_count; index++) kill(listed[index], SIGSTOP);
    }
    for (int index = 0; index < listed_count; index++) kill(listed[index], SIGKILL);
}

void watch_end(pid_t program) {
    const struct timespec moment = {.tv_nsec = 1000000};
    uint64_t deadline = seconds() + END_MAX;
    // All at once, including processes being created. The filter lets none leave the group.
    kill(-program, SIGKILL);
    for (int round = 0; !reap() && seconds() < deadline; round++) {
        // Without a filter, some may have left the group.
        if (round >= ROUNDS_MAX) kill_listed();
        nanosleep(&moment, NULL);
    }
}
