// SPDX-License-Identifier: MIT
// What is in directories, without an allocation: the supervisor is a copy of one thread of a
// program that has several.
#ifndef LISTING_H
#define LISTING_H

#include <stdint.h>

struct listing {
    int directory;
    long length, position;
    char bytes[2048] __attribute__((aligned(8)));
};

// Above every bound, as what cannot be added up is.
#define TOO_MUCH (UINT64_MAX / 4)

// Opens a directory that is not a link, by a path relative to the descriptor `above`. Returns
// whether that was possible.
int listing_begin(struct listing *listing, int above, const char *path);

// The next name, without the directory itself and the one above it; NULL at the end.
const char *listing_next(struct listing *listing);

void listing_end(struct listing *listing);

// Returns what a directory and all below it take, or a number that is above every bound.
uint64_t listing_bytes(const char *path);

#endif
