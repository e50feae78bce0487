/* records.c - the table of measurements: strict parsing, canonical writing.
 *
 * Every cell is checked. A table edited by hand may contain anything, and an unnoticed wrong label costs more than
 * an error: each message names file, line and column. Repeated texts are stored once. */
#include "data/records.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/csv.h"
#include "base/error.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "data/devices.h"

static const char *const record_columns[KEY_COLUMNS] = {"graph", "name", "family",  "device", "batch",
                                                        "dtype", "mode", "setting", "part",   "source"};

static const char *const source_names[] = {"measured", "synthetic"};
static const char *const mode_names[] = {[FT_INFER] = "infer", [FT_TRAIN] = "train"};

const char *record_mode_name(ft_mode mode) {
    assert(mode == FT_INFER || mode == FT_TRAIN);
    return mode_names[mode];
}

bool record_mode_parse(const char *text, ft_mode *mode) {
    for (int i = FT_INFER; i <= FT_TRAIN; i++) {
        if (strcmp(mode_names[i], text) != 0) continue;
        *mode = (ft_mode)i;
        return true;
    }
    return false;
}

bool is_metric_name(const char *name) {
    size_t length = strlen(name);
    const char *unit = strrchr(name, '_');
    if (length >= MAX_METRIC_NAME || unit == NULL || unit[1] == '\0' || name[0] < 'a' || name[0] > 'z') return false;
    return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == length;
}

static bool ends_in(const char *text, const char *ending) {
    size_t length = strlen(text), tail = strlen(ending);
    return length >= tail && strcmp(text + length - tail, ending) == 0;
}

metric_range metric_range_of(const char *name) {
    if (ends_in(name, "_std_us")) return (metric_range){1e-12, 1e12, "from 1e-12 to 1e12 us"};
    if (ends_in(name, "_us")) return (metric_range){1e-3, 1e12, "from 0.001 to 1e12 us"};
    if (ends_in(name, "_bytes")) return (metric_range){1, 0x1p60, "from 1 to 2^60 bytes"};
    if (ends_in(name, "_ratio")) return (metric_range){1e-9, 1e6, "from 1e-9 to 1e6"};
    return (metric_range){1e-12, 1e18, "from 1e-12 to 1e18"};
}

const char *record_key(const ft_record *r, char key[static HASH_TEXT]) {
    char bytes[4 * (MAX_CELL + 1) + 64];
    const char *const texts[] = {r->name, r->family, r->device, r->setting};
    int length = snprintf(bytes, sizeof bytes, "%u %lld %d %d", r->graph, (long long)r->batch, r->dtype, r->mode);
    size_t used = (size_t)length + 1;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        size_t size = strnlen(texts[i], MAX_CELL);
        memcpy(bytes + used, texts[i], size);
        bytes[used + size] = '\0';
        used += size + 1;
    }
    return hash_text(hash_bytes(bytes, used), key);
}

/* --- Cells ------------------------------------------------------------------------------------------------------- */

typedef struct parser {
    const records_source *source;
    csv rows;
    arena *memory; /* of the result */
    arena scratch;
    records *table;
    map texts, devices, keys;
    const char **text_list; /* by the indices in `texts` and in `devices` */
    uint32_t text_count, text_capacity, row_capacity;
    ft_error *error;
} parser;

static ft_status bad_cell(const parser *p, const char *column, const csv_field *cell, const char *expected) {
    char text[48];
    return ft_fail(p->error, FT_ERR_DAMAGED, "%s: line %llu: %s is '%s'; expected %s", p->source->name,
                   (unsigned long long)p->rows.line, column, csv_unquote(cell, text, sizeof text), expected);
}

static bool reserve(arena *memory, void **items, uint32_t count, uint32_t *capacity, size_t size) {
    if (count < *capacity) return true;
    uint32_t larger = *capacity == 0 ? 256 : *capacity * 2;
    void *moved = larger > *capacity ? arena_array(memory, larger, size) : NULL;
    if (moved == NULL) return false;
    if (count > 0) memcpy(moved, *items, count * size);
    *items = moved;
    *capacity = larger;
    return true;
}

static bool add_text(parser *p, map *where, const char *key, const char *text) {
    if (!reserve(&p->scratch, (void **)&p->text_list, p->text_count, &p->text_capacity, sizeof *p->text_list))
        return false;
    p->text_list[p->text_count] = text;
    return map_set(where, key, p->text_count++);
}

static ft_status read_text(parser *p, const csv_field *cell, const char *column, const char **text) {
    char plain[MAX_CELL];
    uint32_t number;
    if (cell->length >= MAX_CELL || memchr(cell->text, '\0', cell->length) != NULL)
        return bad_cell(p, column, cell, "a text of less than 512 bytes");
    csv_unquote(cell, plain, sizeof plain);
    if (!map_get(&p->texts, plain, &number)) {
        const char *copy = arena_string(p->memory, plain, strlen(plain));
        number = p->text_count;
        if (copy == NULL || !add_text(p, &p->texts, copy, copy)) return FT_NOMEM(p->error);
    }
    *text = p->text_list[number];
    return FT_OK;
}

