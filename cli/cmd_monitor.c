/* cmd_monitor.c - `foretell monitor`: how busy processor and GPUs are while a command runs. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "commands.h"

enum { EXIT_SIGNAL = 128 };

typedef struct arguments {
    output_options output;
    const char *samples_path;
    double interval_s;
    ft_monitor_options monitor;
    argument_list command;
    bool is_quiet;
} arguments;

/* --- Options ------------------------------------------------------------------------------------------------- */

static void parse_seconds(void *field, const char *text, const option_row *row, struct argp_state *state) {
    char *end;
    double seconds = strtod(text, &end);
    if (end == text || *end != '\0' || !(seconds >= 0 && seconds <= 1e9))
        argp_error(state, "--%s: '%s' is no number of seconds", row->name, text);
    *(double *)field = seconds;
}

static const option_row rows[] = {
    {.help = "Monitoring:", .group = 10},
    {"interval", "S", "seconds between two samples (0.1)", 0, POSITIVE(arguments, interval_s)},
    {"warm-up", "S", "seconds before the window of the summary (30)", 0,
     PARSED_BY(parse_seconds, arguments, monitor.warm_up_s)},
    {"window", "S", "seconds that the summary is about; 0 is all after the warm-up (30)", 0,
     PARSED_BY(parse_seconds, arguments, monitor.window_s)},
    {"samples", "FILE", "write samples to FILE as CSV, line after line", 0, TEXT(arguments, samples_path)},
    {"nvml", "FILE", "NVML's library (FORETELL_NVML, libnvidia-ml.so.1)", 0, TEXT(arguments, monitor.nvml)},
    QUIET_ROW(arguments, is_quiet, 60),
    {0},
};

static const char doc[] =
    "Monitor how busy the processor and the GPUs are, and the memory and power they take, while a command runs; "
    "without one, until the window ends.\v"
    "The summary has averages and peaks over a window after a warm-up.\n"
    "\n"
    "Examples:\n"
    "  foretell monitor --samples busy.csv -- python3 train.py\n"
    "  foretell monitor --warm-up 0 --window 10 --format json\n"
    "\n"
    "Exit status: that of the command; without one 0 all went well; 2 wrong arguments; 3 cannot open, read or write; "
    "127 the command cannot be started; 130 interrupted.";

const option_set cmd_monitor_options = {.rows = rows,
                                        .parts = {{&output_set, offsetof(arguments, output)}},
                                        .doc = doc,
                                        .args_doc = "[-- COMMAND...]",
                                        .arguments = offsetof(arguments, command)};

/* --- Running ------------------------------------------------------------------------------------------------- */

typedef struct run {
    arguments *args;
    ft_monitor *monitor;
    FILE *samples;
    pid_t child; /* 0: none, or it has ended */
    int code;    /* exit status of the command */
    ft_monitor_sample values[FT_MONITOR_DEVICES];
} run;

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static ft_status start_command(run *r) {
    const argument_list *command = &r->args->command;
    if (command->count == 0) return FT_OK;
    char **words = calloc((size_t)command->count + 1, sizeof *words);
    if (words == NULL) return cli_fail(FT_ERR_NOMEM, "out of memory");
    memcpy(words, command->items, command->count * sizeof *words);
    fflush(NULL);
    r->child = fork();
    if (r->child == 0) {
        execvp(words[0], words);
        cli_fail(FT_ERR_IO, "%s: cannot start it: %s", words[0], strerror(errno));
        _exit(127);
    }
    free(words);
    return r->child > 0 ? FT_OK : cli_fail(FT_ERR_NOMEM, "cannot start a process: %s", strerror(errno));
}

/* Whether monitoring is over: the command has ended, or the window without one. */
static bool is_over(run *r, double seconds) {
    int state;
    const ft_monitor_options *m = &r->args->monitor;
    if (stop_requested()) return true;
    if (r->args->command.count == 0) return m->window_s > 0 && seconds > m->warm_up_s + m->window_s;
    if (waitpid(r->child, &state, WNOHANG) != r->child) return false;
    r->child = 0;
    r->code = WIFSIGNALED(state) ? EXIT_SIGNAL + WTERMSIG(state) : WEXITSTATUS(state);
    return true;
}

