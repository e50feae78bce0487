/* room_main.c - runs the test files of a room, each in a process of its own, so that a crash or changed global state in
 * one leaves the others alone.
 *
 *     build/tests/graph                       all files of tests/graph
 *     build/tests/graph test_bind test_fold   these
 *     build/tests/graph --list                names them */
#include "support/room_main.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#undef main

static const room_test *find(const char *name) {
    for (size_t i = 0; i < room_test_count; i++)
        if (strcmp(room_tests[i].name, name) == 0) return &room_tests[i];
    return NULL;
}

/* The exit status of the file's process; a signal that ended it counts as a failed test. */
static int run_apart(const room_test *test) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) exit(test->run());
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) {
        printf("not ok - %s: cannot start a process\n", test->name);
        return 1;
    }
    if (WIFSIGNALED(status)) {
        printf("not ok - %s: ended by signal %d (%s)\n", test->name, WTERMSIG(status), strsignal(WTERMSIG(status)));
        return 1;
    }
    if (WEXITSTATUS(status)) printf("# %s: exit status %d\n", test->name, WEXITSTATUS(status));
    return WEXITSTATUS(status);
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (size_t i = 0; i < room_test_count; i++) puts(room_tests[i].name);
        return 0;
    }
    int failed = 0;
    for (int i = 1; i < argc; i++) {
        const room_test *test = find(argv[i]);
        if (!test) {
            fprintf(stderr, "%s: no test file '%s' (--list names them)\n", argv[0], argv[i]);
            return 2;
        }
        failed |= run_apart(test) != 0;
    }
    for (size_t i = 0; argc < 2 && i < room_test_count; i++) failed |= run_apart(&room_tests[i]) != 0;
    return failed;
}
