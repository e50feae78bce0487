/* tuning_write.c - writes a search as a table, as JSON and as CSV. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/error.h"
#include "base/json.h"
#include "learn/search/trials.h"
#include "report/grid.h"
#include "report/style.h"

enum { SCHEMA_VERSION = 1, FIRST_COLUMNS = 3, SHOWN_DIGITS = 4, VALUE_TEXT = 160 };

/* --- Values -------------------------------------------------------------------------------------------------- */

/* The value of a key as JSON; "" when it has none. Numbers have at most `digits` digits; 0: all. */
static void value_text(const ft_tune_key *key, double value, int digits, char text[static VALUE_TEXT]) {
    text[0] = '\0';
    if (isnan(value)) return;
    if (key->choices != NULL)
        snprintf(text, VALUE_TEXT, "%s", key->choices[(uint32_t)value]);
    else if (digits > 0)
        snprintf(text, VALUE_TEXT, "%.*g", digits, value);
    else
        double_text(value, text);
}

/* --- Order --------------------------------------------------------------------------------------------------- */

static bool is_better(const ft_tuning *t, const ft_trial *a, const ft_trial *b) {
    if (isnan(a->objective) || isnan(b->objective)) return isnan(b->objective) && !isnan(a->objective);
    if (a->rungs != b->rungs) return a->rungs > b->rungs;
    return t->is_higher_better ? a->objective > b->objective : a->objective < b->objective;
}

/* Indices of the trials from the best to the worst, higher rungs first. The caller frees them; NULL when out of memory.
 * Insertion sort: a search has hundreds of trials. */
static uint32_t *rank(const ft_tuning *t) {
    uint32_t *order = malloc((t->count + 1) * sizeof *order);
    for (uint32_t i = 0; order != NULL && i < t->count; i++) {
        uint32_t at = i;
        for (; at > 0 && is_better(t, &t->trials[i], &t->trials[order[at - 1]]); at--) order[at] = order[at - 1];
        order[at] = i;
    }
    return order;
}

/* --- CSV ----------------------------------------------------------------------------------------------------- */

static void add_number(buf *out, double value) {
    char text[DOUBLE_TEXT_SIZE] = "";
    if (isfinite(value)) double_text(value, text);
    buf_text(out, text);
}

static void csv_row_of(const ft_tuning *t, const ft_trial *trial, uint32_t rung, buf *out) {
    buf_format(out, "%u,%u,%u,", trial->index, rung, t->rungs);
    add_number(out, trial->scores[rung]);
    buf_format(out, ",%s,%s", isnan(trial->scores[rung]) ? "failed" : "complete", trial->index == 0 ? "yes" : "no");
    for (uint32_t k = 0; k < t->key_count; k++) {
        char text[VALUE_TEXT];
        value_text(&t->keys[k], trial->values[k], 0, text);
        buf_char(out, ',');
        csv_cell(out, text);
    }
    buf_char(out, '\n');
}

void tuning_csv(const ft_tuning *t, buf *out) {
    buf_format(out, "trial,rung,rungs,%s,state,is_default", t->objective);
    for (uint32_t k = 0; k < t->key_count; k++) {
        buf_char(out, ',');
        csv_cell(out, t->keys[k].name);
    }
    buf_char(out, '\n');
    for (uint32_t i = 0; i < t->count; i++)
        for (uint32_t rung = 0; rung < t->trials[i].rungs; rung++) csv_row_of(t, &t->trials[i], rung, out);
}

/* --- JSON ---------------------------------------------------------------------------------------------------- */

static void json_trial(json_writer *j, const ft_trial *trial) {
    jsonw_open_object(j, JSON_LINE);
    jsonw_pair_uint(j, "trial", trial->index);
    jsonw_pair_uint(j, "rungs", trial->rungs);
    jsonw_pair_double(j, "value", trial->objective);
    jsonw_key(j, "by_rung");
    jsonw_open_array(j, JSON_LINE);
    for (uint32_t i = 0; i < trial->rungs; i++) jsonw_double(j, trial->scores[i]);
    jsonw_close(j);
    jsonw_key(j, "is_default");
    jsonw_bool(j, trial->index == 0);
    jsonw_key(j, "config");
    json_t *config = NULL;
    ft_status status = trial->config != NULL ? json_parse(trial->config, strlen(trial->config), &config, NULL) : FT_OK;
    if (status == FT_ERR_NOMEM) j->out->failed = true;
    if (config != NULL)
        jsonw_json(j, config);
    else
        jsonw_null(j);
    json_decref(config);
    jsonw_pair_string(j, "error", trial->error);
    jsonw_close(j);
}

static void write_json(sink *out, const ft_tuning *t, const uint32_t *order, uint32_t top) {
    json_writer writer, *j = &writer;
    jsonw_init(j, &out->text);
    jsonw_open_object(j, JSON_BLOCK);
    jsonw_pair_uint(j, "schema_version", SCHEMA_VERSION);
    jsonw_pair_string(j, "family", t->family);
    jsonw_pair_string(j, "metric", t->metric);
    jsonw_pair_string(j, "split", t->split);
    jsonw_pair_string(j, "part", "valid");
    jsonw_pair_string(j, "objective", t->objective);
    jsonw_pair_uint(j, "seed", t->seed);
    jsonw_pair_uint(j, "trials", t->count);
    jsonw_pair_uint(j, "failed", t->failed);
    jsonw_key(j, "is_complete");
    jsonw_bool(j, t->is_complete);
    jsonw_key(j, "best");
    if (t->best != FT_NONE)
        json_trial(j, &t->trials[t->best]);
    else
        jsonw_null(j);
    jsonw_key(j, "results");
    jsonw_open_array(j, JSON_BLOCK);
    for (uint32_t i = 0; i < t->count && (top == 0 || i < top); i++) json_trial(j, &t->trials[order[i]]);
    jsonw_close(j);
    jsonw_close(j);
    buf_char(&out->text, '\n');
}

