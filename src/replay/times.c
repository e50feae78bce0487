/* times.c - tables of times: columns, rows and CSV. */
#include "replay/times.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/error.h"
#include "base/input.h"
#include "base/json_writer.h"
#include "base/text.h"

enum { MAX_FIELDS = 64 };

/* --- Columns --------------------------------------------------------------------------------------------------- */

times_column times_column_of(const char *name) {
    static const struct {
        const char *name;
        times_column column;
    } known[] = {
        {"name", COLUMN_NAME},     {"type", COLUMN_TYPE},           {"kernel", COLUMN_TYPE},
        {"engine", COLUMN_ENGINE}, {"operators", COLUMN_OPERATORS}, {"after", COLUMN_AFTER},
        {"phase", COLUMN_PHASE},   {"priority", COLUMN_PRIORITY},   {"gradient_bytes", COLUMN_BYTES},
        {"mode", COLUMN_MODE},     {"time_us", COLUMN_TIME_US},     {"time_ms", COLUMN_TIME_MS},
        {"time_s", COLUMN_TIME_S}, {"task", COLUMN_TASK},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].name, name) == 0) return known[i].column;
    return COLUMN_OTHER;
}

static ft_status row_fail(const ft_times *t, ft_error *error, const char *what, const char *text) {
    return ft_fail(error, FT_ERR_DAMAGED, "%s: line %llu: %s '%.80s'", t->path,
                   (unsigned long long)t->rows[t->count].line, what, text);
}

/* --- Rows ------------------------------------------------------------------------------------------------------ */

ft_status times_begin(ft_times *t, uint64_t line, ft_error *error) {
    if (t->count == FT_MAX_OPS) return ft_fail(error, FT_ERR_LIMIT, "%s: more than %d rows", t->path, FT_MAX_OPS);
    if (t->count == t->capacity) {
        uint32_t room = t->capacity > 0 ? 2 * t->capacity : 64;
        times_row *rows = ARENA_ARRAY(&t->memory, times_row, room);
        if (rows == NULL) return FT_NOMEM(error);
        if (t->count > 0) memcpy(rows, t->rows, t->count * sizeof *rows);
        t->rows = rows;
        t->capacity = room;
    }
    t->rows[t->count] = (times_row){.line = line, .time_us = NAN};
    return FT_OK;
}

/* Splits "a;b;c". */
static ft_status split(ft_times *t, const char *text, char separator, text_list *list, ft_error *error) {
    size_t count = 1;
    char *copy = arena_string(&t->memory, text, strlen(text));
    for (const char *at = text; *at != '\0'; at++) count += *at == separator;
    list->items = ARENA_ARRAY(&t->memory, const char *, count);
    if (copy == NULL || list->items == NULL) return FT_NOMEM(error);
    for (char *piece = copy; piece != NULL;) {
        char *end = strchr(piece, separator);
        if (end != NULL) *end++ = '\0';
        if (piece[0] != '\0') list->items[list->count++] = piece;
        piece = end;
    }
    return FT_OK;
}

/* An unusable time is counted and dropped, or, when strict, an error. */
static ft_status set_time(ft_times *t, const char *text, double scale, ft_error *error) {
    times_row *row = &t->rows[t->count];
    double value;
    t->has_time = true;
    if (text[0] == '\0') return FT_OK; /* not measured */
    bool is_number = text_double(text, strlen(text), &value);
    if (is_number && fabs(value * scale) < TIMES_MAX_US) {
        row->time_us = value * scale; /* times_end checks its sign */
        return FT_OK;
    }
    if (t->is_strict) return row_fail(t, error, "a time must be a number of microseconds, not", text);
    if (t->bad_count++ == 0)
        t->first_bad = arena_format(&t->memory, "line %llu: '%.40s'", (unsigned long long)row->line, text);
    return t->first_bad != NULL ? FT_OK : FT_NOMEM(error);
}

static ft_status set_number(ft_times *t, times_column column, const char *text, ft_error *error) {
    times_row *row = &t->rows[t->count];
    int64_t value;
    if (text[0] == '\0') return FT_OK;
    if (!text_int(text, strlen(text), &value)) return row_fail(t, error, "expected a whole number, not", text);
    if (column == COLUMN_PRIORITY) {
        if (value < -1000000 || value > 1000000)
            return row_fail(t, error, "priorities are from -1000000 to 1000000, not", text);
        row->priority = (int32_t)value;
    } else {
        if (value < 0 || value > INT64_C(1) << 50) return row_fail(t, error, "expected bytes, not", text);
        row->gradient_bytes = (uint64_t)value;
    }
    return FT_OK;
}

