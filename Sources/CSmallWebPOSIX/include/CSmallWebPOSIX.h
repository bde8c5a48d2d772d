// SPDX-License-Identifier: MIT
// Functions that Swift's Glibc module lacks: headers, variadic calls, and a signal handler that may
// run at any moment. Nothing here allocates or keeps a pointer.
#ifndef CSMALLWEBPOSIX_H
#define CSMALLWEBPOSIX_H

#include <malloc.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/xattr.h>

// The name of an errno value, such as `ECONNREFUSED`, or NULL. Static.
const char *_Nullable swposix_error_name(int number);

// dlopen's scope flags for a library. In the release binary it binds to its own symbols first,
// without a search of the program for each; but if it `connects`, not with a preloaded library that
// connections have to go through, such as torsocks. Sanitizers, and programs that use ours as a
// library, may have to be found first, too.
int swposix_library_scope(int connects);

// The number of the first libssl that this process has loaded, such as 3, or 0.
int swposix_openssl_number(void);

// Columns of the terminal `fd`, or 0 when it is not a terminal.
int swposix_columns(int fd);

// Makes `signal_number` add 1 to the eventfd `event_fd` the first time, and kill the second time. A
// signal that was inherited as ignored (nohup) stays so; one that was inherited as blocked is
// unblocked, because some parents block all of them by accident. Returns 0, or -1 with errno.
int swposix_signal_to_event(int signal_number, int event_fd);

// Makes the first `signal_number` only be noted, unless it is ignored or noted already. Returns 1,
// or 0 if that is not done.
int swposix_note_signal(int signal_number);

// Restores the signal's default action, unless it was inherited as ignored.
void swposix_forget_signal(int signal_number);

// From now on no signal uses the eventfd.
void swposix_forget_event(void);

// The first signal that came, or 0. Async-signal-safe to read at any time.
int swposix_pending_signal(void);

// Waits until `fd` can be read. Returns 0, or -1 when one of the signals noted above comes or has
// come, also just before the call.
int swposix_wait_readable(int fd);

// Begins to count how often the process is continued after a stop, unless SIGCONT is handled.
void swposix_count_continuations(void);
int swposix_continuations(void);

// Makes a blocking call of this thread fail with EINTR once `milliseconds` have passed, and
// repeatedly from then on: until swposix_end_alarm() a call that begins late is interrupted, too.
// Returns 0, or -1 with errno: the call would then wait without an end.
int swposix_begin_alarm(long milliseconds);
void swposix_end_alarm(void);

// Number of processors that this process may use, 1 or more.
int swposix_processor_count(void);

// Leaves signals to the process to other threads. Returns 0 or an error.
int swposix_block_signals(void);

// The handlers of signals are smallweb's to set. Never called in another program, whose they are.
void swposix_own_signals(void);

// Makes writing to a pipe without a reader an error, on this thread at least.
void swposix_ignore_pipe(void);

// Makes a blocking call of `thread`, which must be running, fail with EINTR, where signals are
// smallweb's own.
void swposix_interrupt(pthread_t thread);

// Restores the default action of `signal_number` and raises it.
void swposix_die_of(int signal_number);

// The arguments of main(), as bytes: /proc, from which Swift reads them, may be missing, and Swift
// has no String for every one. Static.
int swposix_argument_count(void);
const char *_Nonnull const *_Nullable swposix_arguments(void);

// For socket(): a stream that is closed on exec. Swift does not find SOCK_STREAM if it has seen
// libcurl's header first, which includes the same one.
static const int swposix_cloexec = SOCK_CLOEXEC;
static const int swposix_stream_socket = SOCK_STREAM | SOCK_CLOEXEC;
static const int swposix_seqpacket_socket = SOCK_SEQPACKET | SOCK_CLOEXEC;

// mkostemp(), accept4() and pipe2() with O_CLOEXEC, which Swift's Glibc module lacks.
int swposix_temporary_file(char *_Nonnull name);

// A file without a name in a directory, readable and writable, closed on exec; -1 if the file
// system does not support it.
int swposix_unnamed_file(const char *_Nonnull directory);

// copy_file_range() to the current offset of `to`, within the kernel.
ssize_t swposix_copy_range(int from, off_t *_Nonnull offset, int to, size_t count);
int swposix_accept(int fd);
int swposix_socket(int family, int kind);
int swposix_event(void);
int swposix_pipe(int ends[_Nonnull 2]);

// For recvmsg(): room for the credentials that SO_PASSCRED adds to a datagram, a struct of three
// numbers, and for nothing else.
static const size_t swposix_credentials_room = CMSG_SPACE(3 * sizeof(int));

// A descriptor that becomes readable when the child `pid` has ended, closed on exec; -1 if the
// kernel does not support it.
int swposix_pidfd_open(int pid);

// UTS #46 conversion of libidn2, whose header may be missing at build time:
// int idn2_to_ascii_8z(const char *input, char **output, int flags); output is freed with free().
typedef int (*swposix_idn2_to_ascii_8z)(
    const char *_Nonnull input, char *_Nullable *_Nonnull output, int flags);

#endif
