// SPDX-License-Identifier: MIT
// Takes memory by what is not a mapped page of the process that is looked at: by what the kernel
// keeps for a descriptor, a mapping or a call. Each says `+N` for N bytes that it surely holds.
#define _GNU_SOURCE
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

enum { BODY = 4, MIB = 1 << 20, PROCESSES = 40, STACK = 64 << 10, ROUNDS = 12, SECONDS = 5 };

#define PAGE sysconf(_SC_PAGESIZE)

static char piece[256 << 10];

static void claim(long amount) { dprintf(BODY, "+%ld\n", amount); }

static void hold(void) {
    dprintf(BODY, "@ held %d\n", errno);
    usleep(500000);
    dprintf(BODY, "@ end\n");
}

static void in_processes(void (*take)(void)) {
    for (int count = 0; count < PROCESSES; count++) {
        if (fork() == 0) {
            take();
            sleep(SECONDS);
            _exit(0);
        }
    }
    usleep(2500000);
    hold();
}

static int descriptors_max(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? (int)limit.rlim_cur : 64;
}

static int new_file(void) {
    static int number;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/h%d-%d", getenv("TMPDIR"), getpid(), number++);
    int file = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    unlink(path);
    return file;
}

// MARK: Mappings

// All pages but one of each piece are unmapped again; those of a shared mapping stay.
static void tear(int rights, int flags, int file) {
    for (int round = 0; round < ROUNDS; round++) {
        volatile char *memory = mmap(NULL, 32 * MIB, rights, flags, file, 0);
        if (memory == MAP_FAILED) return;
        for (long offset = 0; offset < 32 * MIB; offset += PAGE) {
            if (rights & PROT_WRITE) memory[offset] = 1; else (void)memory[offset];
        }
        munmap((char *)memory + PAGE, 32 * MIB - PAGE);
        claim(32 * MIB);
    }
}
static void torn(void) {
    tear(PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
    hold();
}
static void torn_zero(void) {
    int file = open("/dev/zero", O_RDONLY);
    if (file >= 0) tear(PROT_READ, MAP_SHARED, file);
    hold();
}

// A page of each large one stays, and with it all of that.
static void torn_large(void) {
    prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
    for (int round = 0; round < 100; round++) {
        char *memory =
            mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) break;
        char *large = (char *)(((uintptr_t)memory + 2 * MIB - 1) & ~(uintptr_t)(2 * MIB - 1));
        madvise(large, 2 * MIB, MADV_HUGEPAGE);
        unsigned char is_there[512];
        large[0] = 1;
        // All of it is there at once where it is large.
        if (mincore(large, 2 * MIB, is_there) != 0 || !(is_there[511] & 1)) break;
        munmap(memory, (size_t)(large - memory));
        munmap(large + PAGE, (size_t)(memory + 4 * MIB - large - PAGE));
        claim(2 * MIB);
    }
    hold();
}

// A file without a name and without a descriptor, of which one page is mapped.
static void mapped_files(void) {
    for (int round = 0; round < ROUNDS; round++) {
        int file = new_file();
        long bytes = 0;
        while (bytes < 24 * MIB && write(file, piece, sizeof piece) == sizeof piece)
            bytes += sizeof piece;
        if (mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, file, 0) == MAP_FAILED) break;
        close(file);
        claim(bytes);
    }
    hold();
}

