// SPDX-License-Identifier: MIT
// Namespaces that take long to make, and which programs may share: a network namespace without an
// interface, and the user namespace that owns it.
#ifndef SHARED_H
#define SHARED_H

#include <sched.h>
#include <sys/types.h>

// For a process that shares the caller's memory, which the thread sanitizer's own clone() takes for
// one that does not.
#define clone_sharing clone
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HAS_THREAD_SANITIZER
int __clone(int (*body)(void *), void *stack, int flags, void *argument, ...);
#undef clone_sharing
#define clone_sharing __clone
#endif
#endif

// Calls `run`, which does not return, in a process with a copy of this one's memory. `flags` are
// those of clone(). Returns the process, or -1.
pid_t copy_process(int flags, void (*run)(void *), void *argument);

// Calls `make` inside of them, in a process that shares the caller's memory and ends when `make`
// returns; the caller waits for it. What `make` starts with CLONE_PARENT is the caller's child.
// Does nothing for the first program of this process, whose namespaces cost no more than these, or
// where the kernel refuses them. Returns whether `make` was called.
int shared_enter(void (*make)(void *), void *context);

// Writes who the calling process is into its new user namespace.
void map_user(uid_t user, gid_t group);

#endif