static ft_status set_text(ft_times *t, const char *text, const char **place, ft_error *error) {
    if (text[0] == '\0') return FT_OK;
    *place = arena_string(&t->memory, text, strlen(text));
    return *place != NULL ? FT_OK : FT_NOMEM(error);
}

ft_status times_cell(ft_times *t, times_column column, const char *text, ft_error *error) {
    times_row *row = &t->rows[t->count];
    assert(t->count < t->capacity); /* times_begin made the row */
    switch (column) {
    case COLUMN_NAME:
        return set_text(t, text, &row->name, error);
    case COLUMN_TASK:
        return row->name == NULL ? set_text(t, text, &row->name, error) : FT_OK;
    case COLUMN_TYPE:
        return set_text(t, text, &row->type, error);
    case COLUMN_ENGINE:
        return set_text(t, text, &row->engine, error);
    case COLUMN_OPERATORS:
        return split(t, text, '+', &row->operators, error);
    case COLUMN_AFTER:
        return split(t, text, ';', &row->after, error);
    case COLUMN_PHASE:
        if (text[0] != '\0' && !ft_replay_phase_parse(text, &row->phase))
            return row_fail(t, error, "expected forward, backward, exchange or update, not", text);
        if (row->phase != FT_REPLAY_FORWARD) t->has_phases = true;
        return FT_OK;
    case COLUMN_MODE:
        if (strcmp(text, "train") == 0) t->is_training = true;
        return FT_OK;
    case COLUMN_PRIORITY:
    case COLUMN_BYTES:
        return set_number(t, column, text, error);
    case COLUMN_TIME_US:
        return set_time(t, text, 1, error);
    case COLUMN_TIME_MS:
        return set_time(t, text, 1e3, error);
    case COLUMN_TIME_S:
        return set_time(t, text, 1e6, error);
    case COLUMN_OTHER:
        break;
    }
    return FT_OK;
}

ft_status times_list(ft_times *t, times_column column, const text_list *list, ft_error *error) {
    times_row *row = &t->rows[t->count];
    if (column == COLUMN_OPERATORS)
        row->operators = *list;
    else if (column == COLUMN_AFTER)
        row->after = *list;
    else
        return row_fail(t, error, "a list where a value is expected, in", row->name != NULL ? row->name : "?");
    return FT_OK;
}

/* Times must be positive. Only tables of `predict` may have zero (a kernel that costs nothing), or, without operators,
 * less. */
static bool is_time_valid(const ft_times *t, const times_row *row) {
    if (!t->has_operators) return row->time_us > 0;
    return row->operators.count == 0 || row->time_us >= 0;
}

static ft_status reject_time(ft_times *t, times_row *row, ft_error *error) {
    char text[DOUBLE_TEXT_SIZE];
    double_text(row->time_us, text);
    if (t->is_strict) return row_fail(t, error, "a time must be above zero, not", text);
    if (t->bad_count++ == 0)
        t->first_bad = arena_format(&t->memory, "line %llu: '%s'", (unsigned long long)row->line, text);
    row->time_us = NAN;
    return t->first_bad != NULL ? FT_OK : FT_NOMEM(error);
}

ft_status times_end(ft_times *t, ft_error *error) {
    times_row *row = &t->rows[t->count];
    uint32_t other;
    if (row->name == NULL && !t->has_operators) return row_fail(t, error, "the row has no", "name");
    if (!isnan(row->time_us) && !is_time_valid(t, row)) FT_TRY(reject_time(t, row, error));
    if (row->name != NULL) {
        if (!map_add(&t->by_name, row->name, t->count, &other)) return FT_NOMEM(error);
        if (other != t->count)
            return ft_fail(error, FT_ERR_DAMAGED, "%s: line %llu: '%.80s' is already in line %llu", t->path,
                           (unsigned long long)row->line, row->name, (unsigned long long)t->rows[other].line);
    }
    assert(isnan(row->time_us) || fabs(row->time_us) < TIMES_MAX_US);
    t->count++;
    return FT_OK;
}

/* --- CSV ------------------------------------------------------------------------------------------------------- */

