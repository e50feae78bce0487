/* comparison_write.c - marks the best rows of a comparison, and writes it as a table, as JSON
 * (docs/schema/comparison.schema.json) and as CSV. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/error.h"
#include "base/json_writer.h"
#include "learn/evaluate/comparison.h"
#include "learn/evaluate/evaluation.h"
#include "learn/score/metrics.h"
#include "learn/score/score_table.h"
#include "report/units.h"

enum { SCHEMA_VERSION = 1, NOTE_TEXT = 80, NAME_TEXT = 256 };

/* --- Best rows ----------------------------------------------------------------------------------------------- */

/* The number of leading rows that share the device and family of the first. */
static uint32_t group_size(const comparison_row *rows, uint32_t count) {
    uint32_t run = 0;
    while (run < count && strcmp(rows[run].score.device, rows[0].score.device) == 0 &&
           strcmp(rows[run].score.family, rows[0].score.family) == 0)
        run++;
    return run;
}

/* The distance of a score to its optimum. */
static double distance(const ft_score *score, const score_field *field) {
    double value = score_value(score, field);
    switch (field->aim) {
    case AIM_LOW:
        return value;
    case AIM_HIGH:
        return -value;
    case AIM_NINETY:
        return fabs(value - 90);
    case AIM_ZERO:
        break;
    }
    return fabs(value);
}

static void mark_field(comparison_row *rows, uint32_t count, size_t field) {
    double best = INFINITY, worst = -INFINITY;
    for (uint32_t i = 0; i < count; i++) {
        double here = distance(&rows[i].score, &score_fields[field]);
        best = fmin(best, here);
        worst = fmax(worst, here);
    }
    if (!(best < worst)) return;
    for (uint32_t i = 0; i < count; i++)
        if (distance(&rows[i].score, &score_fields[field]) <= best) rows[i].best |= 1u << field;
}

void comparison_mark(comparison_row *rows, uint32_t count) {
    for (uint32_t i = 0, run; i < count; i += run) {
        run = group_size(rows + i, count - i);
        for (size_t f = 0; run > 1 && f < SCORE_FIELDS; f++) mark_field(rows + i, run, f);
    }
}

/* --- Table --------------------------------------------------------------------------------------------------- */

static void add_clean(sink *out, const ft_style *style, const char *text) {
    char clean[GRID_CELL_SIZE];
    text_fit(text, UINT32_MAX, style, clean, sizeof clean);
    buf_text(&out->text, clean);
}

/* The lengths of the leading and trailing path components that all names share; tables omit them. */
typedef struct shared_ends {
    size_t before, after;
} shared_ends;

static size_t shared_before(const char *a, const char *b, size_t max) {
    size_t shared = 0;
    for (size_t i = 0; i < max && a[i] != '\0' && a[i] == b[i]; i++)
        if (a[i] == '/') shared = i + 1;
    return shared;
}

static size_t shared_after(const char *a, const char *b, size_t max) {
    size_t a_length = strlen(a), b_length = strlen(b), shared = 0;
    for (size_t i = 1; i <= max && i <= a_length && i <= b_length && a[a_length - i] == b[b_length - i]; i++)
        if (a[a_length - i] == '/') shared = i;
    return shared;
}

static shared_ends find_shared(const comparison *c) {
    const char *first = c->rows[0].predictor;
    shared_ends ends = {strlen(first), strlen(first)};
    bool is_one = true;
    for (uint32_t i = 1; i < c->count; i++) {
        if (strcmp(c->rows[i].predictor, first) == 0) continue;
        is_one = false;
        ends.before = shared_before(first, c->rows[i].predictor, ends.before);
        ends.after = shared_after(first, c->rows[i].predictor, ends.after);
    }
    if (is_one) ends = (shared_ends){0, 0};
    for (uint32_t i = 0; i < c->count; i++)
        if (ends.before + ends.after >= strlen(c->rows[i].predictor)) ends.after = 0; /* runs/a and runs/a/a */
    return ends;
}

/* "-0.12 [-0.15, -0.08]" */
static void difference_text(const comparison_row *row, char text[static NOTE_TEXT]) {
    char mean[UNIT_TEXT_SIZE], lo[UNIT_TEXT_SIZE], hi[UNIT_TEXT_SIZE];
    text[0] = '\0';
    if (!row->has_difference) return;
    unit_fixed(row->difference, 2, mean);
    unit_fixed(row->lo, 2, lo);
    unit_fixed(row->hi, 2, hi);
    snprintf(text, NOTE_TEXT, "%s [%s, %s]", mean, lo, hi);
}

static void write_group_heading(sink *out, const ft_score *score, const ft_style *style) {
    buf_format(&out->text, "\n%s", tone_begin(style, TONE_TITLE));
    add_clean(out, style, score->device);
    buf_text(&out->text, ", ");
    if (strcmp(score->family, "all") == 0)
        buf_text(&out->text, "all records");
    else if (strcmp(score->family, "mean") == 0)
        buf_text(&out->text, "mean of families");
    else
        add_clean(out, style, score->family[0] != '\0' ? score->family : "(none)");
    buf_format(&out->text, "%s\n", tone_end(style, TONE_TITLE));
}

/* The first and the last cell of a row. */
typedef struct margin {
    char name[NAME_TEXT], note[NOTE_TEXT];
} margin;

