// SPDX-License-Identifier: MIT
// Lists directories without allocating: the supervisor is a copy of one thread of a multithreaded
// program.
#ifndef LISTING_H
#define LISTING_H

#include <stdint.h>

struct listing {
    int directory;
    long length, position;
    char bytes[2048] __attribute__((aligned(8)));
};

// Exceeds every limit; used for contents that cannot be added up.
#define TOO_MUCH (UINT64_MAX / 4)

// Opens a directory, not through a link, by a path relative to the descriptor `above`. Returns 1,
// or 0 on failure.
int listing_begin(struct listing *listing, int above, const char *path);

// The next name, without the directory itself and the one above it; NULL at the end.
const char *listing_next(struct listing *listing);

void listing_end(struct listing *listing);

// Total size of a directory and all below it, or ``TOO_MUCH``.
uint64_t listing_bytes(const char *path);

#endif
