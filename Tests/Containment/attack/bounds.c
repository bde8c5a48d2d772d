// SPDX-License-Identifier: MIT
// Takes memory, space and processes until it is refused or ended, and says `+N` for each N bytes
// (or processes) that it has; then the signals that would end those that watch over it.
#define _GNU_SOURCE
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

enum {
    BODY = 4,
    MIB = 1 << 20,
    TOTAL = 640,            // MiB, of all that is taken
    PROCESSES = 12,
    EACH = 40,              // MiB of a process
    SMALL = 16000,          // small files, or directories
    EMPTY = 100000,         // directories that take no blocks, but memory of the kernel
    INODE = 1024,
    FORKS = 200,
    CHAINS = 20,
    LINKS = 600,
    LINK_MICROSECONDS = 20000,
    SECONDS = 12,
};

static char piece[MIB];

static void claim(long amount) { dprintf(BODY, "+%ld\n", amount); }

// Long enough to be seen, with all that was taken.
static void hold(void) {
    dprintf(BODY, "@ held %d\n", errno);
    usleep(1500000);
    dprintf(BODY, "@ end\n");
}

static const char *name(int number) {
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%d", getenv("TMPDIR"), number);
    return path;
}

// MARK: Memory

static void touch(int flags) {
    for (int count = 0; count < EACH; count++) {
        void *memory = mmap(NULL, MIB, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) return;
        memset(memory, 1, MIB);
        claim(MIB);
    }
}

static void in_processes(void (*take)(void)) {
    for (int count = 0; count < PROCESSES; count++) {
        if (fork() == 0) {
            take();
            for (;;) pause();
        }
    }
    usleep(500000);
    hold();
}

static void take_private(void) { touch(MAP_PRIVATE); }
static void take_shared(void) { touch(MAP_SHARED); }
static void private_memory(void) { in_processes(take_private); }
static void shared_memory(void) { in_processes(take_shared); }

// 25 pipes of each process, each as large as an ordinary user may have it.
static void take_pipes(void) {
    for (int count = 0; count < 25; count++) {
        int ends[2];
        if (pipe2(ends, O_NONBLOCK) != 0) return;
        fcntl(ends[1], F_SETPIPE_SZ, MIB);
        ssize_t written = write(ends[1], piece, MIB);
        if (written > 0) claim(written);
    }
}
static void pipes(void) { in_processes(take_pipes); }

static void memory_files(void) {
    for (int count = 0; count < TOTAL; count++) {
        static int file = -1;
        if (count % 32 == 0) file = (int)syscall(SYS_memfd_create, "x", 0);
        if (file < 0 || write(file, piece, MIB) != MIB) break;
        claim(MIB);
    }
    hold();
}

// MARK: TMPDIR

static void fill(int is_unlinked) {
    int file = -1;
    for (int count = 0; count < TOTAL; count++) {
        if (count % 32 == 0) {
            if (!is_unlinked && file >= 0) close(file);
            file = open(name(count), O_CREAT | O_WRONLY, 0600);
            if (is_unlinked) unlink(name(count));
        }
        if (file < 0 || write(file, piece, MIB) != MIB) break;
        claim(MIB);
    }
    hold();
}

static void files(void) { fill(0); }
static void unlinked(void) { fill(1); }

static long blocks_of(const char *path) {
    struct stat facts;
    return stat(path, &facts) == 0 ? 512L * facts.st_blocks : 0;
}

static void small_files(void) {
    for (int count = 0; count < SMALL; count++) {
        int file = open(name(count), O_CREAT | O_WRONLY, 0600);
        if (file < 0 || write(file, piece, 4096) != 4096) break;
        close(file);
        claim(4096);
    }
    hold();
}

static void directories(void) {
    int most = EMPTY;
    for (int count = 0; count < most && mkdir(name(count), 0700) == 0; count++) {
        long bytes = blocks_of(name(count));
        if (bytes > 0) most = SMALL;
        claim(bytes > 0 ? bytes : INODE);
    }
    hold();
}

static void reserve(int mode, long each) {
    for (long total = 0; total < 1024; total += each) {
        int file = open(name((int)total), O_CREAT | O_WRONLY, 0600);
        if (file < 0 || syscall(SYS_fallocate, file, mode, 0L, each * MIB) != 0) break;
        close(file);
        claim(each * MIB);
    }
    hold();
}

static void reserved(void) { reserve(0, 32); }
static void reserved_beyond(void) { reserve(1, 1024); }

// MARK: Processes

static void forks(void) {
    for (int count = 0; count < FORKS; count++) {
        pid_t child = fork();
        if (child == 0)
            for (;;) pause();
        if (child < 0) break;
        claim(1);
    }
    hold();
}

// Each process forks the next one and ends: there are two of a chain at most.
static void chain(int links, int microseconds) {
    for (int number = 1; number < NSIG; number++) signal(number, SIG_IGN);
    setsid();
    for (time_t end = time(NULL) + SECONDS; links > 0 && time(NULL) < end; links--) {
        usleep((useconds_t)microseconds);
        if (fork() != 0) _exit(0);
    }
    _exit(0);
}

static void start_chains(int count, int links, int microseconds) {
    for (; count > 0; count--)
        if (fork() == 0) chain(links, microseconds);
}

static void chains(void) {
    start_chains(CHAINS, LINKS, LINK_MICROSECONDS);
    sleep(SECONDS);
}
static void fast_chains(void) {
    start_chains(4, 1000 * SECONDS, 1000);
    sleep(SECONDS);
}
static void left_chains(void) { start_chains(CHAINS, LINKS, LINK_MICROSECONDS); }

// Only where run.py has put smallweb into a cgroup with a bound.
static void bomb(void) {
    if (told_number("bomb") != 1) return;
    for (;;) fork();
}

// MARK: Those that watch over it

static void kill_them(void) {
    static const int numbers[] = {SIGUSR1, SIGHUP, SIGINT, SIGTERM, SIGSTOP, SIGKILL};
    pid_t smallweb = (pid_t)told_number("smallweb"), parent = getppid();
    for (unsigned index = 0; index < sizeof numbers / sizeof *numbers; index++) {
        int number = numbers[index];
        if (smallweb > 1) {
            kill(smallweb, number);
            kill(-smallweb, number);
            syscall(SYS_tkill, smallweb, number);
            syscall(SYS_tgkill, smallweb, smallweb, number);
        }
        if (parent > 0) {
            kill(parent, number);
            syscall(SYS_tgkill, parent, parent, number);
        }
        if (told_number("dedicated") == 1 && getuid() != 0) kill(-1, number);
    }
    usleep(300000);
    dprintf(BODY, "@ end\n");
}

int run_bound(const char *wanted) {
    static const struct bound bounds[] = {
        {"private", private_memory}, {"shared", shared_memory}, {"pipes", pipes},
        {"memfd", memory_files}, {"files", files}, {"unlinked", unlinked},
        {"small-files", small_files}, {"directories", directories}, {"fallocate", reserved},
        {"fallocate-beyond", reserved_beyond}, {"forks", forks}, {"chains", chains},
        {"fast-chains", fast_chains}, {"left-chains", left_chains}, {"bomb", bomb},
        {"kill", kill_them},
    };
    for (const struct bound *bound = holds; bound->name; bound++) {
        if (strcmp(bound->name, wanted) != 0) continue;
        bound->run();
        return 1;
    }
    for (unsigned index = 0; index < sizeof bounds / sizeof *bounds; index++) {
        if (strcmp(bounds[index].name, wanted) != 0) continue;
        memset(piece, 1, sizeof piece);
        bounds[index].run();
        return 1;
    }
    return 0;
}
