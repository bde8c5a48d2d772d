// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "confine.h"
#include "view.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

void confine_capabilities(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}};
    // Otherwise execve() gives root all capabilities back. Refused if there is nothing to lose.
    prctl(PR_SET_SECUREBITS, SECURE_ALL_BITS | SECURE_ALL_LOCKS, 0, 0, 0);
    syscall(SYS_capset, &header, none);
}

// The build machine's headers may be older than the running kernel.
enum {
    CREATE_RULESET = 444,
    ADD_RULE = 445,
    RESTRICT_SELF = 446,
    PATH_BENEATH = 1,
};

#define EXECUTE (1ULL << 0)
#define WRITE_FILE (1ULL << 1)
#define READ_FILE (1ULL << 2)
#define READ_DIRECTORY (1ULL << 3)
#define TRUNCATE (1ULL << 14)

struct ruleset {
    uint64_t files, network, scopes;
};

struct beneath {
    uint64_t allowed;
    int32_t directory;
} __attribute__((packed));

int swprogram_landlock(void) {
    long version = syscall(CREATE_RULESET, NULL, 0, 1);
    return version > 0 ? (int)version : 0;
}

// All rights of this version.
static struct ruleset all_rights(int version) {
    static const int rights[] = {0, 13, 14, 15, 15, 16};
    return (struct ruleset){
        .files = (1ULL << rights[version < 5 ? version : 5]) - 1,
        .network = version >= 4 ? 3 : 0,
        // Abstract sockets and signals.
        .scopes = version >= 6 ? 3 : 0,
    };
}

// A path that cannot be opened is left out, and so not readable.
static void allow_at(int ruleset, int place, uint64_t rights) {
    struct beneath rule = {.allowed = rights, .directory = place};
    if (place < 0) return;
    if (syscall(ADD_RULE, ruleset, PATH_BENEATH, &rule, 0) != 0 && errno == EINVAL) {
        // It is not a directory.
        rule.allowed &= EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE;
        syscall(ADD_RULE, ruleset, PATH_BENEATH, &rule, 0);
    }
    close(place);
}

static void allow(int ruleset, const char *path, int flags, uint64_t rights) {
    allow_at(ruleset, open(path, flags | O_PATH | O_CLOEXEC), rights);
}

// If /proc shows other processes, a program gets its own directory, but not its children's, whose
// numbers are not known yet, and files that tell nothing about processes.
static const char *const own_facts[] = {
    "/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", NULL};

#define READING (EXECUTE | READ_FILE | READ_DIRECTORY)

static void allow_reading(int ruleset, const char *const *path, int flags) {
    for (; *path; path++) allow(ruleset, *path, flags, READING);
}

int confine_files(const struct swprogram *program, const struct confinement *confinement) {
    static const char *const root[] = {"/", NULL}, *const proc[] = {"/proc", NULL};
    int version = swprogram_landlock();
    if (version == 0 || program->without & SWPROGRAM_LANDLOCK) return 0;
    struct ruleset all = all_rights(version);
    size_t size = version >= 6 ? sizeof all : version >= 4 ? 16 : 8;
    int ruleset = (int)syscall(CREATE_RULESET, &all, size, 0);
    if (ruleset < 0) return 0;
    if (confinement->has_view) {
        allow_reading(ruleset, root, 0);
    } else {
        allow_reading(ruleset, view_places, 0);
        // A link is allowed by itself alone.
        allow_reading(ruleset, program->places, O_NOFOLLOW);
        for (const char *const *path = program->reads; *path; path++)
            allow_at(ruleset, view_open_unlinked(*path), READING);
        allow_reading(ruleset, confinement->has_proc ? proc : own_facts, 0);
    }
    allow(ruleset, program->temporary, 0, all.files);
    allow(ruleset, "/dev/null", 0, all.files & (READ_FILE | WRITE_FILE | TRUNCATE));
    int holds = syscall(RESTRICT_SELF, ruleset, 0) == 0;
    close(ruleset);
    return holds ? version : 0;
}
