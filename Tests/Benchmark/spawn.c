// SPDX-License-Identifier: MIT
// Starts a program again and again, so many at a time, and waits for the last:
//
//     spawn COUNT PARALLEL bare|contained PROGRAM [WORD]…
//
// "contained" gives each a supervisor in namespaces of its own, but for the network's: less than
// what must be done to contain a program, and no transfer.
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static pid_t start(char **words) {
    pid_t process;
    int error = posix_spawnp(&process, words[0], NULL, NULL, words, environ);
    if (error == 0) return process;
    fprintf(stderr, "spawn: %s: %s\n", words[0], strerror(error));
    exit(1);
}

static pid_t start_contained(char **words) {
    int flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNS | SIGCHLD;
    pid_t supervisor = (pid_t)syscall(SYS_clone, flags, 0, 0, 0, 0);
    if (supervisor == 0) {
        int status = 1;
        waitpid(start(words), &status, 0);
        _exit(status != 0);
    }
    if (supervisor > 0) return supervisor;
    perror("spawn: clone");
    exit(1);
}

int main(int count, char **words) {
    if (count < 5) return 2;
    int total = atoi(words[1]), parallel = atoi(words[2]), running = 0, status;
    int contained = strcmp(words[3], "contained") == 0;
    for (int started = 0; started < total || running > 0;) {
        if (started < total && running < parallel) {
            contained ? start_contained(words + 4) : start(words + 4);
            started++;
            running++;
        } else if (wait(&status) > 0) {
            running--;
            if (status != 0) return 1;
        }
    }
    return 0;
}
