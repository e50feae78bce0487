/* evaluation_json.c - an evaluation as JSON (docs/schema/evaluation.schema.json) and as CSV. */
#include <math.h>
#include <stdio.h>

#include "learn/evaluation.h"
#include "learn/metrics.h"
#include "report/fields.h"

enum { SCHEMA_VERSION = 1 };

static void write_text(json_writer *j, const char *key, const char *text) {
    jsonw_key(j, key);
    jsonw_string(j, text);
}

static void write_number(json_writer *j, const char *key, double value) {
    jsonw_key(j, key);
    jsonw_double(j, value);
}

static void write_count(json_writer *j, const char *key, uint64_t value) {
    jsonw_key(j, key);
    jsonw_uint(j, value);
}

void evaluation_json_subject(json_writer *j, const ft_evaluation *e) {
    write_text(j, "metric", e->metric);
    write_text(j, "data_hash", e->data_hash);
    jsonw_key(j, "split");
    if (e->split == NULL) {
        jsonw_null(j);
    } else {
        jsonw_open_object(j, JSON_LINE);
        write_text(j, "spec", e->split);
        write_count(j, "seed", e->seed);
        write_text(j, "hash", e->split_hash);
        jsonw_close(j);
    }
    write_text(j, "part", e->split != NULL ? ft_part_name(e->part) : "all");
    write_count(j, "records", e->case_count);
    write_count(j, "left_out", e->left_out);
}

void evaluation_json_score(json_writer *j, const ft_score *score) {
    write_text(j, "device", score->device);
    write_text(j, "family", score->family);
    write_text(j, "metric", score->metric);
    write_count(j, "n", score->n);
    for (size_t i = 0; i < SCORE_FIELDS; i++)
        write_number(j, score_fields[i].key, score_value(score, &score_fields[i]));
}

static void write_case(json_writer *j, const ft_case *c) {
    jsonw_open_object(j, JSON_LINE);
    write_text(j, "device", c->device);
    write_text(j, "family", c->family);
    write_text(j, "model", c->name);
    write_count(j, "record", c->record);
    write_number(j, "measured", c->measured);
    write_number(j, "predicted", c->predicted);
    write_number(j, "lo", c->lo);
    write_number(j, "hi", c->hi);
    write_number(j, "error", 100 * (c->predicted / c->measured - 1));
    jsonw_close(j);
}

void evaluation_json(sink *out, const ft_evaluation *e, const char *title, const ft_case *worst, uint32_t worst_count) {
    json_writer writer, *j = &writer;
    jsonw_init(j, &out->text);
    jsonw_open_object(j, JSON_BLOCK);
    write_count(j, "schema_version", SCHEMA_VERSION);
    write_text(j, "predictor", title);
    write_text(j, "predictor_family", e->predictor_family);
    evaluation_json_subject(j, e);
    jsonw_key(j, "results");
    jsonw_open_array(j, JSON_BLOCK);
    for (uint32_t i = 0; i < e->score_count; i++) {
        jsonw_open_object(j, JSON_LINE);
        evaluation_json_score(j, &e->scores[i]);
        jsonw_close(j);
    }
    jsonw_close(j);
    jsonw_key(j, "worst");
    jsonw_open_array(j, JSON_BLOCK);
    for (uint32_t i = 0; i < worst_count; i++) write_case(j, &worst[i]);
    jsonw_close(j);
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
    for (uint32_t i = 0; i < e->score_count; i++) {
        evaluation_csv_score(&out->text, &e->scores[i]);
        buf_char(&out->text, '\n');
    }
}
