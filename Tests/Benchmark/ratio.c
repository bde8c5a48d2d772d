// SPDX-License-Identifier: MIT
// Compares commands by running them in turn, so that whatever else the machine does meets all of
// them alike:
//
//     ratio ROUNDS NAME COMMAND… -- NAME COMMAND… [-- …]
//
// Each command's stdout goes to /dev/null. Prints wall time and peak memory of each, and the median
// over the rounds of the first command's time divided by each other's. Not more than 8 commands.
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

enum { commands_max = 8, rounds_max = 1000 };

extern char **environ;

struct command {
    const char *name;
    char **arguments;
    double milliseconds[rounds_max];
    long peak_kib;
};

static struct command commands[commands_max];

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static void run(struct command *command, int round, posix_spawn_file_actions_t *actions) {
    double start = now();
    pid_t child;
    int error = posix_spawnp(&child, command->arguments[0], actions, NULL, command->arguments,
        environ);
    if (error != 0) {
        fprintf(stderr, "ratio: %s: %s\n", command->arguments[0], strerror(error));
        exit(1);
    }
    int status;
    struct rusage usage;
    while (wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {}
    command->milliseconds[round] = now() - start;
    if (usage.ru_maxrss > command->peak_kib) command->peak_kib = usage.ru_maxrss;
    if (status != 0) {
        fprintf(stderr, "ratio: %s failed with wait status %d\n", command->name, status);
        exit(1);
    }
}

static int ascending(const void *left, const void *right) {
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

static double median(const double *values, int count) {
    double sorted[rounds_max];
    memcpy(sorted, values, (size_t)count * sizeof *values);
    qsort(sorted, (size_t)count, sizeof *sorted, ascending);
    return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

static void report(const struct command *command, int rounds) {
    double least = command->milliseconds[0], most = least;
    for (int round = 1; round < rounds; round++) {
        if (command->milliseconds[round] < least) least = command->milliseconds[round];
        if (command->milliseconds[round] > most) most = command->milliseconds[round];
    }
    double ratios[rounds_max];
    for (int round = 0; round < rounds; round++)
        ratios[round] = commands[0].milliseconds[round] / command->milliseconds[round];
    printf("  %-10s %9.2f %9.2f %9.2f ms  %8.1f MiB", command->name, least,
        median(command->milliseconds, rounds), most, (double)command->peak_kib / 1024);
    if (command != commands)
        printf("   %s/%s = %.2f", commands[0].name, command->name, median(ratios, rounds));
    printf("\n");
}

int main(int count, char **arguments) {
    int rounds = count > 1 ? atoi(arguments[1]) : 0;
    int total = 0;
    for (int index = 2; index < count && total < commands_max; total++) {
        commands[total].name = arguments[index++];
        commands[total].arguments = arguments + index;
        while (index < count && strcmp(arguments[index], "--") != 0) index++;
        if (index < count) arguments[index++] = NULL;
        if (commands[total].arguments[0] == NULL) total = commands_max;
    }
    if (rounds < 1 || rounds > rounds_max || total < 1 || total > commands_max) {
        fputs("usage: ratio ROUNDS NAME COMMAND... -- NAME COMMAND... [-- ...]\n", stderr);
        return 2;
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    for (int round = 0; round < rounds; round++)
        for (int index = 0; index < total; index++) run(&commands[index], round, &actions);
    printf("  %-10s %9s %9s %9s     %8s\n", "", "min", "median", "max", "peak");
    for (int index = 0; index < total; index++) report(&commands[index], rounds);
    return 0;
}
