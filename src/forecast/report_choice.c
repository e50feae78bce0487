/* report_choice.c - devices and batches ranked by the time, cost or energy of a run, as a document. Those of which it
 * is not certain that the model fits, or whose time or price is unknown, are not ranked: they follow with the reason.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "forecast/report.h"
#include "report/grid.h"
#include "report/metric.h"
#include "report/style.h"

enum { INDENT = 2, USUAL_SAMPLES = 1000000 };

static const char *const goal_names[] = {"time", "cost", "energy"};

const char *ft_goal_name(ft_goal goal) {
    return (unsigned)goal <= FT_GOAL_ENERGY ? goal_names[goal] : "unknown";
}

bool ft_goal_parse(const char *text, ft_goal *goal) {
    for (int i = 0; text != NULL && goal != NULL && i <= FT_GOAL_ENERGY; i++)
        if (strcmp(goal_names[i], text) == 0) return *goal = (ft_goal)i, true;
    return false;
}

/* --- Candidates -------------------------------------------------------------------------------------------------- */

typedef struct candidate {
    uint32_t index; /* of the result */
    uint32_t rank;  /* from 1; FT_NONE: not ranked */
    result_row row;
    const char *fits;
    double free_bytes, power_w, energy_j, energy_lo_j, energy_hi_j;
    const char *energy_provenance;
    double value;       /* what is ranked by; NaN: not ranked */
    const char *reason; /* why not; NULL: it is */
} candidate;

