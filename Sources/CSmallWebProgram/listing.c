// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "listing.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// A temporary directory that is deeper, or has more entries, is too large to be added up in time.
#define DEPTH_MAX 64
#define ENTRIES_MAX 20000

struct entry {
    uint64_t inode, offset;
    unsigned short length;
    unsigned char kind;
    char name[];
};

int listing_begin(struct listing *listing, int above, const char *path) {
    listing->directory = openat(above, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    listing->length = listing->position = 0;
    return listing->directory >= 0;
}

const char *listing_next(struct listing *listing) {
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

void listing_end(struct listing *listing) { close(listing->directory); }

uint64_t listing_bytes(const char *path) {
    static struct listing levels[DEPTH_MAX];
    uint64_t bytes = 0;
    int level = 0, entries = 0;
    if (!listing_begin(&levels[0], AT_FDCWD, path)) return 0;
    while (level >= 0) {
        const char *name = listing_next(&levels[level]);
        if (!name) {
            listing_end(&levels[level--]);
            continue;
        }
        struct stat facts;
        if (fstatat(levels[level].directory, name, &facts, AT_SYMLINK_NOFOLLOW) != 0) continue;
        bytes += (uint64_t)facts.st_blocks * 512;
        int is_directory = S_ISDIR(facts.st_mode);
        if (++entries == ENTRIES_MAX || (is_directory && level + 1 == DEPTH_MAX)) {
            for (; level >= 0; level--) listing_end(&levels[level]);
            return TOO_MUCH;
        }
        if (is_directory && listing_begin(&levels[level + 1], levels[level].directory, name))
            level++;
    }
    return bytes;
}
