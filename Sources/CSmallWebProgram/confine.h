// SPDX-License-Identifier: MIT
// Confinement that a process applies to itself before it becomes the program. It may share its
// memory with its supervisor, and does not allocate.
#ifndef CONFINE_H
#define CONFINE_H

#include "CSmallWebProgram.h"

#include <sys/types.h>

// Facts about a program's confinement that the rest depends on.
struct confinement {
    int has_view;               // its own file system: visible files are read-only
    int has_proc;               // /proc shows its own processes alone
    int has_pids;               // it can name no process but its own
    int landlock;               // Landlock's version in force, or 0
};

// Drops all capabilities, also for root, and prevents regaining them by execve().
void confine_capabilities(void);

// Restricts reading and writing to the program's files. Returns Landlock's version, or 0 if nothing
// is enforced.
int confine_files(const struct swprogram *program, const struct confinement *confinement);

// Allows the system calls that a program needs, and that do not reach out of it. Returns 1 if the
// filter is in force, else 0.
int confine_calls(const struct confinement *confinement);

// Lets this process and all below it wait for confine_grant() at each socketpair(). Returns a
// descriptor that is readable when one waits, or -1 before Linux 5.5.
int confine_pairs(void);

// Lets the next waiting process make its pair; `pairs` must be readable. Returns 1, or 0 if the
// process has gone meanwhile.
int confine_grant(int pairs);

#endif
