// SPDX-License-Identifier: MIT
// Copies of this process, and what they do with what they have inherited.
#ifndef PROCESS_H
#define PROCESS_H

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

// Of each program's supervisor, beside that of the network.
#define SUPERVISOR_NAMESPACES (CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNS)

// Calls `run`, which does not return, in a process with a copy of this one's memory. `flags` are
// those of clone(). Returns the process, or -1.
pid_t copy_process(int flags, void (*run)(void *), void *argument);

// Gives up smallweb's handlers of signals, by calls of the kernel alone: sigaction() of glibc 2.41
// takes a lock for SIGABRT. Where another thread had it, as posix_spawn() does, a copy would hang.
void forget_handlers(void);

// Waits for the end of a child. Returns its status, or -1.
int wait_for_process(pid_t process);

// Writes who the calling process is into its new user namespace.
void map_user(uid_t user, gid_t group);

// Lets go of the terminal: signals are for smallweb, keys for the user.
void leave_terminal(void);

// Clears the words and the environment that smallweb was started with, which /proc shows and the
// copy does not need.
void forget_words(void);

// The same, and drops the heap, which is not used any more.
void forget_all(void);

// Closes `first` and all descriptors above.
void close_from(int first);

#endif
