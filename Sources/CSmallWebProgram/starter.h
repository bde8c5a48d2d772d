// SPDX-License-Identifier: MIT
// A starter: a process from which the programs of one plugin are started, after the first. Copies
// of it are made faster than of smallweb, since its memory is small. What programs may share it
// has, a network namespace and the user namespace that owns it, and each gets a copy of its file
// system.
#ifndef STARTER_H
#define STARTER_H

#include "CSmallWebProgram.h"

#include <sys/types.h>

// Makes the supervisor of a program in a starter, as a child of smallweb. Returns it, or -1.
typedef pid_t starter_make(const struct swprogram *program, int report, int parent_end);

// Asks a starter for a program, as swprogram_start() does. What it sees is the starter's, whatever
// `program` says. Returns 0, EMSGSIZE where it has too many words, or another errno.
int starter_ask(int starter, const struct swprogram *program, int report);

// Makes a starter, whose programs see the files that `program` sees. It ends with the calling
// thread, or when its descriptor is closed. Returns whether the kernel allows it.
int starter_open(
    const struct swprogram *program, int parent_end, starter_make *make,
    struct swprogram_starter *opened);

#endif
