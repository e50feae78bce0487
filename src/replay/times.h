/* times.h - tables of times: rows of a CSV or JSON file, checked one by one.
 *
 * Both readers pass cells as text, column by column; times.c interprets them. */
#ifndef REPLAY_TIMES_H
#define REPLAY_TIMES_H

#include "base/arena.h"
#include "base/map.h"
#include "foretell/replay.h"

/* An upper limit for plausible times: 30 years. */
#define TIMES_MAX_US 1e15

typedef struct text_list {
    const char **items;
    uint32_t count;
} text_list;

typedef struct times_row {
    uint64_t line;
    const char *name, *type, *engine; /* NULL: not given */
    text_list operators, after;
    double time_us; /* NaN: none usable */
    ft_replay_phase phase;
    int32_t priority;
    uint64_t gradient_bytes;
} times_row;

typedef enum times_column {
    COLUMN_OTHER,
    COLUMN_NAME,
    COLUMN_TASK, /* of a program: its name, unless there is one */
    COLUMN_TYPE,
    COLUMN_ENGINE,
    COLUMN_OPERATORS,
    COLUMN_AFTER,
    COLUMN_PHASE,
    COLUMN_PRIORITY,
    COLUMN_BYTES,
    COLUMN_MODE,
    COLUMN_TIME_US,
    COLUMN_TIME_MS,
    COLUMN_TIME_S,
} times_column;

struct ft_times {
    arena memory;
    const char *path;
    bool is_strict;
    bool has_after, has_operators, has_phases, has_time; /* the table has such a column */
    bool is_training; /* times are of whole steps of training, as predict writes them */
    times_row *rows;
    uint32_t count, capacity;
    map by_name;        /* row of a name */
    uint32_t bad_count; /* rows without a usable time */
    const char *first_bad;
};

/* The column of a name; COLUMN_OTHER for columns that are ignored. */
times_column times_column_of(const char *name);
/* A row: begin, cells, end. `line` is its line in the file. */
ft_status times_begin(ft_times *t, uint64_t line, ft_error *error);
ft_status times_cell(ft_times *t, times_column column, const char *text, ft_error *error);
/* A cell that is a list in the file. */
ft_status times_list(ft_times *t, times_column column, const text_list *list, ft_error *error);
ft_status times_end(ft_times *t, ft_error *error);

ft_status times_read_json(ft_times *t, const char *bytes, size_t size, ft_error *error); /* times_json.c */

/* The lines on which the objects at a nesting depth of a JSON text begin (1: the text itself), which jansson does not
 * report. Returns their number; stores at most `max`. */
uint32_t json_object_lines(const char *bytes, size_t size, uint32_t depth, uint64_t *lines, uint32_t max);

#endif
