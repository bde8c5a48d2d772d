// SPDX-License-Identifier: MIT
// Copies of this process, and the clean-up of their inherited state.
#ifndef PROCESS_H
#define PROCESS_H

#include <sched.h>
#include <sys/types.h>

// Name of the supervisor's process, and of its program's up to the end of execve().
#define SUPERVISOR_NAME "smallweb-plugin"

// clone() for a process that shares the caller's memory: the thread sanitizer's own assumes that it
// does not.
#define clone_sharing clone
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HAS_THREAD_SANITIZER
int __clone(int (*body)(void *), void *stack, int flags, void *argument, ...);
#undef clone_sharing
#define clone_sharing __clone
#endif
#endif

// Namespaces of each program's supervisor, in addition to the network's.
#define SUPERVISOR_NAMESPACES (CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNS)

// Calls `run`, which does not return, in a process with a copy of this one's memory. `flags` are
// for clone(). Returns the process, or -1.
pid_t copy_process(int flags, void (*run)(void *), void *argument);

// Resets smallweb's signal handlers by system calls alone: sigaction() of glibc 2.41 takes a lock
// for SIGABRT. If another thread held it, as posix_spawn() does, a copy would hang.
void forget_handlers(void);

// Waits for the end of a child. Returns its status, or -1.
int wait_for_process(pid_t process);

// Maps the calling process's user and group into its new user namespace.
void map_user(uid_t user, gid_t group);

// Detaches from the terminal: its signals are for smallweb, its input for the user.
void leave_terminal(void);

// Clears the arguments and the environment that smallweb was started with: /proc shows them, and
// the copy does not need them.
void forget_words(void);

// The same, and drops the heap, which is not used any more.
void forget_all(void);

// Closes `first` and all descriptors above.
void close_from(int first);

#endif