/* The part between the shared ends; the end of a long name. */
static void put_name(const char *predictor, shared_ends shared, char name[static NAME_TEXT]) {
    assert(shared.before + shared.after <= strlen(predictor));
    size_t length = strlen(predictor) - shared.before - shared.after;
    size_t skipped = length >= NAME_TEXT ? length - (NAME_TEXT - 1) : 0;
    snprintf(name, NAME_TEXT, "%.*s", (int)(length - skipped), predictor + shared.before + skipped);
}

static void write_group(sink *out, const comparison *c, shared_ends shared, const comparison_row *rows, uint32_t count,
                        const ft_style *style) {
    score_row *lines = calloc(count, sizeof *lines);
    margin *margins = calloc(count, sizeof *margins);
    if (lines == NULL || margins == NULL) {
        out->text.failed = true;
    } else {
        for (uint32_t i = 0; i < count; i++) {
            put_name(rows[i].predictor, shared, margins[i].name);
            difference_text(&rows[i], margins[i].note);
            lines[i] = (score_row){margins[i].name, &rows[i].score, rows[i].best, margins[i].note};
        }
        write_group_heading(out, &rows[0].score, style);
        score_table_write(&(score_table){"Predictor", c->has_differences ? "MAPE to first" : NULL, lines, count, 0, 16},
                          style, out);
    }
    free(lines);
    free(margins);
}

static void write_table(sink *out, const comparison *c, const ft_style *style) {
    add_clean(out, style, c->metric);
    buf_text(&out->text, "; ");
    add_clean(out, style, c->view);
    buf_char(&out->text, '\n');
    shared_ends shared = find_shared(c);
    for (uint32_t i = 0, run; i < c->count; i += run) {
        run = group_size(c->rows + i, c->count - i);
        write_group(out, c, shared, c->rows + i, run, style);
        sink_relieve(out);
    }
    uint32_t marked = 0;
    for (uint32_t i = 0; i < c->count; i++) marked |= c->rows[i].best;
    buf_format(&out->text, "\n  %sErrors, shares, width of the interval and bias in percent.\n",
               marked != 0 ? "* the best. " : "");
    if (c->has_differences)
        buf_text(&out->text, "  MAPE to first: the difference, and its 95 % confidence interval (bootstrap).\n");
}

/* --- JSON ---------------------------------------------------------------------------------------------------- */

static void write_number(json_writer *j, const char *key, bool has_value, double value) {
    jsonw_key(j, key);
    jsonw_double(j, has_value ? value : (double)NAN);
}

static void write_best(json_writer *j, uint32_t best) {
    jsonw_key(j, "best");
    jsonw_open_array(j, JSON_LINE);
    for (size_t i = 0; i < SCORE_FIELDS; i++)
        if ((best & 1u << i) != 0) jsonw_string(j, score_fields[i].key);
    jsonw_close(j);
}

static void write_json(sink *out, const comparison *c) {
    json_writer writer, *j = &writer;
    jsonw_init(j, &out->text);
    jsonw_open_object(j, JSON_BLOCK);
    jsonw_key(j, "schema_version");
    jsonw_uint(j, SCHEMA_VERSION);
    jsonw_pair_string(j, "data_hash", c->data_hash);
    jsonw_pair_string(j, "split", c->split);
    jsonw_pair_string(j, "part", c->part);
    jsonw_key(j, "results");
    jsonw_open_array(j, JSON_BLOCK);
    for (uint32_t i = 0; i < c->count; i++) {
        const comparison_row *row = &c->rows[i];
        jsonw_open_object(j, JSON_LINE);
        jsonw_pair_string(j, "predictor", row->predictor);
        evaluation_json_score(j, &row->score);
        write_number(j, "mape_difference", row->has_difference, row->difference);
        write_number(j, "mape_difference_lo", row->has_difference, row->lo);
        write_number(j, "mape_difference_hi", row->has_difference, row->hi);
        write_best(j, row->best);
        jsonw_close(j);
        sink_relieve(out);
    }
    jsonw_close(j);
    jsonw_close(j);
    buf_char(&out->text, '\n');
}

/* --- CSV ----------------------------------------------------------------------------------------------------- */

static void add_number(buf *out, bool has_value, double value) {
    char text[DOUBLE_TEXT_SIZE] = "";
    if (has_value && isfinite(value)) double_text(value, text);
    buf_format(out, ",%s", text);
}

static void write_csv(sink *out, const comparison *c) {
    buf_text(&out->text, "predictor,");
    evaluation_csv_heading(&out->text);
    buf_text(&out->text, ",mape_difference,mape_difference_lo,mape_difference_hi\n");
    for (uint32_t i = 0; i < c->count; i++) {
        const comparison_row *row = &c->rows[i];
        csv_cell(&out->text, row->predictor);
        buf_char(&out->text, ',');
        evaluation_csv_score(&out->text, &row->score);
        add_number(&out->text, row->has_difference, row->difference);
        add_number(&out->text, row->has_difference, row->lo);
        add_number(&out->text, row->has_difference, row->hi);
        buf_char(&out->text, '\n');
        sink_relieve(out);
    }
}

ft_status comparison_write(const comparison *c, const ft_style *style, FILE *stream, ft_error *error) {
    sink out = {.stream = stream};
    switch (style->output) {
    case FT_TABLE:
        write_table(&out, c, style);
        break;
    case FT_JSON:
        write_json(&out, c);
        break;
    case FT_CSV:
        write_csv(&out, c);
        break;
    }
    ft_status status = sink_flush(&out, error);
    sink_free(&out);
    return status;
}
