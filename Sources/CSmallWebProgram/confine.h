// SPDX-License-Identifier: MIT
// What a process does to itself before it becomes the program. It may share its memory with its
// supervisor, and does not allocate.
#ifndef CONFINE_H
#define CONFINE_H

#include "CSmallWebProgram.h"

#include <sys/types.h>

// No capability, whatever the user is, and none to be had by running a program.
void confine_capabilities(void);

// Reads and writes only what `program` names. Returns whether that holds.
int confine_files(const struct swprogram *program);

// Refuses the system calls that reach out of the program. `protected` are two processes that must
// not be sent signals, where the program can see them; NULL elsewhere. Returns whether that holds.
int confine_calls(const pid_t *protected);

#endif
