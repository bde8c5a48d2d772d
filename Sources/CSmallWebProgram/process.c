// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef HAS_THREAD_SANITIZER

struct copied {
    void (*run)(void *);
    void *argument;
};

static int begin_copy(void *argument) {
    struct copied *copied = argument;
    copied->run(copied->argument);
    return 1;
}

// The thread sanitizer has locks of its own. A copy would inherit locks of other threads for ever;
// only the sanitizer's clone(), which needs a stack, prevents that.
pid_t copy_process(int flags, void (*run)(void *), void *argument) {
    char stack[128 << 10] __attribute__((aligned(16)));
    struct copied copied = {run, argument};
    return clone(begin_copy, stack + sizeof stack, flags, &copied);
}

#else

pid_t copy_process(int flags, void (*run)(void *), void *argument) {
    pid_t process = (pid_t)syscall(SYS_clone, flags, 0, 0, 0, 0);
    if (process == 0) run(argument);
    return process;
}

#endif

void forget_handlers(void) {
    // The kernel's struct, whose zeros are SIG_DFL.
    static const unsigned long none[8];
    for (int number = 1; number < NSIG; number++)
        syscall(SYS_rt_sigaction, number, none, NULL, (NSIG - 1) / 8);
}

static void write_file(const char *path, const char *text) {
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0) return;
    (void)!write(file, text, strlen(text));
    close(file);
}

void map_user(uid_t user, gid_t group) {
    char line[64];
    // The files below belong to root while the process is guarded; no program runs here yet.
    prctl(PR_SET_DUMPABLE, 1);
    write_file("/proc/self/setgroups", "deny");
    snprintf(line, sizeof line, "%u %u 1", user, user);
    write_file("/proc/self/uid_map", line);
    snprintf(line, sizeof line, "%u %u 1", group, group);
    write_file("/proc/self/gid_map", line);
    prctl(PR_SET_DUMPABLE, 0);
}

int wait_for_process(pid_t process) {
    int status = -1;
    while (waitpid(process, &status, __WALL) < 0)
        if (errno != EINTR) return -1;
    return status;
}

// A new session would do it, too, but if the kernel shares the processor between sessions
// (autogroups), the program would begin by waiting for all others: milliseconds on a busy machine.
void leave_terminal(void) {
    int terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    int is_left = terminal < 0 ? errno == ENXIO : ioctl(terminal, TIOCNOTTY) == 0;
    if (terminal >= 0) close(terminal);
    if (is_left) {
        setpgid(0, 0);
    } else {
        setsid();
    }
}

// Addresses from fields 47 to 51 of /proc/self/stat.
struct layout {
    unsigned long heap, words, words_end, environment, environment_end;
};

static int find_layout(struct layout *layout) {
    char text[1024];
    int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    if (length <= 0) return 0;
    text[length] = '\0';
    // The name, in parentheses, may contain any characters.
    char *field = strrchr(text, ')');
    for (int number = 2; field && number < 47; number++) field = strchr(field + 1, ' ');
    return field
        && sscanf(field, " %lu %lu %lu %lu %lu", &layout->heap, &layout->words, &layout->words_end,
               &layout->environment, &layout->environment_end) == 5;
}

static void forget(const struct layout *layout) {
    // The environment follows the arguments.
    if (layout->words < layout->environment_end)
        memset((void *)layout->words, 0, layout->environment_end - layout->words);
}

void forget_words(void) {
    struct layout layout;
    if (find_layout(&layout)) forget(&layout);
}

void forget_all(void) {
    struct layout layout;
    if (!find_layout(&layout)) return;
    forget(&layout);
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), end = (uintptr_t)sbrk(0);
    uintptr_t begins = (layout.heap + page - 1) / page * page;
    if (begins < end) madvise((void *)begins, end - begins, MADV_DONTNEED);
}

void close_from(int first) {
#ifdef SYS_close_range
    if (syscall(SYS_close_range, first, ~0U, 0) == 0) return;
#endif
    struct rlimit open_files;
    if (getrlimit(RLIMIT_NOFILE, &open_files) != 0 || open_files.rlim_cur > 1 << 20)
        open_files.rlim_cur = 1 << 20;
    for (rlim_t number = (rlim_t)first; number < open_files.rlim_cur; number++)
        close((int)number);
}
