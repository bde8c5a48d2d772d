// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// Nothing here allocates: the supervisor is a copy of one thread of a program that has several.

// More processes than this are not listed at a time.
#define LISTED_MAX 4096

// A temporary directory that goes deeper, or has more entries, is too large to be added up in time.
#define DEPTH_MAX 64
#define ENTRIES_MAX 20000

// Milliseconds that a killed group may take, before what is left is looked for one by one.
#define ROUNDS_MAX 20

// Seconds after which processes that do not end are left alone: the kernel is at work in them.
#define END_MAX 10

// MARK: Directories

struct entry {
    uint64_t inode, offset;
    unsigned short length;
    unsigned char kind;
    char name[];
};

struct listing {
    int directory;
    long length, position;
    char bytes[2048] __attribute__((aligned(8)));
};

static int begin(struct listing *listing, int above, const char *path) {
    listing->directory = openat(above, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    listing->length = listing->position = 0;
    return listing->directory >= 0;
}

// The next name, without the directory itself and the one above it; NULL at the end.
static const char *next(struct listing *listing) {
    for (;;) {
        if (listing->position == listing->length) {
            listing->position = 0;
            listing->length = syscall(
                SYS_getdents64, listing->directory, listing->bytes, sizeof listing->bytes);
            if (listing->length <= 0) return NULL;
        }
        struct entry *entry = (struct entry *)(listing->bytes + listing->position);
        listing->position += entry->length;
        if (strcmp(entry->name, ".") != 0 && strcmp(entry->name, "..") != 0) return entry->name;
    }
}

static void end(struct listing *listing) { close(listing->directory); }

// MARK: Processes

static pid_t listed[LISTED_MAX];
static int listed_count;

// A file of /proc, with a NUL at its end. Returns its length, or -1.
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

// Returns whether they could be read.
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

// All processes of the namespace but this one, which is its first.
static int list_namespace(void) {
    static struct listing listing;
    if (!begin(&listing, AT_FDCWD, "/proc")) return 0;
    for (const char *name; (name = next(&listing));) {
        pid_t process = atoi(name);
        if (process > 1) put(process);
    }
    end(&listing);
    return 1;
}

// Fills `listed` with the processes below this one, parents first. Returns whether that is
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
        if (!begin(&listing, AT_FDCWD, path)) continue;
        for (const char *name; (name = next(&listing));) list_children(listed[index], atoi(name));
        end(&listing);
    }
    return 1;
}

int watch_can_list(int has_proc) { return list(has_proc); }

uint64_t watch_account(void) {
    static struct listing listing;
    uint64_t count = 0;
    uid_t user = geteuid();
    if (!begin(&listing, AT_FDCWD, "/proc")) return 0;
    for (const char *name; (name = next(&listing));) {
        char path[64];
        struct stat facts;
        if (name[0] < '0' || name[0] > '9') continue;
        snprintf(path, sizeof path, "%s/task", name);
        // A link for each thread, and two of its own.
        if (fstatat(listing.directory, path, &facts, 0) == 0 && facts.st_uid == user
            && facts.st_nlink > 2)
            count += facts.st_nlink - 2;
    }
    end(&listing);
    return count;
}

// MARK: Sums

struct sum {
    uint64_t bytes, threads;
};

// A line of /proc/PID/status, such as "RssAnon:     120 kB".
static uint64_t number(const char *text, const char *name) {
    const char *line = strstr(text, name);
    return line ? strtoull(line + strlen(name), NULL, 10) : 0;
}

// What files that have no name any more take: they are in no directory.
static uint64_t nameless_bytes(pid_t process) {
    static struct listing listing;
    char path[64];
    uint64_t bytes = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)process);
    if (!begin(&listing, AT_FDCWD, path)) return 0;
    for (const char *name; (name = next(&listing));) {
        struct stat facts;
        if (fstatat(listing.directory, name, &facts, 0) == 0 && S_ISREG(facts.st_mode)
            && facts.st_nlink == 0)
            bytes += (uint64_t)facts.st_blocks * 512;
    }
    end(&listing);
    return bytes;
}

// Memory that is its own: not what files are mapped to, which all processes have but once.
static void add_process(struct sum *sum, pid_t process, int has_view) {
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%d/status", (int)process);
    if (read_text(path, text, sizeof text) <= 0) return;
    uint64_t kilobytes = number(text, "\nRssAnon:") + number(text, "\nRssShmem:");
    sum->bytes += kilobytes << 10;
    sum->threads += number(text, "\nThreads:");
    if (!has_view) sum->bytes += nameless_bytes(process);
}

// Returns what a directory and all below it take, or a number that is above every bound.
static uint64_t directory_bytes(const char *path) {
    static struct listing levels[DEPTH_MAX];
    uint64_t bytes = 0;
    int level = 0, entries = 0;
    if (!begin(&levels[0], AT_FDCWD, path)) return 0;
    while (level >= 0) {
        const char *name = next(&levels[level]);
        if (!name) {
            end(&levels[level--]);
            continue;
        }
        struct stat facts;
        if (fstatat(levels[level].directory, name, &facts, AT_SYMLINK_NOFOLLOW) != 0) continue;
        bytes += (uint64_t)facts.st_blocks * 512;
        int is_directory = S_ISDIR(facts.st_mode);
        if (++entries == ENTRIES_MAX || (is_directory && level + 1 == DEPTH_MAX)) {
            for (; level >= 0; level--) end(&levels[level]);
            return UINT64_MAX / 2;
        }
        if (is_directory && begin(&levels[level + 1], levels[level].directory, name)) level++;
    }
    return bytes;
}

static uint64_t temporary_bytes(const char *path, int has_view) {
    struct statvfs facts;
    if (!has_view) return directory_bytes(path);
    if (statvfs(path, &facts) != 0) return 0;
    return (uint64_t)(facts.f_blocks - facts.f_bfree) * facts.f_frsize;
}

int watch_sum(const struct swprogram *program, int has_proc, int has_view) {
    struct sum sum = {.bytes = temporary_bytes(program->temporary, has_view)};
    if (list(has_proc))
        for (int index = 0; index < listed_count; index++)
            add_process(&sum, listed[index], has_view);
    if (sum.bytes > program->memory_bytes) return SWPROGRAM_MEMORY;
    return sum.threads > SWPROGRAM_PROCESSES_MAX ? SWPROGRAM_COUNT : 0;
}

// MARK: The end

static uint64_t seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec;
}

// Returns whether no child is left.
static int reap(void) {
    int status;
    pid_t child;
    do child = waitpid(-1, &status, __WALL | WNOHANG);
    while (child > 0 || (child < 0 && errno == EINTR));
    return child < 0 && errno == ECHILD;
}

// Stops them all before the first is killed: what runs could go on making others.
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
    // All at once, those that are being made included. The filter lets none leave the group.
    kill(-program, SIGKILL);
    for (int round = 0; !reap() && seconds() < deadline; round++) {
        // Where there is no filter, some may have left it.
        if (round >= ROUNDS_MAX) kill_listed();
        nanosleep(&moment, NULL);
    }
}
