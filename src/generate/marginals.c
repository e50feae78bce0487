/* marginals.c - mean, minimum, median and maximum of each quantity, and their table. */
#include "generate/marginals.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json_writer.h"
#include "report/grid.h"
#include "report/style.h"
#include "report/units.h"

/* Mean, minimum, median, maximum, as in PerfSeer's README. */
static const struct {
    const char *name, *title;
    double published[4];
} columns[FT_MARGINALS] = {
    {"flops_g", "FLOPs (G)", {214.8, 0.05, 40.8, 22543.9}},
    {"bytes_gb", "bytes moved (GB)", {7.7, 0.01, 2.1, 70.2}},
    {"params_m", "parameters (M)", {9.5, 0.04, 3.6, 254.9}},
    {"train_util_percent", "training: SM utilisation (%)", {62.4, 5.0, 66.9, 99.0}},
    {"train_memory_mib", "training: memory (MiB)", {5255, 1500, 2728, 24244}},
    {"train_time_ms", "training: time (ms)", {87.1, 2.9, 44.1, 1919.5}},
    {"infer_util_percent", "inference: SM utilisation (%)", {72.9, 8.0, 97.0, 99.0}},
    {"infer_memory_mib", "inference: memory (MiB)", {2412, 1410, 1790, 19462}},
    {"infer_time_ms", "inference: time (ms)", {23.8, 0.8, 9.2, 554.5}},
};

static const char *const stat_names[] = {"mean", "min", "median", "max"};
enum { STATS = 4 };

struct marginals {
    double *values[FT_MARGINALS];
    size_t count, capacity;
};

marginals *marginals_new(void) {
    return calloc(1, sizeof(marginals));
}

void marginals_free(marginals *m) {
    if (m == NULL) return;
    for (size_t i = 0; i < FT_MARGINALS; i++) free(m->values[i]);
    free(m);
}

static bool grow(marginals *m) {
    size_t larger = m->capacity == 0 ? 4096 : 2 * m->capacity;
    for (size_t i = 0; i < FT_MARGINALS; i++) {
        double *values = realloc(m->values[i], larger * sizeof *values);
        if (values == NULL) return false;
        m->values[i] = values;
    }
    m->capacity = larger;
    return true;
}

bool marginals_add(marginals *m, const marginal_row *row) {
    if (m->count == m->capacity && !grow(m)) return false;
    for (size_t i = 0; i < FT_MARGINALS; i++) m->values[i][m->count] = row->values[i];
    m->count++;
    return true;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void marginals_finish(marginals *m, ft_marginal out[FT_MARGINALS]) {
    for (size_t i = 0; i < FT_MARGINALS; i++) {
        double *v = m->values[i], sum = 0;
        ft_marginal made = {.name = columns[i].name};
        memcpy(made.published, columns[i].published, sizeof made.published);
        if (m->count > 0) {
            qsort(v, m->count, sizeof *v, by_value);
            for (size_t k = 0; k < m->count; k++) sum += v[k];
            made.mean = sum / (double)m->count;
            made.min = v[0];
            made.median = (v[m->count / 2] + v[(m->count - 1) / 2]) / 2;
            made.max = v[m->count - 1];
        }
        out[i] = made;
    }
}

/* --- Documents --------------------------------------------------------------------------------------------------- */

static double stat_of(const ft_marginal *m, size_t stat) {
    const double ours[STATS] = {m->mean, m->min, m->median, m->max};
    return ours[stat];
}

static void table_row(const void *user, uint32_t row, grid_cell *cells) {
    const ft_generate_result *result = user;
    const ft_marginal *m = &result->marginals[row];
    snprintf(cells[0].text, sizeof cells[0].text, "%s", columns[row].title);
    for (size_t i = 0; i < STATS; i++) {
        unit_number(stat_of(m, i), cells[1 + 2 * i].text);
        unit_number(m->published[i], cells[2 + 2 * i].text);
    }
}

static void write_table(const ft_generate_result *result, const ft_style *style, sink *out) {
    /* On a narrow terminal, minimum and maximum are dropped first. */
    static const grid_column layout[] = {{.title = "synthetic data", .is_flexible = true, .comfort = 29},
                                         {.title = "mean", .is_right = true},
                                         {.title = "published", .is_right = true},
                                         {.title = "min", .is_right = true, .drop = 3},
                                         {.title = "published", .is_right = true, .drop = 4},
                                         {.title = "median", .is_right = true},
                                         {.title = "published", .is_right = true},
                                         {.title = "max", .is_right = true, .drop = 1},
                                         {.title = "published", .is_right = true, .drop = 2}};
    const grid g = {.style = style,
                    .columns = layout,
                    .column_count = sizeof layout / sizeof layout[0],
                    .row = table_row,
                    .user = result,
                    .row_count = FT_MARGINALS};
    grid_write(&g, out);
}

static void write_json(const ft_generate_result *result, buf *text) {
    json_writer j;
    jsonw_init(&j, text);
    jsonw_open_object(&j, JSON_BLOCK);
    jsonw_pair_string(&j, "source", "synthetic");
    jsonw_pair_uint(&j, "networks", result->networks);
    jsonw_pair_uint(&j, "graphs", result->graphs);
    jsonw_pair_uint(&j, "skipped", result->skipped);
    jsonw_key(&j, "marginals");
    jsonw_open_array(&j, JSON_BLOCK);
    for (size_t i = 0; i < FT_MARGINALS; i++) {
        const ft_marginal *m = &result->marginals[i];
        jsonw_open_object(&j, JSON_LINE);
        jsonw_pair_string(&j, "name", m->name);
        for (size_t k = 0; k < STATS; k++) {
            char key[32];
            jsonw_pair_double(&j, stat_names[k], stat_of(m, k));
            snprintf(key, sizeof key, "published_%s", stat_names[k]);
            jsonw_pair_double(&j, key, m->published[k]);
        }
        jsonw_close(&j);
    }
    jsonw_close(&j);
    jsonw_close(&j);
    buf_char(text, '\n');
}

static void write_csv(const ft_generate_result *result, buf *text) {
    buf_text(text, "name,source,networks,graphs");
    for (size_t k = 0; k < STATS; k++) buf_format(text, ",%s,published_%s", stat_names[k], stat_names[k]);
    buf_char(text, '\n');
    for (size_t i = 0; i < FT_MARGINALS; i++) {
        const ft_marginal *m = &result->marginals[i];
        buf_format(text, "%s,synthetic,%llu,%llu", m->name, (unsigned long long)result->networks,
                   (unsigned long long)result->graphs);
        for (size_t k = 0; k < STATS; k++) {
            char ours[DOUBLE_TEXT_SIZE], theirs[DOUBLE_TEXT_SIZE];
            double_text(stat_of(m, k), ours);
            double_text(m->published[k], theirs);
            buf_format(text, ",%s,%s", ours, theirs);
        }
        buf_char(text, '\n');
    }
}

ft_status ft_generate_write(const ft_generate_result *result, const ft_style *style, FILE *stream, ft_error *error) {
    FT_REQUIRE(error, result, style, stream);
    FT_TRY(style_check(style, error));
    sink out = {.stream = stream};
    if (style->output == FT_JSON)
        write_json(result, &out.text);
    else if (style->output == FT_CSV)
        write_csv(result, &out.text);
    else
        write_table(result, style, &out);
    ft_status status = sink_flush(&out, error);
    sink_free(&out);
    return status;
}