static void wait_until(double end_s) {
    double left = end_s - now_s();
    if (left <= 0) return;
    struct timespec pause = {.tv_sec = (time_t)left, .tv_nsec = (long)((left - floor(left)) * 1e9)};
    nanosleep(&pause, NULL); /* a signal ends it early, which is meant */
}

/* Samples are at multiples of the interval; those that are missed are left out. */
static ft_status take_samples(run *r) {
    double begin = now_s(), interval = r->args->interval_s, next = interval;
    ft_error error;
    ft_status status = ft_monitor_take(r->monitor, 0, r->values, &error);
    for (double seconds = 0; status == FT_OK && !is_over(r, seconds);) {
        wait_until(begin + next);
        seconds = now_s() - begin;
        if (seconds < next) continue; /* after a signal */
        status = ft_monitor_take(r->monitor, seconds, r->values, &error);
        if (status == FT_OK && r->samples != NULL)
            status = ft_monitor_csv_sample(r->samples, r->monitor, seconds, r->values, &error);
        next = interval * (floor(seconds / interval) + 1);
    }
    return status == FT_OK ? FT_OK : cli_fail(status, "%s", error.message);
}

static ft_status open_samples(run *r) {
    const char *path = r->args->samples_path;
    if (path == NULL) return FT_OK;
    r->samples = fopen(path, "we");
    if (r->samples == NULL || fputs(ft_monitor_csv_head(), r->samples) < 0)
        return cli_fail(FT_ERR_IO, "%s: cannot write: %s", path, strerror(errno));
    return FT_OK;
}

static void note_short(const run *r) {
    ft_monitor_summary all[FT_MONITOR_DEVICES];
    bool is_short = false;
    if (r->args->is_quiet || ft_monitor_summarize(r->monitor, all, &is_short, NULL) != FT_OK || !is_short) return;
    cli_note("it ended before the warm-up of %g s: the summary is about all %u samples (--warm-up)",
             r->args->monitor.warm_up_s, all[0].samples);
}

static ft_status write_summary(run *r) {
    output out;
    ft_error error;
    ft_status status = output_open(&r->args->output, &out);
    if (status != FT_OK) return status;
    status = ft_report_monitor(out.stream, &r->args->output.style, r->monitor, &error);
    return output_end(&out, status, &error);
}

static ft_status run_monitor(run *r) {
    ft_error error;
    ft_status status = ft_monitor_open(&r->args->monitor, &r->monitor, &error);
    if (status != FT_OK) return cli_fail(status, "%s", error.message);
    if (ft_monitor_note(r->monitor)[0] != '\0' && !r->args->is_quiet) cli_note("%s", ft_monitor_note(r->monitor));
    status = open_samples(r);
    if (status == FT_OK) status = start_command(r);
    if (status == FT_OK) status = take_samples(r);
    if (r->child > 0) kill(r->child, SIGTERM); /* after a failure or a signal: it is not left behind */
    if (status == FT_OK) {
        note_short(r);
        status = write_summary(r);
    }
    if (r->samples != NULL && fclose(r->samples) != 0 && status == FT_OK)
        status = cli_fail(FT_ERR_IO, "%s: cannot write: %s", r->args->samples_path, strerror(errno));
    ft_monitor_free(r->monitor);
    return status;
}

int cmd_monitor(int argc, char **argv) {
    arguments args = {.output = output_options_default(), .interval_s = 0.1, .monitor = ft_monitor_options_default()};
    run *r = calloc(1, sizeof *r);
    if (r == NULL) return (int)cli_fail(FT_ERR_NOMEM, "out of memory");
    r->args = &args;
    options_parse(&cmd_monitor_options, argc, argv, &args);
    stop_install();
    ft_status status = run_monitor(r);
    int code = status != FT_OK ? (int)status : r->code;
    free(r);
    stop_finish();
    return code;
}
