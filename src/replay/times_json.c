/* times_json.c - tables of times as JSON: an object of names and times, a list of objects with the keys of the CSV, or
 * the output of `foretell predict --by-layer --format json`. */
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/num.h"
#include "replay/times.h"

uint32_t json_object_lines(const char *bytes, size_t size, uint32_t depth, uint64_t *lines, uint32_t max) {
    uint32_t found = 0, now = 0;
    uint64_t line = 1;
    bool is_text = false;
    for (size_t i = 0; i < size; i++) {
        char c = bytes[i];
        if (c == '\n') line++;
        if (is_text) {
            if (c == '\\') i++;
            if (c == '"') is_text = false;
            continue;
        }
        if (c == '"') is_text = true;
        if (c == '{' || c == '[') now++;
        if (c == '{' && now == depth && found++ < max) lines[found - 1] = line;
        if ((c == '}' || c == ']') && now > 0) now--;
    }
    return found;
}

/* The value as CSV text; "" for null. False when it is neither number nor string. */
static bool text_of(const json_t *value, char number[static DOUBLE_TEXT_SIZE], const char **text) {
    *text = number;
    number[0] = '\0';
    if (json_is_null(value)) return true;
    if (json_is_string(value)) *text = json_string_value(value);
    if (json_is_number(value)) double_text(json_number_value(value), number);
    return json_is_string(value) || json_is_number(value);
}

static ft_status read_list(ft_times *t, times_column column, const json_t *value, ft_error *error) {
    size_t count = json_array_size(value), i;
    text_list list = {.items = ARENA_ARRAY(&t->memory, const char *, count + 1)};
    const json_t *item;
    if (list.items == NULL) return FT_NOMEM(error);
    json_array_foreach(value, i, item) {
        const char *text;
        if (json_read_string(item, &text, error) != FT_OK)
            return ft_fail_prefix(error, FT_ERR_DAMAGED, "%s: row %u", t->path, t->count + 1);
        list.items[list.count] = arena_string(&t->memory, text, strlen(text));
        if (list.items[list.count++] == NULL) return FT_NOMEM(error);
    }
    return times_list(t, column, &list, error);
}

static ft_status read_row(ft_times *t, const json_t *row, uint64_t line, ft_error *error) {
    const char *key, *text;
    json_t *value;
    char number[DOUBLE_TEXT_SIZE];
    if (!json_is_object(row))
        return ft_fail(error, FT_ERR_DAMAGED, "%s: row %u is %s, but an object is expected", t->path, t->count + 1,
                       json_kind(row));
    FT_TRY(times_begin(t, line, error));
    json_object_foreach((json_t *)row, key, value) {
        times_column column = times_column_of(key);
        if (column == COLUMN_OTHER) continue;
        if (json_is_array(value))
            FT_TRY(read_list(t, column, value, error));
        else if (text_of(value, number, &text))
            FT_TRY(times_cell(t, column, text, error));
        else
            return ft_fail(error, FT_ERR_DAMAGED, "%s: row %u: '%s' is %s", t->path, t->count + 1, key,
                           json_kind(value));
    }
    return times_end(t, error);
}

/* The columns must be known before the first row is checked. */
static void find_columns(ft_times *t, const json_t *rows) {
    const json_t *row;
    size_t i;
    json_array_foreach(rows, i, row) {
        if (json_object_get(row, "operators") != NULL) t->has_operators = true;
        if (json_object_get(row, "after") != NULL) t->has_after = true;
    }
}

static ft_status read_rows(ft_times *t, const json_t *rows, const uint64_t *lines, ft_error *error) {
    const json_t *row;
    size_t i;
    find_columns(t, rows);
    json_array_foreach(rows, i, row) FT_TRY(read_row(t, row, lines != NULL ? lines[i] : i + 1, error));
    return FT_OK;
}

static ft_status read_pairs(ft_times *t, const json_t *object, ft_error *error) {
    const char *key, *text;
    json_t *value;
    char number[DOUBLE_TEXT_SIZE];
    json_object_foreach((json_t *)object, key, value) {
        if (!json_is_number(value) && !json_is_null(value))
            return ft_fail(
                error, FT_ERR_FORMAT,
                "%s: not a table of times: '%.80s' is %s; expected names and microseconds, or a list of objects",
                t->path, key, json_kind(value));
        text_of(value, number, &text);
        FT_TRY(times_begin(t, t->count + 1, error));
        FT_TRY(times_cell(t, COLUMN_NAME, key, error));
        FT_TRY(times_cell(t, COLUMN_TIME_US, text, error));
        FT_TRY(times_end(t, error));
    }
    return FT_OK;
}

static ft_status read_root(ft_times *t, const json_t *root, const char *bytes, size_t size, ft_error *error) {
    if (json_is_object(root)) return read_pairs(t, root, error);
    size_t count = json_array_size(root);
    const json_t *layers = json_object_get(json_array_get(root, 0), "layers");
    if (layers != NULL && count > 1)
        return ft_fail(error, FT_ERR_UNSUPPORTED, "%s: %zu results: a table of one model, device and batch is needed",
                       t->path, count);
    const char *mode = json_string_value(json_object_get(json_array_get(root, 0), "mode"));
    if (mode != NULL && strcmp(mode, "train") == 0) t->is_training = true;
    if (layers != NULL) return read_rows(t, layers, NULL, error);
    if (count > FT_MAX_OPS) return ft_fail(error, FT_ERR_LIMIT, "%s: more than %d rows", t->path, FT_MAX_OPS);
    uint64_t *lines = ARENA_ARRAY(&t->memory, uint64_t, count + 1);
    if (lines == NULL) return FT_NOMEM(error);
    json_object_lines(bytes, size, 2, lines, (uint32_t)count);
    return read_rows(t, root, lines, error);
}

ft_status times_read_json(ft_times *t, const char *bytes, size_t size, ft_error *error) {
    json_t *root;
    ft_status status = json_parse(bytes, size, &root, error);
    if (status != FT_OK) return ft_fail_prefix(error, status, "%s", t->path);
    status = read_root(t, root, bytes, size, error);
    json_decref(root);
    return status;
}
