// SPDX-License-Identifier: MIT
// What a process does to itself before it becomes the program. It may share its memory with its
// supervisor, and does not allocate.
#ifndef CONFINE_H
#define CONFINE_H

#include "CSmallWebProgram.h"

#include <sys/types.h>

// What of a program's confinement the rest depends on.
struct confinement {
    int has_view;               // its own file system: what it can see there is read-only
    int has_proc;               // /proc shows its own processes alone
    int has_pids;               // it can name no process but its own
    int landlock;               // the version that holds, or 0
};

// No capability, whatever the user is, and none to be had by running a program.
void confine_capabilities(void);

// Reads and writes only what the program may. Returns Landlock's version, or 0 where nothing of it
// holds.
int confine_files(const struct swprogram *program, const struct confinement *confinement);

// Allows the system calls that a program needs, and which do not reach out of it. Returns whether
// that holds.
int confine_calls(const struct confinement *confinement);

#endif
