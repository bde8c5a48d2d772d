// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { BODY = 4, SECONDS_MAX = 5 };

char target_file[PATH_MAX], target_directory[PATH_MAX], target_link[PATH_MAX];
char target_new[PATH_MAX], target_above[PATH_MAX], inside[PATH_MAX];

static const char *const everywhere[] = {"home", "data", "other", "folder", "reads", NULL};
static const char *const elsewhere[] = {"home", "data", "other", NULL};

const struct group groups[] = {
    {"contents", contents, everywhere}, {"metadata", metadata, everywhere},
    {"names", names, everywhere}, {"sights", sights, elsewhere}, {"looks", looks, NULL},
    {"descriptors", descriptors, NULL}, {"sockets", sockets, NULL}, {"signals", signals, NULL},
    {"processes", processes, NULL}, {"objects", objects, NULL}, {"kernel", kernel, NULL},
    {"reads", reads, NULL}, {"connections", connections, NULL}, {"own", own, NULL},
    {NULL, NULL, NULL},
};

static char text[1 << 16];

const char *told(const char *name) {
    static char value[PATH_MAX];
    size_t length = strlen(name);
    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        if (*line == '\n') line++;
        if (strncmp(line, name, length) == 0 && line[length] == '=') {
            snprintf(value, sizeof value, "%.*s", (int)strcspn(line + length + 1, "\n"),
                line + length + 1);
            return value;
        }
    }
    return "";
}

long told_number(const char *name) { return strtol(told(name), NULL, 10); }

long print_file(const char *path) {
    char part[8192];
    long total = 0, count;
    int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_NONBLOCK);
    if (file < 0) return -1;
    while (total < 1 << 20 && (count = read(file, part, sizeof part)) > 0) {
        total += count;
        if (write(BODY, part, (size_t)count) != count) break;
    }
    close(file);
    return total;
}

static void aim(const char *group, const char *name, const char *place) {
    char above[PATH_MAX - 256];
    snprintf(above, sizeof above, "%s", place ? told(place) : "");
    snprintf(target_above, sizeof target_above, "%s", above);
    snprintf(target_file, sizeof target_file, "%s/%s.%s.file", above, group, name);
    snprintf(target_directory, sizeof target_directory, "%s/%s.%s.dir", above, group, name);
    snprintf(target_link, sizeof target_link, "%s/%s.%s.link", above, group, name);
    snprintf(target_new, sizeof target_new, "%s/%s.%s.new", above, group, name);
    snprintf(inside, sizeof inside, "%s/%s.%s.%s", getenv("TMPDIR"), group, name,
        place ? place : "");
}

// In a process of its own, since the attempt may be its last.
static void attempt(const char *group, const struct attempt *one, const char *place) {
    const char *at = place ? "@" : "";
    if (!place) place = "";
    pid_t child = fork();
    if (child == 0) {
        alarm(SECONDS_MAX);
        errno = 0;
        int is_done = one->run() >= 0;
        dprintf(BODY, "\n@ %s/%s%s%s %s %d\n", group, one->name, at, place,
            is_done ? "done" : "refused", errno);
        _exit(0);
    }
    int status = 0;
    if (child < 0 || (waitpid(child, &status, 0) == child && WIFSIGNALED(status)))
        dprintf(BODY, "\n@ %s/%s%s%s %s %d\n", group, one->name, at, place,
            child < 0 ? "untried" : "killed", child < 0 ? errno : WTERMSIG(status));
}

static int run_group(const char *wanted) {
    for (const struct group *group = groups; group->name; group++) {
        if (strcmp(group->name, wanted) != 0) continue;
        for (const struct attempt *one = group->attempts; one->name; one++) {
            const char *const nowhere[] = {NULL, NULL};
            const char *const *place = group->places ? group->places : nowhere;
            do {
                aim(group->name, one->name, *place);
                attempt(group->name, one, *place);
            } while (*place && *++place);
        }
        dprintf(BODY, "\n@ end\n");
        return 1;
    }
    return 0;
}

// group/name, and the place where there is one.
static void list(void) {
    for (const struct group *group = groups; group->name; group++) {
        for (const struct attempt *one = group->attempts; one->name; one++) {
            if (!group->places) printf("%s/%s\n", group->name, one->name);
            for (const char *const *place = group->places; place && *place; place++)
                printf("%s/%s@%s\n", group->name, one->name, *place);
        }
    }
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "list") == 0) {
        list();
        return 0;
    }
    if (argc > 1) return help_outside(argc, argv);
    int file = open("targets", O_RDONLY);
    if (file < 0 || read(file, text, sizeof text - 1) <= 0) {
        perror("targets");
        return 2;
    }
    close(file);
    const char *path = getenv("SMALLWEB_PATH");
    if (!path || *path != '/') return 2;
    if (strcmp(path, "/first") == 0) return 0;
    if (strcmp(path, "/nothing") == 0) {
        // It is there while the others look.
        sleep(1);
        return 0;
    }
    if (strcmp(path, "/say") == 0) return say(told("say"));
    if (strcmp(path, "/then") == 0) return say(told("then"));
    if (strcmp(path, "/greet") == 0) return greet();
    if (strcmp(path, "/swapped") == 0) return print_file(told("swapped")) >= 0 ? 0 : 1;
    return run_group(path + 1) || run_bound(path + 1) ? 0 : 2;
}
