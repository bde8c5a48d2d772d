// SPDX-License-Identifier: MIT
// What a supervisor sees of the processes below it: their sum, and their end.
#ifndef WATCH_H
#define WATCH_H

#include "CSmallWebProgram.h"

#include <sys/types.h>

// Whether the processes below this one can be listed.
int watch_can_list(int has_proc);

// Notes the descriptors that the program was given, whose buffers do not count as its own.
void watch_given(void);

// Adds up what they use, and what is in the temporary directory. Returns 0 while that is within the
// bounds, or SWPROGRAM_MEMORY or SWPROGRAM_COUNT. `is_certain`: nothing can have been counted
// twice.
int watch_sum(const struct swprogram *program, int has_proc, int has_view, int *is_certain);

// How many processes and threads this account has.
uint64_t watch_account(void);

// Ends the group `program` and all other processes below this one, which adopts those whose parents
// are gone. Returns when none is left, or after some seconds.
void watch_end(pid_t program);

#endif
