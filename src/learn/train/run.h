/* run.h - the folder of a training run: what is in it, who may write to it, and how it comes to an end.
 *
 *     config.json      what went in: enough to repeat the run
 *     log.jsonl        what happened, a JSON object a line; the only file with times in it
 *     checkpoint.bin   while it runs: from where it can go on
 *     predictor.ftm    the result
 *     metrics.json     how good it is; written last: a run that has it is complete
 *
 * A folder appears with its config.json in it. One that is to take the place of another is filled beside it, as
 * NAME.next, and takes the name when it is complete. The folder is locked while a process works in it. */
#ifndef LEARN_RUN_H
#define LEARN_RUN_H

#include <stdbool.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/json.h"
#include "foretell/status.h"

typedef struct run_folder {
    char *path;  /* as it is called */
    char *place; /* where it is meanwhile: `path`, or "path.next" */
    int lock;    /* an open folder, or -1 */
    FILE *log;
    int log_code; /* errno of the first line that could not be written; 0: none */
    bool is_new;  /* made by this process */
    bool is_complete;
} run_folder;

typedef struct run_wish {
    bool is_resumed; /* a run that was stopped goes on */
    bool is_forced;  /* a run that is there may be replaced */
} run_wish;

/* Whether a run may go where it is asked to; says so before anything long begins. */
ft_status run_check(const char *path, const run_wish *wish, ft_error *error);
/* Makes the folder, or opens the one to go on with, whose config.json must be the same as `config` (a JSON object). */
ft_status run_open(const char *path, const run_wish *wish, const buf *config, run_folder *run, ft_error *error);
/* Closes the folder. One that this process made is removed again unless there is something to go on from. */
void run_close(run_folder *run);

/* The path of a file in it; the caller frees it. NULL when out of memory. */
char *run_file(const run_folder *run, const char *name);
/* Writes one of its files, whole or not at all. */
ft_status run_write(const run_folder *run, const char *name, const void *bytes, size_t size, ft_error *error);
/* Writes a line of the log with the time before it; takes over the reference. A failure is kept for run_check_log. */
void run_log(run_folder *run, json_t *line);
ft_status run_check_log(const run_folder *run, ft_error *error);
/* Removes the files of a run and its folder, when nothing else is in it. */
void run_remove(const char *folder);
/* Everything is written: removes the checkpoint and gives the folder its name. */
ft_status run_finish(run_folder *run, ft_error *error);

#endif
