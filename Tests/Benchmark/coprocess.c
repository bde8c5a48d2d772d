// SPDX-License-Identifier: MIT
// Runs a program that answers lines with lines, asks the same of it again and again, and awaits
// each answer before it asks again:
//
//     coprocess COUNT LINE PROGRAM [WORD]…
//
// An answer is a record of smallweb that ends a request well; anything else fails.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int fail(const char *what) {
    fprintf(stderr, "coprocess: %s\n", what);
    return 1;
}

int main(int count, char **words) {
    if (count < 4) return 2;
    int to[2], from[2];
    if (pipe(to) != 0 || pipe(from) != 0) return fail("no pipes");
    pid_t process = fork();
    if (process == 0) {
        dup2(to[0], 0);
        dup2(from[1], 1);
        close(to[1]);
        close(from[0]);
        execvp(words[3], words + 3);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    FILE *requests = fdopen(to[1], "w"), *records = fdopen(from[0], "r");
    char *record = NULL;
    size_t capacity = 0;
    for (int left = atoi(words[1]); left > 0; left--) {
        fprintf(requests, "%s\n", words[2]);
        if (fflush(requests) != 0) return fail("it takes no requests");
        if (getline(&record, &capacity, records) < 0) return fail("it has ended");
        if (strncmp(record, "{\"type\":\"response\"", 18) != 0 || !strstr(record, "\"ok\":true"))
            return fail(record);
    }
    fclose(requests);
    int status;
    while (getline(&record, &capacity, records) >= 0) {}
    waitpid(process, &status, 0);
    return status != 0;
}
