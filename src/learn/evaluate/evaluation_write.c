/* evaluation_write.c - writes an evaluation as a table: a row per device, the families of each, then the worst cases.
 * The other formats are in evaluation_json.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "learn/evaluate/evaluation.h"
#include "learn/score/score_table.h"
#include "report/metric.h"
#include "report/style.h"
#include "report/units.h"

enum { INDENT = 2, FOOT = 2 };

static void add_clean(sink *out, const ft_style *style, const char *text) {
    char clean[GRID_CELL_SIZE];
    text_fit(text, UINT32_MAX, style, clean, sizeof clean);
    buf_text(&out->text, clean);
}

static void write_heading(sink *out, const ft_style *style, const char *text) {
    buf_text(&out->text, tone_begin(style, TONE_TITLE));
    add_clean(out, style, text);
    buf_format(&out->text, "%s\n", tone_end(style, TONE_TITLE));
}

void evaluation_part_text(const ft_evaluation *e, char text[static PART_TEXT]) {
    if (e->split != NULL)
        snprintf(text, PART_TEXT, "%s part of split %s, seed %llu", ft_split_part_name(e->part), e->split,
                 (unsigned long long)e->seed);
    else
        snprintf(text, PART_TEXT, "all records");
}

static void write_head(sink *out, const ft_evaluation *e, const char *title, const ft_style *style) {
    char part[PART_TEXT];
    evaluation_part_text(e, part);
    write_heading(out, style, title);
    buf_format(&out->text, "  %s, %s; ", e->predictor_family, e->metric);
    add_clean(out, style, part);
    buf_format(&out->text, "\n  data set %s: %u records", e->data_hash, e->case_count);
    if (e->synthetic == e->case_count && e->synthetic > 0)
        buf_text(&out->text, ", SYNTHETIC: computed, not measured");
    else if (e->synthetic > 0)
        buf_format(&out->text, ", %u of them synthetic: computed, not measured", e->synthetic);
    if (e->left_out > 0) buf_format(&out->text, ", %u left out", e->left_out);
    if (e->refused > 0) {
        buf_format(&out->text, "\n  %u of these could not be predicted: ", e->refused);
        add_clean(out, style, e->refusal);
    }
    if (e->adapted > 0)
        buf_format(&out->text, "\n  %u more are of models that the predictor was adapted with: not evaluated",
                   e->adapted);
    buf_text(&out->text, "\n\n");
}

/* --- Scores -------------------------------------------------------------------------------------------------- */

#define MEAN_LABEL "mean of families"

/* The width of the longest name, bounded, so that all tables line up. */
static uint32_t label_width(const ft_evaluation *e) {
    uint32_t widest = sizeof MEAN_LABEL - 1;
    for (uint32_t i = 0; i < e->score_count; i++) {
        uint32_t device = text_columns(e->scores[i].device), family = text_columns(e->scores[i].family);
        if (device > widest) widest = device;
        if (family > widest) widest = family;
    }
    return widest < 20 ? widest : 20;
}

/* Writes the score "all" of each device. `rows` has room for all scores. */
static void write_devices(sink *out, const ft_evaluation *e, score_row *rows, const ft_style *style) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < e->score_count; i += evaluation_device_scores(e->scores + i, e->score_count - i))
        rows[count++] = (score_row){.label = e->scores[i].device, .score = &e->scores[i]};
    score_table_write(&(score_table){"Device", NULL, rows, count, 0, label_width(e)}, style, out);
}

/* Writes each family, and as the foot their mean and the score of all cases. Skipped for a single family, which adds
 * nothing to the row of the device. */
static void write_families(sink *out, const ft_evaluation *e, const ft_score *scores, uint32_t count, score_row *rows,
                           const ft_style *style) {
    if (count <= FOOT + 1) return;
    for (uint32_t i = FOOT; i < count; i++)
        rows[i - FOOT] = (score_row){.label = scores[i].family, .score = &scores[i]};
    rows[count - 2] = (score_row){.label = MEAN_LABEL, .score = &scores[1]};
    rows[count - 1] = (score_row){.label = "all records", .score = &scores[0]};
    buf_char(&out->text, '\n');
    write_heading(out, style, scores[0].device);
    score_table_write(&(score_table){"Family", NULL, rows, count, FOOT, label_width(e)}, style, out);
}

static void write_scores(sink *out, const ft_evaluation *e, const ft_style *style) {
    score_row *rows = calloc(e->score_count > 0 ? e->score_count : 1, sizeof *rows);
    if (rows == NULL) {
        out->text.failed = true;
        return;
    }
    write_devices(out, e, rows, style);
    for (uint32_t i = 0, run; i < e->score_count; i += run) {
        run = evaluation_device_scores(e->scores + i, e->score_count - i);
        write_families(out, e, e->scores + i, run, rows, style);
    }
    free(rows);
    buf_text(&out->text, "\n  Errors, shares, width of the interval and bias in percent.\n");
}

/* --- Tasks --------------------------------------------------------------------------------------------------- */

