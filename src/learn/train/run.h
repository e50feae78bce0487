/* run.h - the folder of a training run: its files, its lock, and replacing a complete run by a new one.
 *
 *     config.json      inputs of the run: enough to repeat it
 *     log.jsonl        events, one JSON object a line; the only file with times in it
 *     checkpoint.bin   while it runs: the state to resume from
 *     predictor.ftm    the trained predictor
 *     metrics.json     its scores; written last: a run that has it is complete
 *
 * A folder appears with config.json in it. A run that replaces another one is written to NAME.next beside it and gets
 * the name when it is complete. The folder is locked while a process works in it. */
#ifndef LEARN_RUN_H
#define LEARN_RUN_H

#include <stdbool.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/json.h"
#include "foretell/status.h"

typedef struct run_folder {
    char *path;      /* the final path */
    char *work_path; /* the path until the run is complete: `path`, or "path.next" */
    int lock;        /* file descriptor of the folder, or -1 */
    FILE *log;
    int log_code; /* errno of the first line that could not be written; 0: none */
    bool is_new;  /* made by this process */
    bool is_complete;
} run_folder;

typedef struct run_mode {
    bool is_resumed; /* an interrupted run is resumed */
    bool is_forced;  /* an existing run may be replaced */
} run_mode;

/* Checks, before anything slow starts, that a run may be written to `path`. */
ft_status run_check(const char *path, const run_mode *mode, ft_error *error);
/* Makes the folder, or opens the one to resume, whose config.json must equal `config` (a JSON object). */
ft_status run_open(const char *path, const run_mode *mode, const buf *config, run_folder *run, ft_error *error);
/* Closes the folder. A folder made by this process is removed unless there is something to resume from. */
void run_close(run_folder *run);

/* The path of a file in the folder; the caller frees it. NULL when out of memory. */
char *run_file(const run_folder *run, const char *name);
/* Writes one of the files, whole or not at all. */
ft_status run_write(const run_folder *run, const char *name, const void *bytes, size_t size, ft_error *error);
/* Writes a line of the log with a timestamp; takes over the reference. run_check_log reports a failure. */
void run_log(run_folder *run, json_t *line);
ft_status run_check_log(const run_folder *run, ft_error *error);
/* Removes the files of a run, and the folder when no other file is in it. */
void run_remove(const char *folder);
/* Call when all files are written: removes the checkpoint and moves the folder to its final path. */
ft_status run_finish(run_folder *run, ft_error *error);

#endif