static ft_status read_heading(ft_times *t, csv *c, times_column *columns, uint32_t *count, ft_error *error) {
    csv_field fields[MAX_FIELDS];
    char name[64];
    bool has_name = false;
    FT_TRY(csv_row(c, fields, MAX_FIELDS, count, error));
    for (uint32_t i = 0; i < *count; i++) {
        columns[i] = times_column_of(csv_unquote(&fields[i], name, sizeof name));
        if (columns[i] == COLUMN_NAME || columns[i] == COLUMN_TASK) has_name = true;
        if (columns[i] == COLUMN_OPERATORS) t->has_operators = true;
        if (columns[i] == COLUMN_AFTER) t->has_after = true;
        if (columns[i] >= COLUMN_TIME_US) t->has_time = true;
    }
    if ((has_name || t->has_operators) && (t->has_time || t->has_after)) return FT_OK;
    return ft_fail(error, FT_ERR_FORMAT, "%s: not a table of times: it needs the columns name and time_us", t->path);
}

static ft_status read_row(ft_times *t, const csv *c, const csv_field *fields, const times_column *columns,
                          uint32_t count, buf *text, ft_error *error) {
    FT_TRY(times_begin(t, c->line, error));
    for (uint32_t i = 0; i < count; i++) {
        if (columns[i] == COLUMN_OTHER) continue;
        text->length = 0;
        buf_add(text, fields[i].text, fields[i].length);
        buf_char(text, '\0');
        if (text->failed) return FT_NOMEM(error);
        if (fields[i].has_doubled_quotes) csv_unquote(&fields[i], text->data, text->length);
        FT_TRY(times_cell(t, columns[i], text->data, error));
    }
    return times_end(t, error);
}

static ft_status read_csv(ft_times *t, const char *bytes, size_t size, ft_error *error) {
    times_column columns[MAX_FIELDS];
    csv_field fields[MAX_FIELDS];
    uint32_t heading, count;
    csv c;
    buf text = {0};
    csv_init(&c, t->path, bytes, size);
    FT_TRY(read_heading(t, &c, columns, &heading, error));
    ft_status status = FT_OK;
    while (status == FT_OK) {
        status = csv_row(&c, fields, MAX_FIELDS, &count, error);
        if (status != FT_OK || count == 0) break;
        if (count != heading)
            status = ft_fail(error, FT_ERR_DAMAGED, "%s: line %llu: %u fields, but the heading has %u", t->path,
                             (unsigned long long)c.line, count, heading);
        else
            status = read_row(t, &c, fields, columns, count, &text, error);
    }
    buf_free(&text);
    return status;
}

/* --- Tables ---------------------------------------------------------------------------------------------------- */

ft_status ft_times_read_memory(const void *bytes, size_t size, const char *name, bool is_strict, ft_times **times,
                               ft_error *error) {
    FT_REQUIRE(error, name, times);
    if (size > 0) FT_REQUIRE(error, bytes);
    const char *text = bytes;
    size_t first = 0;
    ft_times *t = calloc(1, sizeof *t);
    if (t == NULL) return FT_NOMEM(error);
    arena_init(&t->memory, FT_MAX_GRAPH_BYTES);
    map_init(&t->by_name, &t->memory);
    t->is_strict = is_strict;
    t->path = arena_string(&t->memory, name, strlen(name));
    while (first < size && strchr(" \t\r\n", text[first]) != NULL && text[first] != '\0') first++;
    bool is_json = first < size && (text[first] == '{' || text[first] == '[');
    ft_status status = t->path == NULL ? FT_NOMEM(error)
                       : is_json       ? times_read_json(t, text, size, error)
                                       : read_csv(t, text, size, error);
    if (status == FT_OK && t->count == 0) status = ft_fail(error, FT_ERR_DAMAGED, "%s: a table without rows", name);
    if (status == FT_OK)
        *times = t;
    else
        ft_times_free(t);
    return status;
}

ft_status ft_times_read(const char *path, bool is_strict, ft_times **times, ft_error *error) {
    FT_REQUIRE(error, path, times);
    input in;
    FT_TRY(input_open(path, FT_MAX_UNPACKED_BYTES, &in, error));
    ft_status status = ft_times_read_memory(in.bytes, in.size, path, is_strict, times, error);
    input_close(&in);
    return status;
}

void ft_times_free(ft_times *times) {
    if (times == NULL) return;
    arena_free(&times->memory);
    free(times);
}

bool ft_times_have_operators(const ft_times *times) {
    return times != NULL && times->has_operators;
}
