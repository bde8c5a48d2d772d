// SPDX-License-Identifier: MIT
// A plugin's program that tries all that a plugin must not do, by raw system calls, so that no
// library chooses another one. Each attempt has targets of its own, prepared by run.py, which looks
// from outside at what has become of them.
#ifndef ATTACK_H
#define ATTACK_H

#include <limits.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

// Returns what the system call returned: less than 0, with errno, when it was refused.
struct attempt {
    const char *name;
    long (*run)(void);
};

struct group {
    const char *name;
    const struct attempt *attempts;
    const char *const *places;  // each attempt is made in each of them; NULL: nowhere
};

extern const struct group groups[];

// Of the attempt that is made: in the directory of its place.
extern char target_file[PATH_MAX];       // a file
extern char target_directory[PATH_MAX];  // a directory, empty
extern char target_link[PATH_MAX];       // a symbolic link to the file
extern char target_new[PATH_MAX];        // nothing yet
extern char target_above[PATH_MAX];      // the directory of these
extern char inside[PATH_MAX];            // a name in TMPDIR

extern const struct attempt contents[], metadata[], names[], descriptors[], sights[], looks[],
    sockets[], signals[], processes[], kernel[], objects[], own[], reads[], connections[];

// What run.py wrote into the file `targets`; "" when it is not there.
const char *told(const char *name);
long told_number(const char *name);

// Bounds and bombs: returns whether there is one of that name.
struct bound {
    const char *name;
    void (*run)(void);
};
extern const struct bound holds[];
int run_bound(const char *name);

// Says an event of a connection. Both return the program's exit status.
int say(const char *event);
// Sends something to the server of the URL.
int greet(void);

// Prints what it can read from a file to the body. Returns the number of bytes, or -1.
long print_file(const char *path);

// What run.py runs outside of a containment: the other end of some attempts.
int help_outside(int argc, char **argv);

#endif
