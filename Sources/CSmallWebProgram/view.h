// SPDX-License-Identifier: MIT
// The file system that a program sees.
#ifndef VIEW_H
#define VIEW_H

#include "CSmallWebProgram.h"

// Paths that every program may read, NULL at the end; with Landlock alone, too.
extern const char *const view_places[];

// Gives the calling process, in a mount namespace of its own, a root with `view_places`, the
// program's own places and its temporary directory, the only writable one. Returns 1, or 0 if
// nothing has changed. `has_proc` is set if there is a /proc, which shows only processes of the PID
// namespace.
int view_enter(const struct swprogram *program, int has_users, int *has_proc);

// Sets up a file system to be copied for each program: without the parts that are a program's own,
// /proc and the temporary directory. Returns 1, or 0 if the process cannot be used any more.
int view_share(const struct swprogram *program);

// Adds these parts in a copy. Returns 1, or 0 on failure.
int view_copy(const struct swprogram *program);

// Opens a path without any link in it, as a reference only. Returns a descriptor, or -1.
int view_open_unlinked(const char *path);

// Mounts a /proc of the calling process's PID namespace. Returns 1, or 0 on failure.
int view_mount_proc(const char *path, int has_users);

#endif
