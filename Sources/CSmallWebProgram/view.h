// SPDX-License-Identifier: MIT
// The file system that a program sees.
#ifndef VIEW_H
#define VIEW_H

#include "CSmallWebProgram.h"

// What every program may read, NULL at the end; with Landlock alone, too.
extern const char *const view_places[];

// Leaves the calling process, in a mount namespace of its own, with a root
// that holds `view_places`, the program's own places and its temporary directory, the only one that
// can be written to. Returns whether that holds; otherwise nothing has changed.
// `has_proc` says whether /proc is there, which shows the processes of the PID namespace alone.
int view_enter(const struct swprogram *program, int has_users, int *has_proc);

// The same for a file system of which programs get a copy each: it lacks what is a program's alone,
// its /proc and its temporary directory. Returns whether that holds; otherwise the process is of no
// use.
int view_share(const struct swprogram *program);

// Adds that, in a copy. Returns whether that was possible.
int view_copy(const struct swprogram *program);

// Opens a path without any link in it, to name it alone. Returns a descriptor, or -1.
int view_open_unlinked(const char *path);

// Mounts a /proc of the calling process's PID namespace. Returns whether that was possible.
int view_mount_proc(const char *path, int has_users);

#endif