#define CHOICE(member, kind)                                                                                           \
    { #member, kind, offsetof(candidate, member) }
#define OF_ROW(member, kind)                                                                                           \
    { #member, kind, offsetof(candidate, row.member) }

static const field choice_fields[] = {
    CHOICE(rank, FIELD_INDEX),
    OF_ROW(file, FIELD_TEXT),
    OF_ROW(device, FIELD_TEXT),
    OF_ROW(batch, FIELD_COUNT),
    OF_ROW(mode, FIELD_TEXT),
    OF_ROW(dtype, FIELD_TEXT),
    CHOICE(fits, FIELD_TEXT),
    OF_ROW(peak_bytes, FIELD_WHOLE),
    CHOICE(free_bytes, FIELD_WHOLE),
    OF_ROW(time_us, FIELD_RATIO),
    OF_ROW(samples_per_s, FIELD_RATIO),
    OF_ROW(provenance, FIELD_TEXT),
    OF_ROW(run_samples, FIELD_WHOLE),
    OF_ROW(run_s, FIELD_RATIO),
    OF_ROW(run_lo_s, FIELD_RATIO),
    OF_ROW(run_hi_s, FIELD_RATIO),
    OF_ROW(price_per_hour, FIELD_RATIO),
    OF_ROW(run_cost, FIELD_RATIO),
    OF_ROW(run_lo_cost, FIELD_RATIO),
    OF_ROW(run_hi_cost, FIELD_RATIO),
    CHOICE(power_w, FIELD_RATIO),
    CHOICE(energy_j, FIELD_RATIO),
    CHOICE(energy_lo_j, FIELD_RATIO),
    CHOICE(energy_hi_j, FIELD_RATIO),
    CHOICE(energy_provenance, FIELD_TEXT),
    CHOICE(reason, FIELD_TEXT),
    {NULL, FIELD_TEXT, 0},
};

/* The predicted power, for as many steps as the run has. Without it the power limit: what a device takes at most, an
 * upper bound, so it is assumed. */
static void fill_energy(const ft_result *result, candidate *c) {
    const ft_metric_result *power = ft_result_metric(result, "power_w"), *energy = ft_result_metric(result, "energy_j");
    if (power != NULL && energy != NULL) {
        double steps = c->row.run_s * 1e6 / c->row.time_us;
        c->power_w = power->value;
        c->energy_j = energy->value * steps;
        c->energy_lo_j = energy->lo * steps;
        c->energy_hi_j = energy->hi * steps;
        c->energy_provenance = isnan(c->energy_j) ? NULL : ft_provenance_name(energy->provenance);
        return;
    }
    c->power_w = request_sheet_number(&result->request, "power_w") * request_device_count(&result->request);
    c->energy_j = c->power_w * c->row.run_s;
    c->energy_lo_j = c->power_w * c->row.run_lo_s;
    c->energy_hi_j = c->power_w * c->row.run_hi_s;
    c->energy_provenance = isnan(c->energy_j) ? NULL : "assumed";
}

static const char *reason_of(const candidate *c, ft_fit fit, ft_goal goal) {
    if (fit == FT_FITS_NOT) return "it does not fit";
    if (isnan(c->free_bytes)) return "the memory of the device is unknown";
    if (fit != FT_FITS) return "it is uncertain whether it fits";
    if (isnan(c->row.time_us)) return c->row.time_reason != NULL ? c->row.time_reason : "the time is unknown";
    if (goal == FT_GOAL_COST && isnan(c->row.run_cost)) return "the price of the device is unknown";
    if (goal == FT_GOAL_ENERGY && isnan(c->energy_j)) return "the power of the device is unknown";
    return NULL;
}

static void fill_candidate(const ft_model_results *entry, uint32_t index, ft_goal goal, int64_t samples, candidate *c) {
    const ft_result *result = &entry->results->items[index];
    const model_facts none = {0};
    *c = (candidate){.index = index, .rank = FT_NONE};
    result_row_fill(entry, &none, result, samples, &c->row);
    result_row_add_cost(&result->request, &c->row);
    c->free_bytes = request_sheet_number(&result->request, "memory_bytes");
    ft_fit fit = ft_result_fit(result, c->free_bytes);
    c->fits = ft_fit_name(fit);
    fill_energy(result, c);
    c->reason = reason_of(c, fit, goal);
    c->value = goal == FT_GOAL_TIME ? c->row.run_s : goal == FT_GOAL_COST ? c->row.run_cost : c->energy_j;
    if (c->reason != NULL) c->value = NAN;
}

/* By value; equal ones, and those that are not ranked, as they were requested. */
static int by_value(const void *left, const void *right) {
    const candidate *a = left, *b = right;
    if (isnan(a->value) != isnan(b->value)) return isnan(a->value) ? 1 : -1;
    if (!isnan(a->value) && a->value != b->value) return a->value < b->value ? -1 : 1;
    return a->index < b->index ? -1 : 1;
}

/* --- Documents --------------------------------------------------------------------------------------------------- */

static void write_json(const candidate *all, uint32_t count, sink *out) {
    json_writer j;
    jsonw_init(&j, &out->text);
    jsonw_open_array(&j, JSON_BLOCK);
    for (uint32_t i = 0; i < count; i++) {
        jsonw_open_object(&j, JSON_BLOCK);
        for (const field *f = choice_fields; f->key != NULL; f++) field_json(f, &all[i], NULL, &j);
        jsonw_close(&j);
    }
    jsonw_close(&j);
    buf_char(&out->text, '\n');
}

static void write_csv(const candidate *all, uint32_t count, sink *out) {
    for (const field *f = choice_fields; f->key != NULL; f++)
        buf_format(&out->text, "%s%s", f->key, f[1].key != NULL ? "," : "\n");
    for (uint32_t i = 0; i < count; i++) {
        for (const field *f = choice_fields; f->key != NULL; f++) {
            field_csv(f, &all[i], NULL, &out->text);
            buf_char(&out->text, f[1].key != NULL ? ',' : '\n');
        }
    }
}

typedef struct choice_view {
    const candidate *all;
    const ft_style *style;
} choice_view;

static void put_cells(const void *user, uint32_t row, grid_cell *cells) {
    const choice_view *v = user;
    const candidate *c = &v->all[row];
    char words[UNIT_TEXT_SIZE];
    if (c->rank != FT_NONE) snprintf(cells[0].text, sizeof cells[0].text, "%u", c->rank);
    text_fit(c->row.device, UINT32_MAX, v->style, cells[1].text, sizeof cells[1].text);
    snprintf(cells[2].text, sizeof cells[2].text, "%llu", (unsigned long long)c->row.batch);
    metric_words("run_us", c->row.run_s * 1e6, words);
    snprintf(cells[3].text, sizeof cells[3].text, "%s", words[0] != '\0' ? words : "-");
    if (!isnan(c->row.run_cost)) unit_number(c->row.run_cost, words);
    snprintf(cells[4].text, sizeof cells[4].text, "%s", isnan(c->row.run_cost) ? "-" : words);
    if (!isnan(c->energy_j)) snprintf(words, sizeof words, "%.3g", c->energy_j / 3.6e6);
    snprintf(cells[5].text, sizeof cells[5].text, "%s", isnan(c->energy_j) ? "-" : words);
    metric_words("peak_bytes", c->row.peak_bytes, words);
    snprintf(cells[6].text, sizeof cells[6].text, "%s", words[0] != '\0' ? words : "-");
    text_fit(c->reason != NULL ? c->reason : c->row.provenance, UINT32_MAX, v->style, cells[7].text,
             sizeof cells[7].text);
}

static void write_table(const ft_model_results *entry, const candidate *all, uint32_t count, ft_goal goal,
                        const ft_style *style, sink *out) {
    static const grid_column columns[] = {{.title = "#", .is_right = true},
                                          {.title = "Device", .is_flexible = true, .is_distinct = true, .comfort = 14},
                                          {.title = "Batch", .is_right = true},
                                          {.title = "Run", .is_right = true},
                                          {.title = "Cost", .is_right = true},
                                          {.title = "kWh", .is_right = true},
                                          {.title = "Memory", .is_right = true},
                                          {.title = "Provenance", .is_flexible = true, .wraps = true, .comfort = 16}};
    const choice_view view = {all, style};
    char title[GRID_CELL_SIZE], samples[UNIT_TEXT_SIZE];
    unit_count((uint64_t)(count > 0 ? all[0].row.run_samples : 0), samples);
    text_fit(entry->file, style->width, style, title, sizeof title);
    buf_format(&out->text, "%s%s%s\n%*s%s of %s samples, ranked by %s\n\n", tone_begin(style, TONE_TITLE), title,
               tone_end(style, TONE_TITLE), INDENT, "",
               count > 0 && strcmp(all[0].row.mode, "train") == 0 ? "training" : "inference", samples,
               goal_names[goal]);
    grid_write(&(grid){.style = style,
                       .columns = columns,
                       .column_count = sizeof columns / sizeof columns[0],
                       .indent = INDENT,
                       .row = put_cells,
                       .user = &view,
                       .row_count = count},
               out);
}

ft_status ft_report_choice(FILE *stream, const ft_style *style, const ft_model_results *entry, ft_goal goal,
                           int64_t samples, uint32_t *best, ft_error *error) {
    FT_REQUIRE(error, stream, style, entry, entry->file, entry->model, entry->results);
    FT_TRY(style_check(style, error));
    if ((unsigned)goal > FT_GOAL_ENERGY || samples < 0)
        return ft_fail(error, FT_ERR_USAGE, "ft_report_choice: the goal or the number of samples is not valid");
    uint32_t count = entry->results->count, ranked = 0;
    candidate *all = calloc((size_t)count + 1, sizeof *all);
    if (all == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < count; i++) fill_candidate(entry, i, goal, samples > 0 ? samples : USUAL_SAMPLES, &all[i]);
    qsort(all, count, sizeof *all, by_value);
    while (ranked < count && all[ranked].reason == NULL) {
        all[ranked].rank = ranked + 1;
        ranked++;
    }
    if (best != NULL) *best = ranked > 0 ? all[0].index : FT_NONE;
    sink out = {.stream = stream};
    if (style->output == FT_JSON) write_json(all, count, &out);
    if (style->output == FT_CSV) write_csv(all, count, &out);
    if (style->output == FT_TABLE) write_table(entry, all, count, goal, style, &out);
    ft_status status = sink_flush(&out, error);
    sink_free(&out);
    free(all);
    return status;
}
