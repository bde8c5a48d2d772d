// SPDX-License-Identifier: MIT
// A starter: a process that starts the programs of one plugin, after the first. It is faster to
// copy than smallweb, since its memory is small. It has the parts that programs may share, a
// network namespace and the user namespace that owns it. Each program gets a copy of its file
// system.
#ifndef STARTER_H
#define STARTER_H

#include "CSmallWebProgram.h"

#include <sys/types.h>

// Makes the supervisor of a program in a starter, as a child of smallweb. Returns it, or -1.
typedef pid_t starter_make(const struct swprogram *program, int report, int parent_end);

// Asks a starter for a program, as swprogram_start() does. The visible files are the starter's, not
// `program`'s. Returns 0, EMSGSIZE for too many or too long arguments, or another errno.
int starter_ask(int starter, const struct swprogram *program, int report);

// Makes a starter whose programs see the files that `program` sees. It ends with the calling
// thread, or when its descriptor is closed. Returns 1, or 0 if the kernel does not allow it.
int starter_open(
    const struct swprogram *program, int parent_end, starter_make *make,
    struct swprogram_starter *opened);

#endif
