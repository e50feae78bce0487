/* times.h - the inside of a table of times: rows of a CSV or JSON file, as they are, checked one by one.
 *
 * Both readers hand over cells as text, column by column; times.c knows what each column means. */
#ifndef REPLAY_TIMES_H
#define REPLAY_TIMES_H

#include "base/arena.h"
#include "base/map.h"
#include "foretell/replay.h"

/* Longer than any step: years. */
#define TIMES_MAX_US 1e15

typedef struct text_list {
    const char **items;
    uint32_t count;
} text_list;

typedef struct times_row {
    uint64_t line;
    const char *name, *type, *engine; /* NULL: not said */
    text_list operators, after;
    double time_us; /* NaN: none that can be used */
    ft_replay_phase phase;
    int32_t priority;
    uint64_t gradient_bytes;
} times_row;

typedef enum times_column {
    COLUMN_OTHER,
    COLUMN_NAME,
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
    bool has_after, has_operators, has_phases, has_time; /* there is such a column */
    bool is_training; /* times are of whole steps of training, as predict writes them */
    times_row *rows;
    uint32_t count, capacity;
    map by_name;        /* row of a name */
    uint32_t bad_count; /* rows without a usable time */
    const char *first_bad;
};

/* What a column is called; COLUMN_OTHER for those that we do not read. */
times_column times_column_of(const char *name);
/* A row: begin, cells, end. `line` says where it is. */
ft_status times_begin(ft_times *t, uint64_t line, ft_error *error);
ft_status times_cell(ft_times *t, times_column column, const char *text, ft_error *error);
/* A list that the file has as a list. */
ft_status times_list(ft_times *t, times_column column, const text_list *list, ft_error *error);
ft_status times_end(ft_times *t, ft_error *error);

ft_status times_read_json(ft_times *t, const char *bytes, size_t size, ft_error *error); /* times_json.c */

/* The line on which each object begins that is so deep in a JSON text (1: the text itself); jansson does not tell.
 * Returns how many there are; stores at most `most`. */
uint32_t json_object_lines(const char *bytes, size_t size, uint32_t depth, uint64_t *lines, uint32_t most);

#endif
