// SPDX-License-Identifier: MIT
// Runs a program contained: the code between fork and exec, with one thread, no allocation and no
// Swift. The caller's memory is only read, and no pointer is kept.
//
// smallweb starts a supervisor, which starts the program and outlives it. If the kernel allows it,
// the supervisor is the first process of a PID namespace: at its end the kernel kills all others in
// it. Otherwise it adopts orphans of the program, and kills them.
#ifndef CSMALLWEBPROGRAM_H
#define CSMALLWEBPROGRAM_H

#include <stdint.h>

#define SWPROGRAM_DESCRIPTORS 13
#define SWPROGRAM_USUAL_DESCRIPTORS 6

// Means of containment: those in force for a program, or those to leave out, for tests.
enum {
    SWPROGRAM_PIDS = 1,         // hides other processes, and ends with its supervisor
    SWPROGRAM_NETWORK = 2,      // a network namespace without an interface
    SWPROGRAM_SECCOMP = 4,      // system calls are filtered
    SWPROGRAM_LANDLOCK = 8,     // files are filtered by Landlock
    SWPROGRAM_PROC = 16,        // /proc shows its own processes alone
    SWPROGRAM_PROCESSES = 32,   // the kernel limits their number
    SWPROGRAM_USERS = 64,       // a user namespace
    SWPROGRAM_VIEW = 128,       // an own file system, with a temporary one of limited size
    SWPROGRAM_WATCH = 256,      // memory and processes are added up; too much ends the exchange
};

// The step at which starting a program failed, or its end.
enum swprogram_stage {
    SWPROGRAM_ENDED,            // no failure: it ran, and has ended
    SWPROGRAM_SET_UP,
    SWPROGRAM_FOLDER,
    SWPROGRAM_EXECUTE,
    // It ran, and was ended with all its processes for exceeding a limit.
    SWPROGRAM_MEMORY,
    SWPROGRAM_COUNT,
    // A starter's message: the supervisor is running, its process is `number`. It may come before
    // or after the rest.
    SWPROGRAM_STARTED,
};

// Limit of processes of a program and its children, threads included.
#define SWPROGRAM_PROCESSES_MAX 64

struct swprogram {
    const char *_Nullable path;  // NULL: nothing is run, only containment is reported
    const char *_Nullable const *_Nonnull arguments;    // NULL at the end, like the next three
    const char *_Nullable const *_Nonnull environment;
    const char *_Nullable const *_Nonnull places;       // readable paths beside the system's
    const char *_Nullable const *_Nonnull reads;        // the same, but never through a link
    const char *_Nonnull folder;     // working directory
    // The only writable directory: empty, or with a starter the starter's.
    const char *_Nonnull temporary;
    // By number in the program, blocking; -1 is /dev/null for 0 to 5, and closed for the others.
    int descriptors[SWPROGRAM_DESCRIPTORS];
    uint64_t processor_seconds;
    uint64_t memory_bytes;      // limit of address space, of a written file, and of the sum
    uint64_t descriptors_max;
    uint32_t without;           // means that are not used
    int starter;                // the starter's descriptor, or -1
};

// A supervisor. The caller closes `report`.
struct swprogram_supervisor {
    int process;                // 0 until a starter has reported it
    int report;                 // non-blocking; readable when the program has ended
    int is_first;               // true for the first process of a PID namespace
};

struct swprogram_report {
    int32_t stage;              // enum swprogram_stage
    int32_t number;             // a status as of waitpid(), or errno
    uint32_t holds;
};

// A process that starts programs.
struct swprogram_starter {
    int process;
    int descriptor;             // for swprogram.starter
};

// Makes a starter for programs that have the folder, places and reads of `program`: they start
// faster than from this process, and are contained like others. Their temporary directory has the
// path of `program`'s, an empty directory that is not used any more after the call. The starter
// ends with the calling thread, and no other thread may use it. Returns 1, or 0 on failure.
int swprogram_open_starter(
    const struct swprogram *_Nonnull program, struct swprogram_starter *_Nonnull starter);

// Ends a starter, without its programs, and returns when it is gone.
void swprogram_close_starter(const struct swprogram_starter *_Nonnull starter);

// Starts a program, which ends with the calling thread at the latest. Returns 0 or errno; with a
// starter also EMSGSIZE, when the program has to be started without it.
int swprogram_start(
    const struct swprogram *_Nonnull program, struct swprogram_supervisor *_Nonnull supervisor);

// Takes the report. Returns 1, 0 while there is none, or -1 when the supervisor died without one.
int swprogram_report(
    struct swprogram_supervisor *_Nonnull supervisor, struct swprogram_report *_Nonnull report);

// Ends the program and all that it has started, and returns when they are gone.
void swprogram_end(struct swprogram_supervisor *_Nonnull supervisor);

// Keeps processes of the same user from reading and tracing this one, or restores the old state.
void swprogram_guard(int begins);

// Landlock's version, or 0.
int swprogram_landlock(void);

// Paths of the system that every program may read, NULL at the end.
const char *_Nullable const *_Nonnull swprogram_places(void);

#endif