/* Models of a pool have no device. */
static ft_status read_device(parser *p, const csv_field *cell, const char **device) {
    const char *name = NULL;
    uint32_t number;
    FT_TRY(read_text(p, cell, "device", &name));
    *device = name;
    if (name[0] == '\0') return FT_OK;
    if (!map_get(&p->devices, name, &number)) {
        const char *canonical;
        ft_status status = device_resolve(p->source->folder, name, p->memory, &canonical, p->error);
        if (status != FT_OK)
            return ft_fail_prefix(p->error, status, "%s: line %llu: device", p->source->name,
                                  (unsigned long long)p->rows.line);
        number = p->text_count;
        if (!add_text(p, &p->devices, name, canonical)) return FT_NOMEM(p->error);
    }
    *device = p->text_list[number];
    return FT_OK;
}

static ft_status read_graph(parser *p, const csv_field *cell, uint32_t *graph) {
    char id[HASH_TEXT];
    hash128 hash;
    if (!hash_parse(cell->text, cell->length, &hash))
        return bad_cell(p, "graph", cell, "the id of a graph, 32 hexadecimal digits");
    if (!map_get(p->source->graphs, csv_unquote(cell, id, sizeof id), graph))
        return bad_cell(p, "graph", cell, "the id of a graph in graphs.ftg, which has no graph with this id");
    return FT_OK;
}

static ft_status read_metric(const parser *p, const csv_field *cell, const char *column, double *value) {
    *value = NAN;
    if (cell->length == 0) return FT_OK;
    if (!text_double(cell->text, cell->length, value) || *value <= 0)
        return bad_cell(p, column, cell, "a number above zero, or an empty cell");
    metric_range range = metric_range_of(column);
    if (*value < range.min || *value > range.max) return bad_cell(p, column, cell, range.text);
    return FT_OK;
}

static ft_status read_keywords(parser *p, const csv_field *cells, ft_record *r) {
    char text[32];
    csv_unquote(&cells[COLUMN_DTYPE], text, sizeof text);
    if (!ft_dtype_parse(text, &r->dtype) || r->dtype == FT_DTYPE_UNKNOWN)
        return bad_cell(p, "dtype", &cells[COLUMN_DTYPE], "an element type, like float32");
    csv_unquote(&cells[COLUMN_MODE], text, sizeof text);
    if (!record_mode_parse(text, &r->mode)) return bad_cell(p, "mode", &cells[COLUMN_MODE], "'infer' or 'train'");
    const csv_field *source = &cells[COLUMN_SOURCE];
    r->is_synthetic = csv_field_is(source, source_names[1]);
    if (!r->is_synthetic && !csv_field_is(source, source_names[0]))
        return bad_cell(p, "source", source, "'measured' or 'synthetic'");
    return csv_int(&p->rows, &cells[COLUMN_BATCH], "batch", 1, FT_MAX_DIM, &r->batch, p->error);
}

/* --- Rows -------------------------------------------------------------------------------------------------------- */

static ft_status check_unique(parser *p, const ft_record *r) {
    char text[HASH_TEXT];
    uint32_t found, line = p->rows.line < UINT32_MAX ? (uint32_t)p->rows.line : UINT32_MAX;
    const char *key = arena_string(&p->scratch, record_key(r, text), HASH_TEXT - 1);
    if (key == NULL || !map_add(&p->keys, key, line, &found)) return FT_NOMEM(p->error);
    if (found == line) return FT_OK;
    return ft_fail(p->error, FT_ERR_DAMAGED,
                   "%s: line %u: same graph, name, family, device, batch, dtype, mode and setting as line %u",
                   p->source->name, line, found);
}

static ft_status read_row(parser *p, const csv_field *cells) {
    records *t = p->table;
    if (!reserve(p->memory, (void **)&t->rows, t->count, &p->row_capacity, sizeof *t->rows)) return FT_NOMEM(p->error);
    ft_record *r = &t->rows[t->count];
    FT_TRY(read_graph(p, &cells[COLUMN_GRAPH], &r->graph));
    FT_TRY(read_text(p, &cells[COLUMN_NAME], "name", &r->name));
    FT_TRY(read_text(p, &cells[COLUMN_FAMILY], "family", &r->family));
    FT_TRY(read_device(p, &cells[COLUMN_DEVICE], &r->device));
    FT_TRY(read_text(p, &cells[COLUMN_SETTING], "setting", &r->setting));
    FT_TRY(read_text(p, &cells[COLUMN_PART], "part", &r->part));
    FT_TRY(read_keywords(p, cells, r));
    double *metrics = ARENA_ARRAY(p->memory, double, t->metric_count);
    if (metrics == NULL) return FT_NOMEM(p->error);
    for (uint32_t i = 0; i < t->metric_count; i++)
        FT_TRY(read_metric(p, &cells[KEY_COLUMNS + i], t->metrics[i], &metrics[i]));
    r->metrics = metrics;
    for (uint32_t i = 0; r->device[0] == '\0' && i < t->metric_count; i++)
        if (!isnan(metrics[i])) return bad_cell(p, "device", &cells[COLUMN_DEVICE], "the name of the measured device");
    FT_TRY(check_unique(p, r));
    t->count++;
    return FT_OK;
}

