/* report_diff.c - two models compared on a device, as documents: the whole, and the kernels that changed, those that
 * became slower first. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "forecast/model_diff.h"
#include "forecast/report.h"
#include "report/grid.h"
#include "report/labelled.h"
#include "report/metric.h"
#include "report/style.h"

enum { INDENT = 2 };

/* --- Values ------------------------------------------------------------------------------------------------------ */

/* The whole, beside the device. Missing values are NaN. */
typedef struct diff_facts {
    const char *old_file, *new_file, *device, *mode, *dtype, *setting;
    uint64_t batch;
    double old_time_us, new_time_us, time_change_ratio;
    double old_peak_bytes, new_peak_bytes, peak_change_ratio;
    double old_params, new_params, old_macs_per_sample, new_macs_per_sample;
    uint64_t changed_count; /* kernels */
} diff_facts;

#define WHOLE(member, kind)                                                                                            \
    { #member, kind, offsetof(diff_facts, member) }

static const field whole_fields[] = {
    WHOLE(old_file, FIELD_TEXT),
    WHOLE(new_file, FIELD_TEXT),
    WHOLE(device, FIELD_TEXT),
    WHOLE(batch, FIELD_COUNT),
    WHOLE(mode, FIELD_TEXT),
    WHOLE(dtype, FIELD_TEXT),
    WHOLE(setting, FIELD_TEXT),
    WHOLE(old_time_us, FIELD_RATIO),
    WHOLE(new_time_us, FIELD_RATIO),
    WHOLE(time_change_ratio, FIELD_RATIO),
    WHOLE(old_peak_bytes, FIELD_WHOLE),
    WHOLE(new_peak_bytes, FIELD_WHOLE),
    WHOLE(peak_change_ratio, FIELD_RATIO),
    WHOLE(old_params, FIELD_WHOLE),
    WHOLE(new_params, FIELD_WHOLE),
    WHOLE(old_macs_per_sample, FIELD_WHOLE),
    WHOLE(new_macs_per_sample, FIELD_WHOLE),
    WHOLE(changed_count, FIELD_COUNT),
    {NULL, FIELD_TEXT, 0},
};

/* A kernel that changed. */
typedef struct diff_layer {
    const char *change; /* "slower", "faster", "added", "removed", "resized" */
    const char *kernel;
    double old_time_us, new_time_us, time_change_us;
    double old_params, new_params, old_moved_bytes, new_moved_bytes;
    kernel_pair pair;
    uint32_t order;
} diff_layer;

#define LAYER(member, kind)                                                                                            \
    { #member, kind, offsetof(diff_layer, member) }

static const field diff_layer_fields[] = {
    LAYER(change, FIELD_TEXT),       LAYER(kernel, FIELD_TEXT),           LAYER(old_time_us, FIELD_RATIO),
    LAYER(new_time_us, FIELD_RATIO), LAYER(time_change_us, FIELD_RATIO),  LAYER(old_params, FIELD_WHOLE),
    LAYER(new_params, FIELD_WHOLE),  LAYER(old_moved_bytes, FIELD_WHOLE), LAYER(new_moved_bytes, FIELD_WHOLE),
    {NULL, FIELD_TEXT, 0},
};

typedef struct diff {
    diff_side old_side, new_side;
    diff_facts facts;
    diff_layer *layers; /* those that changed */
    uint32_t layer_count;
} diff;

static double change_ratio(double old_value, double new_value) {
    return old_value > 0 ? new_value / old_value - 1 : NAN;
}

static const ft_part *part_at(const diff_side *s, uint32_t index) {
    return index != FT_NONE ? &ft_result_time(s->result)->parts[index] : NULL;
}

/* Time, parameters and bytes moved of a kernel: 0 of one that is not there, NaN where they are not known. */
static void add_side(const diff_side *s, uint32_t index, double *time_us, double *params, double *moved_bytes) {
    const ft_part *part = part_at(s, index);
    bool has_costs = s->cost.op_count > 0;
    *time_us = part != NULL ? part->value : 0;
    *params = *moved_bytes = part == NULL || has_costs ? 0 : NAN;
    for (uint32_t i = 0; part != NULL && has_costs && i < part->op_count; i++) {
        const ft_op_cost *op = &s->cost.ops[part->ops[i] < s->cost.op_count ? part->ops[i] : 0];
        *params += (double)op->params;
        *moved_bytes += (double)facts_moved(&op->forward);
    }
}

static const char *change_of(const diff_layer *l) {
    if (l->pair.old_part == FT_NONE) return "added";
    if (l->pair.new_part == FT_NONE) return "removed";
    double tolerance = 1e-9 * (l->old_time_us + l->new_time_us);
    if (l->time_change_us > tolerance) return "slower";
    if (l->time_change_us < -tolerance) return "faster";
    return l->old_params != l->new_params || l->old_moved_bytes != l->new_moved_bytes ? "resized" : NULL;
}

/* Slower ones first; equal ones as they run. */
static int by_change(const void *left, const void *right) {
    const diff_layer *a = left, *b = right;
    if (a->time_change_us != b->time_change_us) return a->time_change_us > b->time_change_us ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

static ft_status make_layers(diff *d, ft_error *error) {
    uint32_t count = 0;
    kernel_pair *pairs = model_diff_align(&d->old_side, &d->new_side, &count);
    d->layers = calloc((size_t)count + 1, sizeof *d->layers);
    if (pairs == NULL || d->layers == NULL) {
        free(pairs);
        return FT_NOMEM(error);
    }
    for (uint32_t i = 0; i < count; i++) {
        diff_layer l = {.pair = pairs[i], .order = i};
        const ft_part *part = part_at(&d->new_side, l.pair.new_part);
        l.kernel = part != NULL ? part->type : part_at(&d->old_side, l.pair.old_part)->type;
        add_side(&d->old_side, l.pair.old_part, &l.old_time_us, &l.old_params, &l.old_moved_bytes);
        add_side(&d->new_side, l.pair.new_part, &l.new_time_us, &l.new_params, &l.new_moved_bytes);
        l.time_change_us = l.new_time_us - l.old_time_us;
        l.change = change_of(&l);
        if (l.change != NULL) d->layers[d->layer_count++] = l;
    }
    free(pairs);
    qsort(d->layers, d->layer_count, sizeof *d->layers, by_change);
    return FT_OK;
}

static ft_status open_side(const ft_model_results *entry, uint32_t index, diff_side *side, model_facts *facts,
                           ft_error *error) {
    const ft_result *result = &entry->results->items[index];
    ft_binding binding = entry->shapes != NULL ? *entry->shapes : (ft_binding){0};
    const ft_cost_options options = request_cost_options(&result->request);
    ft_graph *bound = NULL;
    *side = (diff_side){.entry = entry, .result = result};
    FT_TRY(model_facts_compute(entry, facts, error));
    if (result_is_served(result)) return FT_OK; /* runs at several lengths: no operator has one cost */
    binding.batch = result->request.batch;
    FT_TRY(ft_graph_bind(entry->model, &binding, &bound, error));
    ft_status status = ft_cost_compute(bound, &options, &side->cost, error);
    ft_graph_free(bound);
    return status;
}

static void fill_facts(const diff *d, const model_facts *before, const model_facts *after, diff_facts *facts) {
    const ft_result *x = d->old_side.result, *y = d->new_side.result;
    *facts = (diff_facts){.old_file = d->old_side.entry->file,
                          .new_file = d->new_side.entry->file,
                          .device = y->request.device,
                          .mode = y->request.mode == FT_TRAIN ? "train" : "infer",
                          .dtype = ft_dtype_name(y->request.dtype),
                          .setting = y->request.setting != NULL ? y->request.setting : "",
                          .batch = (uint64_t)y->request.batch,
                          .old_time_us = ft_result_time(x)->value,
                          .new_time_us = ft_result_time(y)->value,
                          .old_peak_bytes = ft_result_memory(x)->value,
                          .new_peak_bytes = ft_result_memory(y)->value,
                          .old_params = (double)before->params,
                          .new_params = (double)after->params,
                          .old_macs_per_sample = before->macs_per_sample,
                          .new_macs_per_sample = after->macs_per_sample,
                          .changed_count = d->layer_count};
    facts->time_change_ratio = change_ratio(facts->old_time_us, facts->new_time_us);
    facts->peak_change_ratio = change_ratio(facts->old_peak_bytes, facts->new_peak_bytes);
}

static void close_diff(diff *d) {
    ft_cost_free(&d->old_side.cost);
    ft_cost_free(&d->new_side.cost);
    free(d->layers);
}

/* To be closed also after a failure. */
static ft_status open_diff(const ft_model_results *before, const ft_model_results *after, uint32_t index, diff *d,
                           ft_error *error) {
    model_facts old_facts, new_facts;
    *d = (diff){0};
    FT_TRY(open_side(before, index, &d->old_side, &old_facts, error));
    FT_TRY(open_side(after, index, &d->new_side, &new_facts, error));
    FT_TRY(make_layers(d, error));
    fill_facts(d, &old_facts, &new_facts, &d->facts);
    return FT_OK;
}

/* --- JSON and CSV ------------------------------------------------------------------------------------------------ */

/* "conv1+relu1"; nothing of a kernel that is not there. */
static void add_operators(const diff_side *s, uint32_t index, buf *text) {
    const ft_part *part = part_at(s, index);
    for (uint32_t i = 0; part != NULL && i < part->op_count; i++)
        buf_format(text, "%s%s", i > 0 ? "+" : "",
                   facts_op_name(s->entry->model, &ft_graph_ops(s->entry->model)[part->ops[i]]));
}

static void operators_json(json_writer *j, const char *key, const diff_side *s, uint32_t index) {
    const ft_part *part = part_at(s, index);
    jsonw_key(j, key);
    jsonw_open_array(j, JSON_LINE);
    for (uint32_t i = 0; part != NULL && i < part->op_count; i++)
        jsonw_string(j, facts_op_name(s->entry->model, &ft_graph_ops(s->entry->model)[part->ops[i]]));
    jsonw_close(j);
}

static void write_json(const diff *d, uint32_t top, bool is_first, sink *out) {
    json_writer j;
    buf_text(&out->text, is_first ? "[\n" : ",\n");
    jsonw_init(&j, &out->text);
    jsonw_open_object(&j, JSON_BLOCK);
    for (const field *f = whole_fields; f->key != NULL; f++) field_json(f, &d->facts, NULL, &j);
    jsonw_key(&j, "layers");
    jsonw_open_array(&j, JSON_BLOCK);
    for (uint32_t i = 0; i < d->layer_count && (top == 0 || i < top); i++) {
        jsonw_open_object(&j, JSON_LINE);
        for (const field *f = diff_layer_fields; f->key != NULL; f++) field_json(f, &d->layers[i], NULL, &j);
        operators_json(&j, "old_operators", &d->old_side, d->layers[i].pair.old_part);
        operators_json(&j, "new_operators", &d->new_side, d->layers[i].pair.new_part);
        jsonw_close(&j);
    }
    jsonw_close(&j);
    jsonw_close(&j);
}

/* A row for each kernel that changed. */
static void write_csv(const diff *d, uint32_t top, bool is_first, sink *out) {
    if (is_first) {
        buf_text(&out->text, "device,batch,");
        for (const field *f = diff_layer_fields; f->key != NULL; f++) buf_format(&out->text, "%s,", f->key);
        buf_text(&out->text, "old_operators,new_operators\n");
    }
    for (uint32_t i = 0; i < d->layer_count && (top == 0 || i < top); i++) {
        buf before = {0}, after = {0};
        csv_cell(&out->text, d->facts.device);
        buf_format(&out->text, ",%llu,", (unsigned long long)d->facts.batch);
        for (const field *f = diff_layer_fields; f->key != NULL; f++) {
            field_csv(f, &d->layers[i], NULL, &out->text);
            buf_char(&out->text, ',');
        }
        add_operators(&d->old_side, d->layers[i].pair.old_part, &before);
        add_operators(&d->new_side, d->layers[i].pair.new_part, &after);
        if (before.failed || after.failed) out->text.failed = true;
        csv_cell(&out->text, before.data != NULL ? before.data : "");
        buf_char(&out->text, ',');
        csv_cell(&out->text, after.data != NULL ? after.data : "");
        buf_char(&out->text, '\n');
        buf_free(&before);
        buf_free(&after);
    }
}

/* --- Tables ------------------------------------------------------------------------------------------------------ */

/* "812 us to 905 us, +11.5 %". */
static void add_line(labelled *l, const char *label, const char *metric, double old_value, double new_value) {
    char before[UNIT_TEXT_SIZE], after[UNIT_TEXT_SIZE];
    metric_words(metric, old_value, before);
    metric_words(metric, new_value, after);
    buf *out = labelled_add(l, label);
    if (before[0] == '\0' || after[0] == '\0') {
        buf_text(out, "not predicted");
        return;
    }
    if (old_value == new_value)
        buf_format(out, "%s, the same", after);
    else
        buf_format(out, "%s to %s, %+.1f %%", before, after, 100 * change_ratio(old_value, new_value));
}

typedef struct diff_view {
    const diff *d;
    const ft_style *style;
} diff_view;

static void put_change(double change_us, char *text, size_t size) {
    char words[UNIT_TEXT_SIZE];
    metric_words("time_us", fabs(change_us), words);
    snprintf(text, size, "%s%s", change_us < 0 ? "-" : "+", words);
}

static void put_layer(const void *user, uint32_t row, grid_cell *cells) {
    const diff_view *v = user;
    const diff_layer *l = &v->d->layers[row];
    bool is_gone = l->pair.new_part == FT_NONE;
    buf names = {0};
    snprintf(cells[0].text, sizeof cells[0].text, "%s", l->change);
    text_fit(l->kernel, UINT32_MAX, v->style, cells[1].text, sizeof cells[1].text);
    add_operators(is_gone ? &v->d->old_side : &v->d->new_side, is_gone ? l->pair.old_part : l->pair.new_part, &names);
    text_fit(names.data != NULL ? names.data : "", UINT32_MAX, v->style, cells[2].text, sizeof cells[2].text);
    buf_free(&names);
    metric_words("time_us", l->old_time_us, cells[3].text);
    metric_words("time_us", l->new_time_us, cells[4].text);
    put_change(l->time_change_us, cells[5].text, sizeof cells[5].text);
}

static void write_layers(const diff *d, uint32_t top, const ft_style *style, sink *out) {
    static const grid_column columns[] = {{.title = "Change"},
                                          {.title = "Kernel", .is_flexible = true, .comfort = 16},
                                          {.title = "Operators", .is_flexible = true, .comfort = 20},
                                          {.title = "Old", .is_right = true},
                                          {.title = "New", .is_right = true},
                                          {.title = "Time", .is_right = true}};
    const diff_view view = {d, style};
    uint32_t shown = top > 0 && top < d->layer_count ? top : d->layer_count;
    if (d->layer_count == 0) {
        buf_format(&out->text, "%*sno kernel changed\n", INDENT, "");
        return;
    }
    grid_write(&(grid){.style = style,
                       .columns = columns,
                       .column_count = sizeof columns / sizeof columns[0],
                       .indent = INDENT,
                       .row = put_layer,
                       .user = &view,
                       .row_count = shown},
               out);
    if (shown < d->layer_count)
        buf_format(&out->text, "%*sand %u more; --top 0 lists all\n", INDENT, "", d->layer_count - shown);
}

static void write_table(const diff *d, uint32_t top, bool is_first, const ft_style *style, sink *out) {
    const diff_facts *f = &d->facts;
    labelled lines = {0};
    char device[GRID_CELL_SIZE];
    text_fit(f->device, UINT32_MAX, style, device, sizeof device);
    if (!is_first) buf_char(&out->text, '\n');
    buf_format(&out->text, "%s%s to %s on %s, batch %llu, %s, %s%s\n", tone_begin(style, TONE_TITLE), f->old_file,
               f->new_file, device, (unsigned long long)f->batch,
               strcmp(f->mode, "train") == 0 ? "training" : "inference", f->dtype, tone_end(style, TONE_TITLE));
    add_line(&lines, "Time", "time_us", f->old_time_us, f->new_time_us);
    add_line(&lines, "Memory", "peak_bytes", f->old_peak_bytes, f->new_peak_bytes);
    add_line(&lines, "Parameters", "params", f->old_params, f->new_params);
    add_line(&lines, "MACs", "macs", f->old_macs_per_sample, f->new_macs_per_sample);
    labelled_write(&lines, style, INDENT, out);
    buf_char(&out->text, '\n');
    write_layers(d, top, style, out);
}

/* --- The whole --------------------------------------------------------------------------------------------------- */

static ft_status write_diff(const ft_model_results *before, const ft_model_results *after, uint32_t index,
                            const ft_style *style, uint32_t top, sink *out, ft_error *error) {
    diff d;
    ft_status status = open_diff(before, after, index, &d, error);
    if (status == FT_OK && style->output == FT_JSON) write_json(&d, top, index == 0, out);
    if (status == FT_OK && style->output == FT_CSV) write_csv(&d, top, index == 0, out);
    if (status == FT_OK && style->output == FT_TABLE) write_table(&d, top, index == 0, style, out);
    close_diff(&d);
    return status == FT_OK ? sink_flush(out, error) : status;
}

ft_status ft_report_diff(FILE *stream, const ft_style *style, const ft_model_results *before,
                         const ft_model_results *after, uint32_t top, ft_error *error) {
    FT_REQUIRE(error, stream, style, before, after, before->results, after->results);
    FT_TRY(style_check(style, error));
    uint32_t count = before->results->count;
    if (count != after->results->count)
        return ft_fail(error, FT_ERR_USAGE, "ft_report_diff: %u and %u results, but equal requests are expected", count,
                       after->results->count);
    sink out = {.stream = stream};
    ft_status status = FT_OK;
    for (uint32_t i = 0; i < count && status == FT_OK; i++)
        status = write_diff(before, after, i, style, top, &out, error);
    if (status == FT_OK && style->output == FT_JSON) buf_text(&out.text, count > 0 ? "\n]\n" : "[]\n");
    if (status == FT_OK) status = sink_flush(&out, error);
    sink_free(&out);
    return status;
}
