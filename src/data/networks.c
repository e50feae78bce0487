/* networks.c - parser of the table of tasks and networks (networks.h). */
#include "data/networks.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/csv.h"
#include "base/error.h"
#include "base/input.h"

enum { MAX_COLUMNS = 64, NAME_BYTES = 512 };

static const uint64_t MAX_BYTES = 64 * 1024 * 1024;

typedef struct pair {
    const char *task, *network;
} pair;

typedef struct reading {
    networks *n;
    csv table;
    pair *pairs;
    size_t count, capacity;
    ft_error *error;
} reading;

static int by_task(const void *a, const void *b) {
    const pair *x = a, *y = b;
    int order = strcmp(x->task, y->task);
    return order != 0 ? order : strcmp(x->network, y->network);
}

static ft_status find_columns(reading *r, uint32_t *task, uint32_t *network) {
    csv_field fields[MAX_COLUMNS];
    uint32_t count;
    *task = *network = MAX_COLUMNS;
    FT_TRY(csv_row(&r->table, fields, MAX_COLUMNS, &count, r->error));
    for (uint32_t i = 0; i < count; i++) {
        if (csv_field_is(&fields[i], "task")) *task = i;
        if (csv_field_is(&fields[i], "network")) *network = i;
    }
    if (*task < MAX_COLUMNS && *network < MAX_COLUMNS) return FT_OK;
    return ft_fail(r->error, FT_ERR_FORMAT, "%s: line 1: expected the columns task and network", r->table.name);
}

static const char *keep(reading *r, const csv_field *field) {
    char text[NAME_BYTES];
    csv_unquote(field, text, sizeof text);
    return arena_copy(&r->n->memory, text, strlen(text) + 1);
}

static ft_status add_pair(reading *r, const csv_field *task, const csv_field *network) {
    if (task->length == 0 || network->length == 0 || task->length >= NAME_BYTES || network->length >= NAME_BYTES ||
        memchr(network->text, '+', network->length) != NULL)
        return ft_fail(r->error, FT_ERR_DAMAGED, "%s:%llu: expected a task and a network, without '+' in their names",
                       r->table.name, (unsigned long long)r->table.line);
    if (r->count == r->capacity) {
        size_t larger = r->capacity == 0 ? 256 : r->capacity * 2;
        pair *pairs = realloc(r->pairs, larger * sizeof *pairs);
        if (pairs == NULL) return FT_NOMEM(r->error);
        r->pairs = pairs;
        r->capacity = larger;
    }
    pair made = {keep(r, task), keep(r, network)};
    if (made.task == NULL || made.network == NULL) return FT_NOMEM(r->error);
    r->pairs[r->count++] = made;
    return FT_OK;
}

static ft_status read_rows(reading *r) {
    csv_field fields[MAX_COLUMNS];
    uint32_t task, network, count;
    FT_TRY(find_columns(r, &task, &network));
    for (;;) {
        FT_TRY(csv_row(&r->table, fields, MAX_COLUMNS, &count, r->error));
        if (count == 0) break;
        if (task >= count || network >= count)
            return ft_fail(r->error, FT_ERR_DAMAGED, "%s:%llu: the row has too few fields", r->table.name,
                           (unsigned long long)r->table.line);
        FT_TRY(add_pair(r, &fields[task], &fields[network]));
    }
    if (r->count > 0) return FT_OK;
    return ft_fail(r->error, FT_ERR_FORMAT, "%s: the table has no rows", r->table.name);
}

/* Joins the networks of each task. */
static ft_status make_lists(reading *r) {
    networks *n = r->n;
    buf list = {0};
    uint32_t tasks = 0;
    n->lists = ARENA_ARRAY(&n->memory, const char *, r->count);
    if (n->lists == NULL) return FT_NOMEM(r->error);
    qsort(r->pairs, r->count, sizeof *r->pairs, by_task);
    for (size_t i = 0; i < r->count; i++) {
        bool is_first = i == 0 || strcmp(r->pairs[i].task, r->pairs[i - 1].task) != 0;
        if (is_first) list.length = 0;
        if (!is_first && strcmp(r->pairs[i].network, r->pairs[i - 1].network) == 0) continue;
        if (!is_first) buf_char(&list, '+');
        buf_text(&list, r->pairs[i].network);
        if (i + 1 < r->count && strcmp(r->pairs[i].task, r->pairs[i + 1].task) == 0 &&
            strcmp(r->pairs[i].network, r->pairs[i + 1].network) != 0)
            continue;
        const char *kept = list.failed ? NULL : arena_copy(&n->memory, list.data, list.length + 1);
        if (kept == NULL || !map_set(&n->tasks, r->pairs[i].task, tasks)) {
            buf_free(&list);
            return FT_NOMEM(r->error);
        }
        n->lists[tasks++] = kept;
    }
    buf_free(&list);
    return FT_OK;
}

ft_status networks_read(const char *path, networks *n, ft_error *error) {
    input file;
    *n = (networks){0};
    arena_init(&n->memory, UINT64_MAX);
    map_init(&n->tasks, &n->memory);
    FT_TRY(input_open(path, MAX_BYTES, &file, error));
    reading r = {.n = n, .error = error};
    csv_init(&r.table, path, (const char *)file.bytes, file.size);
    ft_status status = read_rows(&r);
    if (status == FT_OK) status = make_lists(&r);
    free(r.pairs);
    input_close(&file);
    return status;
}

void networks_free(networks *n) {
    arena_free(&n->memory);
    *n = (networks){0};
}

const char *networks_of(const networks *n, const char *task) {
    assert(n != NULL && task != NULL);
    uint32_t number;
    return map_get(&n->tasks, task, &number) ? n->lists[number] : "";
}

bool networks_has(const char *list, const char *name) {
    size_t length = strlen(name);
    for (const char *at = list; *at != '\0';) {
        size_t size = strcspn(at, "+");
        if (size == length && memcmp(at, name, length) == 0) return true;
        at += size + (at[size] == '+');
    }
    return false;
}
