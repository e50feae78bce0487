/* report_predictors.c - the predictors of a set as a document: their metrics and devices, the sizes of their files, and
 * their accuracy on held-out data, which is named: new models, architectures, tasks. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/csv.h"
#include "base/error.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "data/fold.h"
#include "foretell/forecast_report.h"
#include "report/grid.h"
#include "report/metric.h"
#include "report/style.h"

/* One predictor on one device, from the header of its file. */
typedef struct accuracy {
    const char *path;
    uint64_t bytes;
    const ft_predictor *predictor;
    const char *device, *part;
    const char *held_out; /* what was not in training: "models", "tasks"; NULL: unknown */
    uint32_t folds;       /* of a cross-validation; 0: one test part */
    double n, mape, acc10, coverage90;
} accuracy;

typedef void accuracy_visitor(void *user, const accuracy *a);

static uint64_t size_of(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 ? (uint64_t)info.st_size : 0;
}

static double number_of(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* The scores of a metric on a device: of the test part if there are any, else of the validation part. */
static const json_t *scores_on(const json_t *header, const char *metric, const char *device) {
    const json_t *rows = json_object_get(header, "accuracy"), *found = NULL, *row;
    size_t i;
    json_array_foreach(rows, i, row) {
        const char *name = json_string_value(json_object_get(row, "device"));
        const char *part = json_string_value(json_object_get(row, "part"));
        const char *scored = json_string_value(json_object_get(row, "metric"));
        if (name == NULL || strcmp(name, device) != 0 || (scored != NULL && strcmp(scored, metric) != 0)) continue;
        if (found == NULL || (part != NULL && strcmp(part, "test") == 0)) found = row;
    }
    return found;
}

/* Files of earlier versions name the split alone. Schemas of tensor programs begin with "program-". */
static const char *held_out_of(const json_t *header, const json_t *scores) {
    const char *unit = json_string_value(json_object_get(scores, "held_out"));
    const char *split = json_string_value(json_object_get(json_object_get(header, "trained_on"), "split"));
    const char *schema = json_string_value(json_object_get(header, "schema"));
    if (unit != NULL || scores == NULL || split == NULL) return unit;
    return split_unit(split, schema != NULL && strncmp(schema, "program-", 8) == 0);
}

/* Numbers in the header are not trusted: a count out of range is none. */
static uint32_t folds_of(const json_t *scores) {
    double folds = number_of(scores, "folds");
    return folds >= 2 && folds <= 1e6 ? (uint32_t)folds : 0;
}

static ft_status walk_predictor(accuracy a, accuracy_visitor *visit, void *user, ft_error *error) {
    const char *text = ft_predictor_header(a.predictor);
    json_t *header;
    FT_TRY(json_parse(text, strlen(text), &header, error));
    for (uint32_t d = 0; d < ft_predictor_device_count(a.predictor); d++) {
        a.device = ft_predictor_device(a.predictor, d);
        const json_t *scores = scores_on(header, ft_predictor_metric(a.predictor), a.device);
        a.part = json_string_value(json_object_get(scores, "part"));
        a.held_out = held_out_of(header, scores);
        a.folds = folds_of(scores);
        a.n = number_of(scores, "n");
        a.mape = number_of(scores, "mape");
        a.acc10 = number_of(scores, "acc10");
        a.coverage90 = number_of(scores, "coverage90");
        visit(user, &a);
    }
    json_decref(header);
    return FT_OK;
}

static ft_status walk_set(const ft_predictor_set *set, accuracy_visitor *visit, void *user, ft_error *error) {
    for (uint32_t i = 0; i < ft_predictor_set_count(set); i++) {
        accuracy a = {.path = ft_predictor_set_path(set, i), .bytes = size_of(ft_predictor_set_path(set, i))};
        for (a.predictor = ft_predictor_set_at(set, i); a.predictor != NULL;
             a.predictor = ft_predictor_next(a.predictor))
            FT_TRY(walk_predictor(a, visit, user, error));
    }
    return FT_OK;
}

/* --- JSON and CSV -------------------------------------------------------------------------------------------- */

static void write_json_row(void *user, const accuracy *a) {
    json_writer *j = user;
    jsonw_open_object(j, JSON_LINE);
    jsonw_pair_string(j, "file", a->path);
    jsonw_pair_uint(j, "bytes", a->bytes);
    jsonw_pair_string(j, "family", ft_predictor_family(a->predictor));
    jsonw_pair_string(j, "metric", ft_predictor_metric(a->predictor));
    jsonw_pair_string(j, "device", a->device);
    jsonw_pair_string(j, "part", a->part);
    jsonw_pair_double(j, "n", a->n);
    jsonw_pair_double(j, "mape", a->mape);
    jsonw_pair_double(j, "acc10", a->acc10);
    jsonw_pair_double(j, "coverage90", a->coverage90);
    jsonw_pair_string(j, "held_out", a->held_out);
    jsonw_pair_uint(j, "folds", a->folds);
    jsonw_close(j);
}

static void csv_number(buf *out, double value) {
    char text[DOUBLE_TEXT_SIZE];
    buf_char(out, ',');
    if (!isfinite(value)) return;
    double_text(value, text);
    buf_text(out, text);
}

static void write_csv_row(void *user, const accuracy *a) {
    buf *out = user;
    csv_cell(out, a->path);
    buf_format(out, ",%llu,%s,%s,", (unsigned long long)a->bytes, ft_predictor_family(a->predictor),
               ft_predictor_metric(a->predictor));
    csv_cell(out, a->device);
    buf_format(out, ",%s", a->part != NULL ? a->part : "");
    csv_number(out, a->n);
    csv_number(out, a->mape);
    csv_number(out, a->acc10);
    csv_number(out, a->coverage90);
    buf_char(out, ',');
    csv_cell(out, a->held_out != NULL ? a->held_out : "");
    buf_format(out, ",%u\n", a->folds);
}

/* --- Tables -------------------------------------------------------------------------------------------------- */

static const grid_column columns[] = {
    {.title = "Metric", .min_width = 12},
    {.title = "Device", .is_flexible = true, .min_width = 18, .comfort = 18},
    {.title = "Held out", .is_right = true, .min_width = 8},
    {.title = "Error", .is_right = true, .min_width = 7},
    {.title = "Within 10 %", .is_right = true, .min_width = 11},
    {.title = "In interval", .is_right = true, .min_width = 11, .drop = 1},
};

typedef struct table {
    sink *out;
    const ft_style *style;
    /* Of the last row. */
    const char *path;
    char accuracy_of[GRID_CELL_SIZE];
} table;

static void put_percent(grid_cell *cell, double percent) {
    char words[UNIT_TEXT_SIZE];
    unit_fixed(percent, 1, words);
    snprintf(cell->text, sizeof cell->text, isnan(percent) ? "%s" : "%s %%", words);
}

typedef struct table_row {
    const accuracy *values;
    const ft_style *style;
} table_row;

static void put_accuracy(const void *user, uint32_t row, grid_cell *cells) {
    const accuracy *a = ((const table_row *)user)->values;
    const ft_style *style = ((const table_row *)user)->style;
    (void)row;
    snprintf(cells[0].text, sizeof cells[0].text, "%s", ft_predictor_metric(a->predictor));
    text_fit(a->device, UINT32_MAX, style, cells[1].text, sizeof cells[1].text);
    unit_fixed(a->n, 0, cells[2].text);
    put_percent(&cells[3], a->mape);
    put_percent(&cells[4], a->acc10);
    put_percent(&cells[5], a->coverage90);
}

/* "Accuracy on unseen tasks, by cross-validation (5 folds)". Names in the header are not trusted. */
static void describe_accuracy(const accuracy *a, const ft_style *style, char text[static GRID_CELL_SIZE]) {
    char unit[160];
    bool is_valid = a->part != NULL && strcmp(a->part, "valid") == 0;
    text_fit(a->held_out != NULL ? a->held_out : "records", 32, style, unit, sizeof unit);
    if (isnan(a->n))
        snprintf(text, GRID_CELL_SIZE, "not evaluated");
    else if (a->folds > 0)
        snprintf(text, GRID_CELL_SIZE, "accuracy on unseen %s, by cross-validation (%u folds)", unit, a->folds);
    else
        snprintf(text, GRID_CELL_SIZE, "accuracy on %s %s%s", is_valid ? "validation" : "unseen", unit,
                 is_valid ? ", which intervals are calibrated on" : "");
}

static void write_table_title(const table *t, const accuracy *a) {
    char path[GRID_CELL_SIZE], bytes[UNIT_TEXT_SIZE];
    text_fit(a->path, t->style->width > 50 ? t->style->width - 36 : 20, t->style, path, sizeof path);
    unit_bytes(a->bytes, bytes);
    buf_format(&t->out->text, "%s%s%s%s: %s, %s\n", t->path != NULL ? "\n" : "", tone_begin(t->style, TONE_TITLE), path,
               tone_end(t->style, TONE_TITLE), ft_predictor_family(a->predictor), bytes);
}

static void write_table_row(void *user, const accuracy *a) {
    table *t = user;
    char described[GRID_CELL_SIZE];
    describe_accuracy(a, t->style, described);
    bool is_new = t->path == NULL || strcmp(t->path, a->path) != 0;
    if (is_new) write_table_title(t, a);
    is_new |= strcmp(t->accuracy_of, described) != 0;
    if (is_new) buf_format(&t->out->text, "  %s\n", described);
    t->path = a->path;
    snprintf(t->accuracy_of, sizeof t->accuracy_of, "%s", described);
    grid_write(&(grid){.style = t->style,
                       .columns = columns,
                       .column_count = sizeof columns / sizeof columns[0],
                       .indent = 2,
                       .row = put_accuracy,
                       .user = &(table_row){a, t->style},
                       .row_count = 1,
                       .has_no_heading = !is_new},
               t->out);
}

static ft_status write_table(const ft_predictor_set *set, const ft_style *style, sink *out, ft_error *error) {
    table t = {.out = out, .style = style};
    FT_TRY(walk_set(set, write_table_row, &t, error));
    buf_text(&out->text, "\nMean error and shares in percent, on held-out records.\n");
    return FT_OK;
}

static ft_status write_json(const ft_predictor_set *set, sink *out, ft_error *error) {
    json_writer j;
    jsonw_init(&j, &out->text);
    jsonw_open_array(&j, JSON_BLOCK);
    FT_TRY(walk_set(set, write_json_row, &j, error));
    jsonw_close(&j);
    buf_char(&out->text, '\n');
    return FT_OK;
}

static ft_status write_csv(const ft_predictor_set *set, sink *out, ft_error *error) {
    buf_text(&out->text, "file,bytes,family,metric,device,part,n,mape,acc10,coverage90,held_out,folds\n");
    return walk_set(set, write_csv_row, &out->text, error);
}

ft_status ft_report_predictors(FILE *stream, const ft_style *style, const ft_predictor_set *set, ft_error *error) {
    FT_REQUIRE(error, stream, style, set);
    FT_TRY(style_check(style, error));
    sink out = {.stream = stream};
    ft_status status = style->output == FT_TABLE  ? write_table(set, style, &out, error)
                       : style->output == FT_JSON ? write_json(set, &out, error)
                                                  : write_csv(set, &out, error);
    if (status == FT_OK) status = sink_flush(&out, error);
    sink_free(&out);
    return status;
}