// Each page far from the others needs tables of its own: two of 4 KiB, or one that is larger.
static void take_tables(void) {
    for (uintptr_t round = 0; round < 4000; round++) {
        void *place = (void *)((round + 64) << 30);
        void *page = mmap(place, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        if (page == MAP_FAILED) break;
        if (*(volatile char *)page == 0 && round % 100 == 99)
            claim((PAGE == 4096 ? 2 : 1) * 100 * PAGE);
    }
}
static void tables(void) { in_processes(take_tables); }

// Neighbours of different rights are mappings of their own.
static void take_mappings(void) {
    char *memory = mmap(NULL, 40 * MIB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (long page = 0; memory != MAP_FAILED && page < 40 * MIB / PAGE; page += 2) {
        if (mprotect(memory + page * PAGE, PAGE, PROT_NONE) != 0) break;
        // Two of at least 250 bytes.
        if (page % 200 == 198) claim(100 * 2 * 250);
    }
}
static void mappings(void) { in_processes(take_mappings); }

// MARK: Descriptors

static void fill(int socket, int size) {
    long bytes = 0, count;
    if (size) setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    while ((count = write(socket, piece, sizeof piece)) > 0 || (count < 0 && errno == EINTR))
        bytes += count;
    claim(bytes);
}
static void take_sockets(int size) {
    int ends[2];
    while (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0) {
        fill(ends[0], size);
        fill(ends[1], size);
    }
}
static void take_usual_sockets(void) { take_sockets(0); }
static void take_large_sockets(void) { take_sockets(1 << 30); }
static void usual_sockets(void) { in_processes(take_usual_sockets); }
static void large_sockets(void) { in_processes(take_large_sockets); }

// As many as there can be, before any is filled: each counts with all that it can hold.
static void take_empty_sockets(void) {
    int ends[2];
    while (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0) claim(2 * 208 << 10);
}
static void empty_sockets(void) { in_processes(take_empty_sockets); }

static void take_usual_pipes(void) {
    int ends[2];
    while (pipe2(ends, O_NONBLOCK) == 0) {
        ssize_t count = write(ends[1], piece, sizeof piece);
        if (count > 0) claim(count);
    }
}
static void usual_pipes(void) { in_processes(take_usual_pipes); }

// 96 pipes: much where each is 1 MiB, as with pages of 64 KiB.
static void few_pipes(void) {
    for (int process = 0; process < 4; process++) {
        if (fork() == 0) {
            for (int ends[2], count = 0; count < 24 && pipe(ends) == 0; count++) {}
            sleep(SECONDS);
            _exit(0);
        }
    }
    usleep(500000);
    hold();
}

// One byte of each page goes into the socket, which keeps all of it.
static void sent_pages(void) {
    int ends[2];
    for (int round = 0; round < 20; round++) {
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0) break;
        int file = new_file();
        long sent = 0;
        for (off_t offset = 0; offset < MIB; sent++) {
            if (pwrite(file, piece, 1, offset) != 1 || sendfile(ends[0], file, &offset, 1) != 1)
                break;
            offset += PAGE - 1;
        }
        ftruncate(file, 0);
        close(file);
        // Beside the page, what is known of a piece.
        claim(sent * (PAGE + 1024));
        if (sent == 0) break;
    }
    hold();
}

// Locks of single bytes, from the last to the first: each goes to the head of the list.
static void take_locks(void) {
    for (int file; (file = new_file()) >= 0;) {
        for (int count = 0; count < 1000; count++) {
            struct flock lock = {.l_type = F_WRLCK, .l_start = 2 * (1000 - count), .l_len = 1};
            if (fcntl(file, F_SETLK, &lock) != 0) return;
        }
        claim(1000 * 200);
    }
}
static void locks(void) { in_processes(take_locks); }

static void take_watches(void) {
    int most = descriptors_max() - 10, count = 0;
    int copies = timerfd_create(CLOCK_MONOTONIC, 0);
    while (count < most / 2 && dup(copies) >= 0) count++;
    for (int watcher; (watcher = epoll_create1(0)) >= 0;) {
        int added = 0;
        for (int file = copies; file < copies + count; file++) {
            struct epoll_event event = {.events = EPOLLIN};
            added += epoll_ctl(watcher, EPOLL_CTL_ADD, file, &event) == 0;
        }
        claim(added * 200);
    }
}
static void watches(void) { in_processes(take_watches); }

// What was printed and is not yet read stays with the descriptor, and each lock is a line of it.
static void half_read(void) {
    char path[64], byte;
    int file = new_file();
    for (int count = 0; count < 10000; count++) {
        struct flock lock = {.l_type = F_WRLCK, .l_start = 2 * (10000 - count), .l_len = 1};
        if (fcntl(file, F_SETLK, &lock) != 0) break;
    }
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", file);
    for (int facts; (facts = open(path, O_RDONLY)) >= 0;)
        if (read(facts, &byte, 1) == 1) claim(512 << 10);
    hold();
}

static void take_rulesets(void) {
    uint64_t handled[2] = {0, 3};
    for (int ruleset; (ruleset = (int)syscall(444, handled, sizeof handled, 0)) >= 0;) {
        int rules = 0;
        for (uint64_t port = 0; port < 20000; port++) {
            uint64_t rule[2] = {1, port};
            rules += syscall(445, ruleset, 2, rule, 0) == 0;
        }
        claim(rules * 64L);
        if (rules == 0) break;
    }
}
static void rulesets(void) { in_processes(take_rulesets); }

// A process that shares its descriptors leaves one behind, which holds its filter.
static int leave_listener(void *unused) {
    (void)unused;
    static struct sock_filter lines[4000];
    for (int line = 0; line < 4000; line++)
        lines[line] = (struct sock_filter){BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
    struct sock_fprog filter = {4000, lines};
    long descriptor =
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 8 /* a listener */, &filter);
    _exit(descriptor < 0);
}
static void take_listeners(void) {
    static char stack[STACK];
    for (int count = 0; count < descriptors_max(); count++) {
        int status = 1;
        pid_t child = clone(leave_listener, stack + STACK, CLONE_FILES | SIGCHLD, NULL);
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0) break;
        claim(80 << 10);
    }
}
static void listeners(void) { in_processes(take_listeners); }

