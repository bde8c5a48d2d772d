// SPDX-License-Identifier: MIT
// What run.py starts as the same user, but contained by nothing.
#define _GNU_SOURCE
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <time.h>

// A process that ends only when it is killed: all signals stay pending, where run.py reads them.
static _Noreturn int be_victim(void) {
    static char here[2 << 16];
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    printf("%ld\n", (long)(here + (1 << 16)));
    fflush(stdout);
    for (;;) pause();
}

static int make(key_t key, const char *queue) {
    int memory = shmget(key, 4096, IPC_CREAT | IPC_EXCL | 0600);
    int semaphore = semget(key, 1, IPC_CREAT | IPC_EXCL | 0600);
    int messages = msgget(key, IPC_CREAT | IPC_EXCL | 0600);
    long file = syscall(SYS_mq_open, queue, O_CREAT | O_EXCL | O_RDWR, 0600, NULL);
    printf("memory=%d\nsemaphore=%d\nmessages=%d\n", memory, semaphore, messages);
    return memory < 0 || semaphore < 0 || messages < 0 || (file < 0 && errno != ENOSYS);
}

// All that an attempt could have changed of them.
static int look(key_t key, const char *queue) {
    struct shmid_ds memory;
    struct semid_ds semaphore;
    struct msqid_ds messages;
    int is_there = shmctl(shmget(key, 0, 0), IPC_STAT, &memory) == 0
        && semctl(semget(key, 0, 0), 0, IPC_STAT, &semaphore) == 0
        && msgctl(msgget(key, 0), IPC_STAT, &messages) == 0;
    long file = syscall(SYS_mq_open, queue, O_RDWR, 0, NULL);
    if (!is_there) return puts("gone") < 0;
    printf("memory %ld %ld\nsemaphore %d %ld\nmessages %ld\nqueue %d\n", (long)memory.shm_atime,
        (long)memory.shm_lpid, semctl(semget(key, 0, 0), 0, GETVAL), (long)semaphore.sem_otime,
        (long)messages.msg_qnum, file >= 0);
    return 0;
}

static int take_away(key_t key, const char *queue) {
    char name[NAME_MAX];
    snprintf(name, sizeof name, "%s-new", queue);
    syscall(SYS_mq_unlink, name);
    shmctl(shmget(key, 0, 0), IPC_RMID, NULL);
    semctl(semget(key, 0, 0), 0, IPC_RMID);
    msgctl(msgget(key, 0), IPC_RMID, NULL);
    syscall(SYS_mq_unlink, queue);
    return 0;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

// Bytes a second that one process can take at most: of memory, and of a file in `directory`.
static int measure(const char *directory) {
    static char piece[1 << 20];
    char path[PATH_MAX];
    double start = now();
    for (int count = 0; count < 64; count++) {
        void *memory = mmap(
            NULL, sizeof piece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory != MAP_FAILED) memset(memory, 1, sizeof piece);
    }
    double middle = now();
    snprintf(path, sizeof path, "%s/speed", directory);
    int file = open(path, O_CREAT | O_WRONLY, 0600);
    for (int count = 0; count < 64; count++)
        if (write(file, piece, sizeof piece) != sizeof piece) return 1;
    unlink(path);
    printf("%.0f\n%.0f\n", 64 * sizeof piece / (middle - start),
        64 * sizeof piece / (now() - middle));
    return 0;
}

int help_outside(int argc, char **argv) {
    if (strcmp(argv[1], "victim") == 0) return be_victim();
    if (argc == 3 && strcmp(argv[1], "speed") == 0) return measure(argv[2]);
    if (argc != 4) return 2;
    key_t key = (key_t)strtol(argv[2], NULL, 10);
    if (strcmp(argv[1], "make") == 0) return make(key, argv[3]);
    if (strcmp(argv[1], "look") == 0) return look(key, argv[3]);
    return take_away(key, argv[3]);
}
