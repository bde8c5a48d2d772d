// SPDX-License-Identifier: MIT
// Compares commands by running them in turn, each round beginning with the next, so that whatever
// else the machine does meets all of them alike:
//
//     ratio [-j FILE] [-c CASE] [-t TITLE] [-p PID] ROUNDS NAME COMMAND… [-- NAME COMMAND…]…
//
// Each command's stdout goes to /dev/null. Prints wall time and peak memory of each, and the median
// over the rounds of the first command's time divided by each other's. Not more than 8 commands.
//
// -j adds a line of JSON to FILE: the same, with user and system time, ratios, CASE and TITLE.
// -p adds the processor time that the process PID, the server, took meanwhile.
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { commands_max = 8, rounds_max = 1000 };

extern char **environ;

struct command {
    const char *name;
    char **arguments;
    double milliseconds[rounds_max];
    // Seconds; those of the server are of all that it did meanwhile.
    double user[rounds_max], system[rounds_max], processor[rounds_max], server[rounds_max];
    long peak_kib;
};

static struct command commands[commands_max];
static const char *server;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static double seconds(struct timeval time) {
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

// User and system time of the server so far.
static double server_seconds(void) {
    if (server == NULL) return 0;
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%s/stat", server);
    FILE *file = fopen(path, "r");
    size_t count = file == NULL ? 0 : fread(line, 1, sizeof line - 1, file);
    if (file != NULL) fclose(file);
    line[count] = '\0';
    // The second field, a name in brackets, may hold anything.
    const char *rest = strrchr(line, ')');
    unsigned long user, system;
    if (rest == NULL || sscanf(rest, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
            &user, &system) != 2) {
        fprintf(stderr, "ratio: no process %s\n", server);
        exit(1);
    }
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static void run(struct command *command, int round, posix_spawn_file_actions_t *actions) {
    double before = server_seconds(), start = now();
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
    command->user[round] = seconds(usage.ru_utime);
    command->system[round] = seconds(usage.ru_stime);
    command->processor[round] = command->user[round] + command->system[round];
    command->server[round] = server_seconds() - before;
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

static double median_ratio(const double *first, const double *other, int rounds) {
    double ratios[rounds_max];
    for (int round = 0; round < rounds; round++) ratios[round] = first[round] / other[round];
    return median(ratios, rounds);
}

static double least(const double *values, int count) {
    double found = values[0];
    for (int index = 1; index < count; index++)
        if (values[index] < found) found = values[index];
    return found;
}

static double most(const double *values, int count) {
    double found = values[0];
    for (int index = 1; index < count; index++)
        if (values[index] > found) found = values[index];
    return found;
}

static void report(const struct command *command, int rounds) {
    const double *times = command->milliseconds;
    printf("  %-10s %9.2f %9.2f %9.2f ms  %8.1f MiB", command->name, least(times, rounds),
        median(times, rounds), most(times, rounds), (double)command->peak_kib / 1024);
    if (command != commands)
        printf("   %s/%s = %.2f", commands[0].name, command->name,
            median_ratio(commands[0].milliseconds, times, rounds));
    printf("\n");
}

static void write_string(FILE *file, const char *name, const char *text) {
    fprintf(file, "\"%s\":\"", name);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') fputc('\\', file);
        fputc(*text, file);
    }
    fputc('"', file);
}

// What took no time that the kernel counts has no ratio.
static void write_ratio(FILE *file, const char *name, const double *first, const double *other,
    int rounds) {
    if (least(other, rounds) > 0)
        fprintf(file, ",\"%s\":%.4f", name, median_ratio(first, other, rounds));
}

static void write_json(FILE *file, const char *group, const char *title, int total, int rounds) {
    fputc('{', file);
    write_string(file, "case", group);
    fputc(',', file);
    write_string(file, "title", title);
    fprintf(file, ",\"rounds\":%d,\"commands\":[", rounds);
    for (const struct command *command = commands; command < commands + total; command++) {
        const double *times = command->milliseconds;
        fputs(command == commands ? "{" : ",{", file);
        write_string(file, "name", command->name);
        fprintf(file, ",\"milliseconds\":{\"min\":%.3f,\"median\":%.3f,\"max\":%.3f}",
            least(times, rounds), median(times, rounds), most(times, rounds));
        fprintf(file, ",\"peak_kib\":%ld,\"user_s\":%.6f,\"system_s\":%.6f", command->peak_kib,
            median(command->user, rounds), median(command->system, rounds));
        if (server != NULL) fprintf(file, ",\"server_s\":%.2f", median(command->server, rounds));
        if (command != commands) {
            write_ratio(file, "ratio", commands[0].milliseconds, times, rounds);
            write_ratio(file, "user_ratio", commands[0].user, command->user, rounds);
            write_ratio(file, "processor_ratio", commands[0].processor, command->processor,
                rounds);
        }
        fputc('}', file);
    }
    fputs("]}\n", file);
}

int main(int count, char **arguments) {
    const char *path = NULL, *group = "", *title = "";
    int option;
    // The options of the commands are theirs.
    while ((option = getopt(count, arguments, "+j:c:t:p:")) != -1) {
        if (option == 'j') path = optarg;
        if (option == 'c') group = optarg;
        if (option == 't') title = optarg;
        if (option == 'p') server = optarg;
    }
    int rounds = optind < count ? atoi(arguments[optind]) : 0;
    int total = 0;
    for (int index = optind + 1; index < count && total < commands_max; total++) {
        commands[total].name = arguments[index++];
        commands[total].arguments = arguments + index;
        while (index < count && strcmp(arguments[index], "--") != 0) index++;
        if (index < count) arguments[index++] = NULL;
        if (commands[total].arguments[0] == NULL) total = commands_max;
    }
    if (rounds < 1 || rounds > rounds_max || total < 1 || total > commands_max) {
        fputs("usage: ratio [-j FILE] [-c CASE] [-t TITLE] [-p PID] ROUNDS "
            "NAME COMMAND... -- NAME COMMAND... [-- ...]\n", stderr);
        return 2;
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    for (int round = 0; round < rounds; round++)
        for (int index = 0; index < total; index++)
            run(&commands[(index + round) % total], round, &actions);
    printf("  %-10s %9s %9s %9s     %8s\n", "", "min", "median", "max", "peak");
    for (int index = 0; index < total; index++) report(&commands[index], rounds);
    if (path != NULL) {
        FILE *file = fopen(path, "a");
        if (file != NULL) write_json(file, group, title, total, rounds);
        if (file == NULL || fclose(file) != 0) {
            perror(path);
            return 1;
        }
    }
    return 0;
}
