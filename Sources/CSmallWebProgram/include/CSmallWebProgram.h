// SPDX-License-Identifier: MIT
// A program that is run contained: what must happen between fork and exec, where there is one
// thread, no allocation and no Swift. The caller's memory is only read, and no pointer is kept.
//
// smallweb starts a supervisor, which starts the program and outlives it. Where the kernel lets it,
// the supervisor is the first process of a PID namespace: with its end the kernel ends all others
// in it. Elsewhere it adopts what the program leaves behind, and kills that.
#ifndef CSMALLWEBPROGRAM_H
#define CSMALLWEBPROGRAM_H

#include <stdint.h>

#define SWPROGRAM_DESCRIPTORS 13
#define SWPROGRAM_USUAL_DESCRIPTORS 6

// What holds for a program; what can be done without, for tests.
enum {
    SWPROGRAM_PIDS = 1,         // sees no other processes, and ends with its supervisor
    SWPROGRAM_NETWORK = 2,      // a network namespace without an interface
    SWPROGRAM_SECCOMP = 4,      // system calls are filtered
    SWPROGRAM_LANDLOCK = 8,     // files are
    SWPROGRAM_PROC = 16,        // /proc shows its own processes alone
    SWPROGRAM_PROCESSES = 32,   // the kernel limits their number
    SWPROGRAM_USERS = 64,       // a user namespace
    SWPROGRAM_VIEW = 128,       // a file system of its own, a temporary one of limited size in it
    SWPROGRAM_WATCH = 256,      // memory and processes are added up, and the exchange is ended
};

// What failed, where a program could not be started.
enum swprogram_stage {
    SWPROGRAM_ENDED,            // nothing: it ran, and has ended
    SWPROGRAM_SET_UP,
    SWPROGRAM_FOLDER,
    SWPROGRAM_EXECUTE,
    // It ran, and was ended with all that it had started: they used more than they may.
    SWPROGRAM_MEMORY,
    SWPROGRAM_COUNT,
    // It has a supervisor, whose process is `number`: what a starter says, before or after the
    // rest.
    SWPROGRAM_STARTED,
};

// Processes of a program with its children, threads included.
#define SWPROGRAM_PROCESSES_MAX 64

struct swprogram {
    const char *_Nullable path;  // NULL: nothing is run, to learn what would hold
    const char *_Nullable const *_Nonnull arguments;    // NULL at the end, like the next three
    const char *_Nullable const *_Nonnull environment;
    const char *_Nullable const *_Nonnull places;       // what it may read beside the system's
    const char *_Nullable const *_Nonnull reads;        // the same, but never through a link
    const char *_Nonnull folder;     // where it is started
    // The only directory that it may write to: empty, or with a starter that starter's.
    const char *_Nonnull temporary;
    // Its own, which block, by their numbers; -1: /dev/null for 0 to 5, and closed for the others.
    int descriptors[SWPROGRAM_DESCRIPTORS];
    uint64_t processor_seconds;
    uint64_t memory_bytes;      // of address space, of a file that it writes, and of the sum
    uint64_t descriptors_max;
    uint32_t without;           // of what holds, what is not to be used
    int starter;                // its descriptor, or -1
};

// A supervisor. `report` is the caller's to close.
struct swprogram_supervisor {
    int process;                // 0 while a starter has not said it
    int report;                 // non-blocking; readable when the program has ended
    int is_first;               // of a PID namespace
};

struct swprogram_report {
    int32_t stage;              // enum swprogram_stage
    int32_t number;             // a status as waitpid() has it, or errno
    uint32_t holds;
};

// A process that starts programs.
struct swprogram_starter {
    int process;
    int descriptor;             // for swprogram.starter
};

// Makes a starter of programs that have the folder, places and reads of `program`: they start
// sooner than from this process, and are contained like others. Their temporary directory has the
// path of `program`'s, an empty directory that is not used any more when this has returned. The
// starter ends with the calling thread, which alone may use it. Returns whether it can be had.
int swprogram_open_starter(
    const struct swprogram *_Nonnull program, struct swprogram_starter *_Nonnull starter);

// Ends a starter, without its programs, and returns when it is gone.
void swprogram_close_starter(const struct swprogram_starter *_Nonnull starter);

// Starts a program, which ends with the calling thread at the latest. Returns 0 or errno; with a
// starter also EMSGSIZE, when it has to be started without.
int swprogram_start(
    const struct swprogram *_Nonnull program, struct swprogram_supervisor *_Nonnull supervisor);

// Takes the report. Returns 1, 0 while there is none, or -1 when the supervisor died without one.
int swprogram_report(
    struct swprogram_supervisor *_Nonnull supervisor, struct swprogram_report *_Nonnull report);

// Ends the program and all that it has started, and returns when they are gone.
void swprogram_end(struct swprogram_supervisor *_Nonnull supervisor);

// Keeps processes of the same user from reading and tracing this one, or lets them again as before.
void swprogram_guard(int begins);

// Landlock's version, or 0.
int swprogram_landlock(void);

// What of the system every program may read: paths, NULL at the end.
const char *_Nullable const *_Nonnull swprogram_places(void);

#endif