static void put_task(const void *user, uint32_t row, grid_cell *cells) {
    const ft_task_score *score = &((const ft_evaluation *)user)->tasks[row];
    const double numbers[] = {score->median, score->order,  score->order_clear, score->lost1,
                              score->lost5,  score->lost10, score->apart5,      score->apart10};
    snprintf(cells[0].text, sizeof cells[0].text, "%.60s", score->device);
    snprintf(cells[1].text, sizeof cells[1].text, "%u", score->tasks);
    snprintf(cells[2].text, sizeof cells[2].text, "%u", score->n);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) unit_fixed(numbers[i], 1, cells[3 + i].text);
}

static void write_tasks(sink *out, const ft_evaluation *e, const ft_style *style) {
    static const grid_column columns[] = {
        {.title = "Device"},
        {.title = "Tasks", .is_right = true},
        {.title = "n", .is_right = true},
        {.title = "Median", .is_right = true},
        {.title = "In order", .is_right = true},
        {.title = "Clear", .is_right = true},
        {.title = "Lost by 1", .is_right = true},
        {.title = "by 5", .is_right = true},
        {.title = "by 10", .is_right = true},
        {.title = "5 apart", .is_right = true},
        {.title = "10 apart", .is_right = true},
    };
    if (e->task_count == 0) return;
    buf_char(&out->text, '\n');
    write_heading(out, style, "Within tasks");
    grid_write(&(grid){.style = style,
                       .columns = columns,
                       .column_count = sizeof columns / sizeof columns[0],
                       .indent = INDENT,
                       .row = put_task,
                       .user = e,
                       .row_count = e->task_count},
               out);
    buf_text(&out->text, "\n  Names that have several graphs, such as the programs of a task: median error;\n"
                         "  pairs in order, and those that were measured more than 5 % apart; how much\n"
                         "  slower than the fastest the best of the 1, 5 and 10 is that are predicted to\n"
                         "  be fastest, and of 5 and 10 with predictions apart from each other. All in\n"
                         "  percent.\n");
}

/* --- Worst cases --------------------------------------------------------------------------------------------- */

typedef struct worst_list {
    const char *metric;
    const ft_case *cases;
    const ft_style *style;
} worst_list;

static void put_case(const void *user, uint32_t row, grid_cell *cells) {
    const worst_list *list = user;
    const ft_case *c = &list->cases[row];
    char error[UNIT_TEXT_SIZE];
    text_fit(c->device, UINT32_MAX, list->style, cells[0].text, sizeof cells[0].text);
    text_fit(c->name, UINT32_MAX, list->style, cells[1].text, sizeof cells[1].text);
    text_fit(c->family, UINT32_MAX, list->style, cells[2].text, sizeof cells[2].text);
    metric_words(list->metric, c->measured, cells[3].text);
    metric_words(list->metric, c->predicted, cells[4].text);
    unit_fixed(100 * (c->predicted / c->measured - 1), 1, error);
    snprintf(cells[5].text, sizeof cells[5].text, "%s %%", error);
    metric_interval(list->metric, c->lo, c->hi, cells[6].text);
}

static void write_worst(sink *out, const ft_evaluation *e, uint32_t max, const ft_style *style) {
    static const grid_column columns[] = {
        {.title = "Device"},
        {.title = "Model", .is_flexible = true, .comfort = 18},
        {.title = "Family", .is_flexible = true, .drop = 2},
        {.title = "Measured", .is_right = true},
        {.title = "Predicted", .is_right = true},
        {.title = "Error", .is_right = true},
        {.title = "90 % interval", .is_right = true},
    };
    uint32_t count;
    ft_case *worst = evaluation_worst(e, max, &count);
    if (worst == NULL) {
        out->text.failed = true;
        return;
    }
    if (count > 0) {
        buf_char(&out->text, '\n');
        write_heading(out, style, "Largest errors");
        grid_write(&(grid){.style = style,
                           .columns = columns,
                           .column_count = sizeof columns / sizeof columns[0],
                           .indent = INDENT,
                           .row = put_case,
                           .user = &(worst_list){e->metric, worst, style},
                           .row_count = count},
                   out);
    }
    free(worst);
}

static void write_table(sink *out, const ft_evaluation *e, const char *title, uint32_t worst, const ft_style *style) {
    write_head(out, e, title, style);
    write_scores(out, e, style);
    write_tasks(out, e, style);
    write_worst(out, e, worst, style);
}

ft_status ft_evaluation_write(const ft_evaluation *evaluation, const char *title, uint32_t worst, const ft_style *style,
                              FILE *stream, ft_error *error) {
    FT_REQUIRE(error, evaluation, title, style, stream);
    FT_TRY(style_check(style, error));
    sink out = {.stream = stream};
    switch (style->output) {
    case FT_TABLE:
        for (const ft_evaluation *e = evaluation; e != NULL; e = e->next) {
            if (e != evaluation) buf_char(&out.text, '\n');
            write_table(&out, e, title, worst, style);
        }
        break;
    case FT_JSON:
        evaluation_json(&out, evaluation, title, worst);
        break;
    case FT_CSV:
        evaluation_csv(&out, evaluation);
        break;
    }
    ft_status status = sink_flush(&out, error);
    sink_free(&out);
    return status;
}
