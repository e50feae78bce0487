/* stop.c - interruption without leaving an incomplete file. */
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "cli.h"

static volatile sig_atomic_t stop_signal;
static const char *volatile doomed_file;

static void on_signal(int number) {
    if (stop_signal != 0) {
        if (doomed_file != NULL) unlink(doomed_file);
        _exit(128 + number);
    }
    stop_signal = number;
}

void stop_install(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        struct sigaction old;
        sigaction(signals[i], NULL, &old);
        if (old.sa_handler != SIG_IGN) sigaction(signals[i], &action, NULL); /* nohup stays in force */
    }
}

bool stop_requested(void) {
    return stop_signal != 0;
}

void stop_remove_file(const char *path) {
    doomed_file = path;
}

void stop_finish(void) {
    if (stop_signal == 0) return;
    signal(stop_signal, SIG_DFL);
    raise(stop_signal);
}