// MARK: Threads

static long taken;
static char *taken_memory;

static int take_and_wait(void *unused) {
    (void)unused;
    // The first thread is gone by then.
    usleep(20000);
    for (taken = 0; taken < 40 * MIB; taken += PAGE) taken_memory[taken] = 1;
    claim(taken);
    sleep(SECONDS);
    return 0;
}
enum { THREAD = CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM };

// A process whose first thread has ended says nothing of itself.
static void take_headless(void) {
    static char stack[STACK];
    taken_memory =
        mmap(NULL, 40 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (taken_memory == MAP_FAILED) return;
    if (clone(take_and_wait, stack + STACK, THREAD | CLONE_FILES, NULL) > 0)
        syscall(SYS_exit, 0);
}
static void headless(void) { in_processes(take_headless); }

// A thread with descriptors of its own has files that those of the process do not show.
static int fill_and_wait(void *unused) {
    (void)unused;
    for (int round = 0; round < ROUNDS; round++) {
        int file = new_file();
        long bytes = 0;
        while (bytes < 24 * MIB && write(file, piece, sizeof piece) == sizeof piece)
            bytes += sizeof piece;
        claim(bytes);
    }
    sleep(SECONDS);
    return 0;
}
static void thread_files(void) {
    static char stack[STACK];
    if (clone(fill_and_wait, stack + STACK, THREAD, NULL) > 0) usleep(1500000);
    hold();
}

// A program that cannot be read does not show its descriptors; here it is this one, once more,
// under the name that a program has while it begins.
static void unreadable(void) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/smallweb-plugin", getenv("TMPDIR"));
    int from = open("/proc/self/exe", O_RDONLY), to = open(path, O_CREAT | O_WRONLY, 0111);
    long count;
    while ((count = read(from, piece, sizeof piece)) > 0)
        if (write(to, piece, (size_t)count) != count) return;
    close(to);
    setenv("SMALLWEB_PATH", "/unlinked", 1);
    execl(path, path, (char *)NULL);
    hold();
}

// A process may have any number of slots for its locks.
static void take_slots(void) {
    if (prctl(78 /* PR_FUTEX_HASH */, 1, 1 << 18, 0, 0) == 0) claim(64L << 18);
}
static void slots(void) { in_processes(take_slots); }

// Whoever waits for a pause between children that end does not get one.
static void make_orphans(void) {
    for (pid_t child;;) {
        if ((child = fork()) == 0) {
            fork();
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
}
static void take_slowly(void) {
    for (int count = 0; count < 40; count++) {
        void *memory = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) return;
        memset(memory, 1, MIB);
        claim(MIB);
        usleep(5000);
    }
}
static void orphans(void) {
    for (int count = 0; count < 3; count++)
        if (fork() == 0) make_orphans();
    in_processes(take_slowly);
}

const struct bound holds[] = {
    {"torn", torn}, {"torn-zero", torn_zero}, {"torn-large", torn_large},
    {"mapped-files", mapped_files}, {"tables", tables}, {"mappings", mappings},
    {"usual-sockets", usual_sockets},
    {"empty-sockets", empty_sockets}, {"large-sockets", large_sockets},
    {"usual-pipes", usual_pipes}, {"few-pipes", few_pipes}, {"sent-pages", sent_pages},
    {"locks", locks},
    {"watches", watches}, {"half-read", half_read}, {"rulesets", rulesets},
    {"listeners", listeners}, {"headless", headless},
    {"thread-files", thread_files}, {"unreadable", unreadable}, {"slots", slots},
    {"orphans", orphans}, {NULL, NULL},
};
