// SPDX-License-Identifier: MIT
// The supervisor's view of the processes below it: their sum, and their end.
#ifndef WATCH_H
#define WATCH_H

#include "CSmallWebProgram.h"

#include <sys/types.h>

// Measures what a socket holds, before pairs are granted. True if the processes below this one can
// be listed.
int watch_begin(int has_proc);

// Notes the program's initial descriptors, whose buffers do not count as its own.
void watch_given(void);

// Adds up memory and processes, and the temporary directory. Returns 0 within the limits, or
// SWPROGRAM_MEMORY or SWPROGRAM_COUNT. `is_certain` is set if nothing was counted twice.
int watch_sum(const struct swprogram *program, int has_proc, int has_view, int *is_certain);

// Notes that the program has been granted a pair of sockets.
void watch_pair(void);

// False if the last sum and the pairs since exceed the limit: the next sum is due.
int watch_has_room(const struct swprogram *program);

// Number of processes and threads of this account.
uint64_t watch_account(void);

// Ends the group `program` and all other processes below this one, including orphans, which this
// process has adopted. Returns when none is left, or after some seconds.
void watch_end(pid_t program);

#endif
