/* evaluation_json.c - an evaluation as JSON (docs/schema/evaluation.schema.json) and as CSV. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "learn/evaluate/evaluation.h"
#include "learn/score/metrics.h"
#include "report/fields.h"

enum { SCHEMA_VERSION = 1 };

/* Writes what was evaluated: metric, data set, split, part, counts. */
static void write_description(json_writer *j, const ft_evaluation *e) {
    jsonw_pair_string(j, "metric", e->metric);
    jsonw_pair_string(j, "data_hash", e->data_hash);
    jsonw_key(j, "split");
    if (e->split == NULL) {
        jsonw_null(j);
    } else {
        jsonw_open_object(j, JSON_LINE);
        jsonw_pair_string(j, "spec", e->split);
        jsonw_pair_uint(j, "seed", e->seed);
        jsonw_pair_string(j, "hash", e->split_hash);
        jsonw_close(j);
    }
    jsonw_pair_string(j, "part", e->split != NULL ? ft_split_part_name(e->part) : "all");
    jsonw_pair_uint(j, "records", e->case_count);
    jsonw_pair_uint(j, "synthetic", e->synthetic);
    jsonw_pair_uint(j, "left_out", e->left_out);
    if (e->adapted > 0) jsonw_pair_uint(j, "adapted", e->adapted);
    if (e->refused == 0) return;
    jsonw_pair_uint(j, "refused", e->refused);
    jsonw_pair_string(j, "refusal", e->refusal);
}

void evaluation_json_score(json_writer *j, const ft_score *score) {
    jsonw_pair_string(j, "device", score->device);
    jsonw_pair_string(j, "family", score->family);
    jsonw_pair_string(j, "metric", score->metric);
    jsonw_pair_uint(j, "n", score->n);
    for (size_t i = 0; i < SCORE_FIELDS; i++)
        jsonw_pair_double(j, score_fields[i].key, score_value(score, &score_fields[i]));
}

static void write_tasks(json_writer *j, const ft_evaluation *e) {
    jsonw_key(j, "tasks");
    jsonw_open_array(j, JSON_BLOCK);
    for (uint32_t i = 0; i < e->task_count; i++) {
        const ft_task_score *score = &e->tasks[i];
        jsonw_open_object(j, JSON_LINE);
        jsonw_pair_string(j, "device", score->device);
        jsonw_pair_uint(j, "tasks", score->tasks);
        jsonw_pair_uint(j, "n", score->n);
        jsonw_pair_double(j, "median", score->median);
        jsonw_pair_double(j, "order", score->order);
        jsonw_pair_double(j, "order_clear", score->order_clear);
        jsonw_pair_double(j, "lost1", score->lost1);
        jsonw_pair_double(j, "lost5", score->lost5);
        jsonw_pair_double(j, "lost10", score->lost10);
        jsonw_pair_double(j, "apart5", score->apart5);
        jsonw_pair_double(j, "apart10", score->apart10);
        jsonw_close(j);
    }
    jsonw_close(j);
}

static void write_case(json_writer *j, const ft_case *c) {
    jsonw_open_object(j, JSON_LINE);
    jsonw_pair_string(j, "device", c->device);
    jsonw_pair_string(j, "family", c->family);
    jsonw_pair_string(j, "model", c->name);
    jsonw_pair_uint(j, "record", c->record);
    jsonw_pair_double(j, "measured", c->measured);
    jsonw_pair_double(j, "predicted", c->predicted);
    jsonw_pair_double(j, "lo", c->lo);
    jsonw_pair_double(j, "hi", c->hi);
    jsonw_pair_double(j, "error", 100 * (c->predicted / c->measured - 1));
    jsonw_close(j);
}

static void write_worst(json_writer *j, const ft_evaluation *e, uint32_t max, buf *out) {
    uint32_t count = 0;
    ft_case *worst = evaluation_worst(e, max, &count);
    if (worst == NULL) out->failed = true;
    jsonw_key(j, "worst");
    jsonw_open_array(j, JSON_BLOCK);
    for (uint32_t i = 0; worst != NULL && i < count; i++) write_case(j, &worst[i]);
    jsonw_close(j);
    free(worst);
}

/* Writes the scores of the metrics from `e` up to, excluding, `end`; NULL: to the last. */
static void write_results(json_writer *j, const ft_evaluation *e, const ft_evaluation *end) {
    jsonw_key(j, "results");
    jsonw_open_array(j, JSON_BLOCK);
    for (; e != end; e = e->next) {
        for (uint32_t i = 0; i < e->score_count; i++) {
            jsonw_open_object(j, JSON_LINE);
            evaluation_json_score(j, &e->scores[i]);
            jsonw_close(j);
        }
    }
    jsonw_close(j);
}

/* Writes one metric into an open object. Its results are those of the metrics up to `end`. */
static void write_metric(json_writer *j, const ft_evaluation *e, const ft_evaluation *end, uint32_t worst, buf *out) {
    jsonw_pair_string(j, "predictor_family", e->predictor_family);
    write_description(j, e);
    write_results(j, e, end);
    write_tasks(j, e);
    write_worst(j, e, worst, out);
}

void evaluation_json(sink *out, const ft_evaluation *e, const char *title, uint32_t worst) {
    json_writer writer, *j = &writer;
    jsonw_init(j, &out->text);
    jsonw_open_object(j, JSON_BLOCK);
    jsonw_pair_uint(j, "schema_version", SCHEMA_VERSION);
    jsonw_pair_string(j, "predictor", title);
    write_metric(j, e, NULL, worst, &out->text); /* as in CSV: one list has the scores of all metrics */
    if (e->next != NULL) {
        jsonw_key(j, "also");
        jsonw_open_array(j, JSON_BLOCK);
        while ((e = e->next) != NULL) {
            jsonw_open_object(j, JSON_BLOCK);
            write_metric(j, e, e->next, worst, &out->text);
            jsonw_close(j);
        }
        jsonw_close(j);
    }
    jsonw_close(j);
    buf_char(&out->text, '\n');
}

/* --- CSV ----------------------------------------------------------------------------------------------------- */

void evaluation_csv_heading(buf *out) {
    buf_text(out, "device,family,metric,n");
    for (size_t i = 0; i < SCORE_FIELDS; i++) buf_format(out, ",%s", score_fields[i].key);
}

void evaluation_csv_score(buf *out, const ft_score *score) {
    csv_cell(out, score->device);
    buf_char(out, ',');
    csv_cell(out, score->family);
    buf_char(out, ',');
    csv_cell(out, score->metric);
    buf_format(out, ",%u", score->n);
    for (size_t i = 0; i < SCORE_FIELDS; i++) {
        char text[DOUBLE_TEXT_SIZE] = "";
        double value = score_value(score, &score_fields[i]);
        if (isfinite(value)) double_text(value, text);
        buf_format(out, ",%s", text);
    }
}

void evaluation_csv(sink *out, const ft_evaluation *e) {
    evaluation_csv_heading(&out->text);
    buf_char(&out->text, '\n');
    for (; e != NULL; e = e->next) {
        for (uint32_t i = 0; i < e->score_count; i++) {
            evaluation_csv_score(&out->text, &e->scores[i]);
            buf_char(&out->text, '\n');
        }
    }
}