static ft_status read_rows(parser *p) {
    csv_field cells[KEY_COLUMNS + MAX_METRICS];
    uint32_t columns = KEY_COLUMNS + p->table->metric_count, found;
    for (;;) {
        FT_TRY(csv_row(&p->rows, cells, columns, &found, p->error));
        if (found == 0) return FT_OK;
        if (found != columns)
            return ft_fail(p->error, FT_ERR_DAMAGED, "%s: line %llu: has %u fields, but the header has %u",
                           p->source->name, (unsigned long long)p->rows.line, found, columns);
        FT_TRY(read_row(p, cells));
    }
}

static ft_status read_metric_names(parser *p, const csv_field *cells, uint32_t count) {
    records *t = p->table;
    t->metrics = ARENA_ARRAY(p->memory, const char *, count);
    if (t->metrics == NULL) return FT_NOMEM(p->error);
    for (uint32_t i = 0; i < count; i++) {
        FT_TRY(read_text(p, &cells[i], "a metric's name", &t->metrics[i]));
        if (!is_metric_name(t->metrics[i]))
            return bad_cell(p, "a column", &cells[i], "a metric whose name ends in its unit, like time_us");
        for (uint32_t k = 0; k < i; k++) {
            if (t->metrics[k] == t->metrics[i]) return bad_cell(p, "a column", &cells[i], "each metric once");
        }
    }
    t->metric_count = count;
    return FT_OK;
}

static ft_status read_header(parser *p) {
    csv_field cells[KEY_COLUMNS + MAX_METRICS];
    uint32_t found;
    FT_TRY(csv_row(&p->rows, cells, KEY_COLUMNS + MAX_METRICS, &found, p->error));
    bool is_right = found >= KEY_COLUMNS;
    for (uint32_t i = 0; i < KEY_COLUMNS && is_right; i++) is_right = csv_field_is(&cells[i], record_columns[i]);
    if (!is_right)
        return ft_fail(p->error, FT_ERR_DAMAGED,
                       "%s: line 1: expected the columns graph,name,family,device,batch,dtype,mode,setting,part,source "
                       "and then metrics",
                       p->source->name);
    return read_metric_names(p, cells + KEY_COLUMNS, found - KEY_COLUMNS);
}

ft_status records_parse(const records_source *source, arena *memory, records *table, ft_error *error) {
    parser p = {.source = source, .memory = memory, .table = table, .error = error};
    *table = (records){0};
    arena_init(&p.scratch, UINT64_MAX);
    map_init(&p.texts, &p.scratch);
    map_init(&p.devices, &p.scratch);
    map_init(&p.keys, &p.scratch);
    csv_init(&p.rows, source->name, source->text, source->size);
    ft_status status = read_header(&p);
    if (status == FT_OK) status = read_rows(&p);
    arena_free(&p.scratch);
    return status;
}

/* --- Writing ----------------------------------------------------------------------------------------------------- */

void records_put_header(buf *out, const char *const *metrics, uint32_t count) {
    for (uint32_t i = 0; i < KEY_COLUMNS; i++) {
        if (i > 0) buf_char(out, ',');
        buf_text(out, record_columns[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        buf_char(out, ',');
        buf_text(out, metrics[i]);
    }
    buf_char(out, '\n');
}

static void put_cell(buf *out, const char *text) {
    buf_char(out, ',');
    csv_cell(out, text);
}

void records_put_row(buf *out, const ft_record *r, const char *graph_id, uint32_t metric_count) {
    char number[DOUBLE_TEXT_SIZE];
    buf_text(out, graph_id);
    put_cell(out, r->name);
    put_cell(out, r->family);
    put_cell(out, r->device);
    buf_format(out, ",%lld,%s,%s", (long long)r->batch, ft_dtype_name(r->dtype), mode_names[r->mode]);
    put_cell(out, r->setting);
    put_cell(out, r->part);
    put_cell(out, source_names[r->is_synthetic]);
    for (uint32_t i = 0; i < metric_count; i++) {
        buf_char(out, ',');
        if (isnan(r->metrics[i])) continue;
        double_text(r->metrics[i], number);
        buf_text(out, number);
    }
    buf_char(out, '\n');
}

/* --- Time filter ------------------------------------------------------------------------------------------------- */

bool time_filter_rejects(const ft_time_filter *f, double time_us, double noise) {
    return (f->max_noise > 0 && noise > f->max_noise) || (f->min_time_us > 0 && time_us < f->min_time_us) ||
           (f->max_time_us > 0 && time_us > f->max_time_us);
}

ft_status time_filter_check(const ft_time_filter *f, ft_error *error) {
    if (!(f->min_time_us > 0 && f->max_time_us > 0 && f->min_time_us > f->max_time_us)) return FT_OK;
    return ft_fail(error, FT_ERR_USAGE, "the minimum time, %g us, exceeds the maximum, %g us", f->min_time_us,
                   f->max_time_us);
}
