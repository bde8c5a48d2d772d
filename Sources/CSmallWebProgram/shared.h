// SPDX-License-Identifier: MIT
// Namespaces that take long to make, and which programs may share: a network namespace without an
// interface, and the user namespace that owns it.
#ifndef SHARED_H
#define SHARED_H

#include <sched.h>
#include <sys/types.h>

// The thread sanitizer's own clone() takes a process that shares its memory for one that does not.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
int __clone(int (*body)(void *), void *stack, int flags, void *argument, ...);
#define clone __clone
#endif
#endif

// Calls `make` inside of them, in a process that shares the caller's memory and ends when `make`
// returns; the caller waits for it. What `make` starts with CLONE_PARENT is the caller's child.
// Does nothing for the first program of this process, whose namespaces cost no more than these, or
// where the kernel refuses them. Returns whether `make` was called.
int shared_enter(void (*make)(void *), void *context);

// Writes who the calling process is into its new user namespace.
void map_user(uid_t user, gid_t group);

#endif
