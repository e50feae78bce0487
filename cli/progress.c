/* progress.c - the progress line: share done and time left. */
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

static const double WAIT_S = 2.0, REDRAW_S = 0.1;

static struct {
    bool is_on;
    bool is_visible;
    uint64_t total;
    double started_s;
    double drawn_s;
    double first_ratio; /* at the first progress_step: a resumed run starts in the middle */
} progress;

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void progress_begin(uint64_t total, bool is_quiet) {
    progress.is_on = !is_quiet && isatty(STDERR_FILENO);
    progress.total = total;
    progress.started_s = now_s();
    progress.drawn_s = 0;
    progress.first_ratio = -1;
}

/* "40 s left", "3 min left". */
static void format_time_left(double left_s, char *text, size_t size) {
    if (left_s < 90)
        snprintf(text, size, "%.0f s left", left_s);
    else if (left_s < 5400)
        snprintf(text, size, "%.0f min left", left_s / 60);
    else
        snprintf(text, size, "%.1f h left", left_s / 3600);
}

static int terminal_columns(void) {
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

/* Keeps the end of a path; characters that could be escape sequences are replaced. */
static void format_path(const char *path, size_t room, char *text, size_t size) {
    size_t length = strlen(path);
    if (room >= size) room = size - 1;
    if (length > room) path += length - room;
    size_t i = 0;
    for (; i < room && path[i] != '\0'; i++) text[i] = path[i] >= 0x20 && path[i] < 0x7f ? path[i] : '?';
    text[i] = '\0';
}

/* Not before WAIT_S, and at most once in REDRAW_S. */
static bool is_due(double now) {
    return progress.is_on && now - progress.started_s >= WAIT_S && now - progress.drawn_s >= REDRAW_S;
}

/* `from` is the ratio at which the clock was started. A negative ratio is unknown. */
static void draw(const char *head, double ratio, double from, const char *what, double now) {
    double spent = now - progress.started_s;
    char left[32] = "", line[128], path[256];
    if (ratio - from > 0.001 && ratio <= 1) format_time_left(spent * (1 - ratio) / (ratio - from), left, sizeof left);
    int length = ratio < 0 ? snprintf(line, sizeof line, "%s  ", head)
                           : snprintf(line, sizeof line, "%s%.0f %%%s%s  ", head, ratio * 100,
                                      left[0] != '\0' ? ", " : "", left);
    int room = terminal_columns() - 1 - length;
    format_path(what, room > 0 ? (size_t)room : 0, path, sizeof path);
    fprintf(stderr, "\r%s%s\033[K", line, path);
    fflush(stderr);
    progress.drawn_s = now;
    progress.is_visible = true;
}

void progress_show(uint64_t done, double part, const char *what) {
    double now = now_s();
    if (!is_due(now)) return;
    double ratio = progress.total > 0 ? ((double)done + part) / (double)progress.total : 0;
    char head[64];
    snprintf(head, sizeof head, "%llu of %llu files, ", (unsigned long long)done, (unsigned long long)progress.total);
    draw(head, ratio, 0, what, now);
}

bool progress_step(void *user, uint64_t done, uint64_t total, const char *what) {
    (void)user;
    double now = now_s(), ratio = total > 0 ? (double)done / (double)total : -1;
    char head[32] = "";
    if (total == 0) snprintf(head, sizeof head, "%llu", (unsigned long long)done);
    if (progress.first_ratio < 0) progress.first_ratio = ratio;
    if (is_due(now)) draw(head, ratio, progress.first_ratio, what != NULL ? what : "", now);
    return !stop_requested();
}

void progress_hide(void) {
    if (!progress.is_visible) return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    progress.is_visible = false;
}