/* --- Table --------------------------------------------------------------------------------------------------- */

typedef struct table {
    const ft_tuning *tuning;
    const uint32_t *rows;
} table;

static void table_row(const void *user, uint32_t row, grid_cell *cells) {
    const table *t = user;
    const ft_trial *trial = &t->tuning->trials[t->rows[row]];
    snprintf(cells[0].text, sizeof cells[0].text, "%u%s", trial->index, trial->index == 0 ? " (default)" : "");
    snprintf(cells[1].text, sizeof cells[1].text, "%u of %u", trial->rungs, t->tuning->rungs);
    if (isnan(trial->objective))
        snprintf(cells[2].text, sizeof cells[2].text, "failed");
    else
        snprintf(cells[2].text, sizeof cells[2].text, "%.3f", trial->objective);
    for (uint32_t k = 0; k < t->tuning->key_count && k + FIRST_COLUMNS < GRID_COLUMNS; k++) {
        char text[VALUE_TEXT];
        value_text(&t->tuning->keys[k], trial->values[k], SHOWN_DIGITS, text);
        snprintf(cells[k + FIRST_COLUMNS].text, sizeof cells[0].text, "%s", text);
    }
}

static void write_rows(sink *out, const ft_tuning *t, const uint32_t *rows, uint32_t count, const ft_style *style) {
    grid_column columns[GRID_COLUMNS] = {
        {.title = "Trial"}, {.title = "Rungs"}, {.title = t->objective, .is_right = true}};
    uint32_t shown = FIRST_COLUMNS;
    for (uint32_t k = 0; k < t->key_count && shown < GRID_COLUMNS; k++, shown++)
        columns[shown] = (grid_column){.title = t->keys[k].name, .is_right = true, .drop = (uint8_t)(k + 1)};
    const table rows_of = {.tuning = t, .rows = rows};
    grid_write(&(grid){.style = style,
                       .columns = columns,
                       .column_count = shown,
                       .indent = 2,
                       .row = table_row,
                       .user = &rows_of,
                       .row_count = count},
               out);
}

/* "mape 4.31 with the best settings, 5.02 with the defaults" */
static void write_summary(sink *out, const ft_tuning *t) {
    if (t->best == FT_NONE) {
        buf_text(&out->text, "  Every trial failed.\n");
        return;
    }
    assert(t->best < t->count);
    const ft_trial *best = &t->trials[t->best], *defaults = &t->trials[0];
    buf_format(&out->text, "  %s %.3f with the settings of trial %u", t->objective, best->objective, best->index);
    if (defaults->index == 0 && defaults->rungs == best->rungs && !isnan(defaults->objective))
        buf_format(&out->text, ", %.3f with the defaults", defaults->objective);
    buf_format(&out->text, "; %u trials%s", t->count, t->is_complete ? "" : ", stopped by the time limit");
    if (t->failed > 0) buf_format(&out->text, "; %u failed", t->failed);
    buf_text(&out->text, ".\n");
    if (best->rungs < t->rungs)
        buf_text(&out->text, "  No trial has had the full effort yet: the ranking may change.\n");
}

static void write_table(sink *out, const ft_tuning *t, const uint32_t *order, uint32_t top, const ft_style *style) {
    uint32_t *rows = malloc((t->count + 1) * sizeof *rows), count = 0;
    if (rows == NULL) {
        out->text.failed = true;
        return;
    }
    for (uint32_t i = 0; i < t->count; i++)
        if (top == 0 || i < top || order[i] == 0) rows[count++] = order[i];
    buf_format(&out->text, "%s%s%s: %s of %s on the validation part of split ", tone_begin(style, TONE_TITLE),
               t->family, tone_end(style, TONE_TITLE), t->objective, t->metric);
    char clean[GRID_CELL_SIZE];
    text_fit(t->split, UINT32_MAX, style, clean, sizeof clean);
    buf_format(&out->text, "%s, seed %llu\n\n", clean, (unsigned long long)t->seed);
    write_rows(out, t, rows, count, style);
    buf_char(&out->text, '\n');
    write_summary(out, t);
    free(rows);
}

ft_status ft_tuning_write(const ft_tuning *tuning, uint32_t top, const ft_style *style, FILE *stream, ft_error *error) {
    FT_REQUIRE(error, tuning, style, stream);
    FT_TRY(style_check(style, error));
    sink out = {.stream = stream};
    uint32_t *order = rank(tuning);
    if (order == NULL) return FT_NOMEM(error);
    switch (style->output) {
    case FT_TABLE:
        write_table(&out, tuning, order, top, style);
        break;
    case FT_JSON:
        write_json(&out, tuning, order, top);
        break;
    case FT_CSV:
        tuning_csv(tuning, &out.text);
        break;
    }
    free(order);
    ft_status status = sink_flush(&out, error);
    sink_free(&out);
    return status;
}
