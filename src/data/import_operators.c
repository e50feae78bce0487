/* import_operators.c - import of single operators, measured by nn-Meter to find fusion rules.
 *
 * To detect whether a runtime fuses two operators, nn-Meter timed each alone and both together, on small inputs:
 * maps of 28 x 28 x 16, vectors of 428. Its files keep the times: the rule "BF_relu_conv" holds those of "relu",
 * "conv" and both. The time of one operator contains what no sum over a network can separate, so each becomes a
 * model of its own.
 *
 * The first operator of a rule has that input; one after pooling has maps of half the size, one after a
 * concatenation twice the channels. Times of the same operator on the same input are averaged. Convolutions are left
 * out: their times contradict each other (on the CPU, a quarter of the work takes a thirtieth of the time). */
#include "data/import.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/input.h"
#include "base/json.h"
#include "base/text.h"
#include "read/tfgraph.h"

#define OPERATORS_FAMILY "nnmeter-operators"

enum { HEIGHT = 28, CHANNELS = 16, VECTOR = 428, SQUEEZE = 4, MAX_NODES = 16, MAX_METRICS = 8 };
static const uint64_t FILE_LIMIT = 16 << 20;

/* --- Measured operators ------------------------------------------------------------------------------------------ */

typedef struct rule_file {
    const char *name, *device;
    double us; /* microseconds per unit of time of the file */
} rule_file;

static const rule_file files[] = {
    {"fusion_rules_tflite_cpu.json", "cortex-a76", 1},
    {"fusion_rules_tflite_gpu.json", "adreno-640", 1000},
    {"fusion_rules_vpu.json", "myriad-vpu", 1000},
};

typedef struct op_model op_model;
typedef void build_rule(op_model *d);

typedef struct measured_op {
    const char *name;   /* name in the rules */
    const char *before; /* operator before it, NULL: none */
    build_rule *build;
    int64_t height, channels;
} measured_op;

/* --- Building models --------------------------------------------------------------------------------------------- */

struct op_model {
    tf_node nodes[MAX_NODES];
    uint32_t inputs[MAX_NODES][2];
    uint32_t count;
    int64_t height, channels;
};

static tf_shape map_shape(int64_t height, int64_t channels) {
    return (tf_shape){.rank = 4, .dims = {1, height, height, channels}};
}

/* Adds a node; inputs are node indices, or -1. Returns its index. */
static int add_node(op_model *d, const char *type, int first, int second, tf_shape out) {
    assert(d->count < MAX_NODES);
    assert(first < (int)d->count && second < (int)d->count);
    tf_node *node = &d->nodes[d->count];
    uint32_t *inputs = d->inputs[d->count];
    *node = (tf_node){.type = tf_type_of(type), .inputs = inputs, .in = out, .out = out};
    if (first >= 0) {
        inputs[node->input_count++] = (uint32_t)first;
        node->in = d->nodes[first].out;
    }
    if (second >= 0) inputs[node->input_count++] = (uint32_t)second;
    return (int)d->count++;
}

static int add_map(op_model *d) {
    return add_node(d, "Placeholder", -1, -1, map_shape(d->height, d->channels));
}

static int add_constant(op_model *d) {
    return add_node(d, "Const", -1, -1, (tf_shape){0});
}

static int add_window(op_model *d, const char *type, int input, int64_t side, int64_t stride, int64_t channels) {
    const tf_shape *in = &d->nodes[input].out;
    int node = add_node(d, type, input, -1, map_shape((in->dims[1] + stride - 1) / stride, channels));
    tf_node *made = &d->nodes[node];
    made->kernel[0] = made->kernel[1] = side;
    made->strides[0] = made->strides[1] = stride;
    if (made->type.kind == TF_POOL) return node;
    made->kernel[2] = in->dims[3];
    made->kernel[3] = made->type.kind == TF_DEPTHWISE ? 1 : channels;
    return node;
}

static void build_relu(op_model *d) {
    add_node(d, "Relu", add_map(d), -1, map_shape(d->height, d->channels));
}

static void build_add(op_model *d) {
    int first = add_map(d), second = add_map(d);
    add_node(d, "Add", first, second, map_shape(d->height, d->channels));
}

static void build_concat(op_model *d) {
    int first = add_map(d), second = add_map(d);
    add_node(d, "ConcatV2", first, second, map_shape(d->height, 2 * d->channels));
}

static void build_pooling(op_model *d) {
    add_window(d, "AvgPool", add_map(d), 3, 2, d->channels);
}

static void build_depthwise(op_model *d) {
    add_window(d, "DepthwiseConv2dNative", add_map(d), 3, 1, d->channels);
}

static void build_reshape(op_model *d) {
    tf_shape turned = {.rank = 4, .dims = {1, d->height, d->channels, d->height}};
    add_node(d, "Reshape", add_map(d), -1, turned);
}

static void build_dense(op_model *d) {
    tf_shape vector = {.rank = 2, .dims = {1, VECTOR}};
    add_node(d, "MatMul", add_node(d, "Placeholder", -1, -1, vector), -1, vector);
}

/* Hard swish or its gate: relu6(x + 3) / 6. */
static int add_gate(op_model *d, int x) {
    tf_shape shape = d->nodes[x].out;
    int shifted = add_node(d, "Add", x, add_constant(d), shape);
    int clipped = add_node(d, "Relu6", shifted, -1, shape);
    return add_node(d, "Mul", clipped, add_constant(d), shape);
}

static void build_hswish(op_model *d) {
    int x = add_map(d);
    add_node(d, "Mul", x, add_gate(d, x), d->nodes[x].out);
}

static void build_squeeze_excite(op_model *d) {
    int x = add_map(d), mean = add_node(d, "AvgPool", x, -1, map_shape(1, d->channels));
    d->nodes[mean].kernel[0] = d->nodes[mean].kernel[1] = d->height;
    d->nodes[mean].strides[0] = d->nodes[mean].strides[1] = 1;
    int narrow = add_window(d, "Conv2D", mean, 1, 1, d->channels / SQUEEZE);
    narrow = add_node(d, "BiasAdd", narrow, -1, d->nodes[narrow].out);
    narrow = add_node(d, "Relu", narrow, -1, d->nodes[narrow].out);
    int wide = add_window(d, "Conv2D", narrow, 1, 1, d->channels);
    wide = add_node(d, "BiasAdd", wide, -1, d->nodes[wide].out);
    add_node(d, "Mul", x, add_gate(d, wide), d->nodes[x].out);
}

static const measured_op ops[] = {
    {"relu", NULL, build_relu, HEIGHT, CHANNELS},
    {"add", NULL, build_add, HEIGHT, CHANNELS},
    {"concat", NULL, build_concat, HEIGHT, CHANNELS},
    {"pooling", NULL, build_pooling, HEIGHT, CHANNELS},
    {"dwconv", NULL, build_depthwise, HEIGHT, CHANNELS},
    {"dense", NULL, build_dense, 1, VECTOR},
    {"reshape", NULL, build_reshape, HEIGHT, CHANNELS},
    {"hswish", "conv", build_hswish, HEIGHT, CHANNELS},
    {"se", "conv", build_squeeze_excite, HEIGHT, CHANNELS},
    {"relu", "pooling", build_relu, HEIGHT / 2, CHANNELS},
    {"add", "pooling", build_add, HEIGHT / 2, CHANNELS},
    {"dwconv", "pooling", build_depthwise, HEIGHT / 2, CHANNELS},
    {"pooling", "pooling", build_pooling, HEIGHT / 2, CHANNELS},
    {"relu", "concat", build_relu, HEIGHT, 2 * CHANNELS},
    {"add", "concat", build_add, HEIGHT, 2 * CHANNELS},
    {"dwconv", "concat", build_depthwise, HEIGHT, 2 * CHANNELS},
    {"pooling", "concat", build_pooling, HEIGHT, 2 * CHANNELS},
};

enum { OP_COUNT = sizeof ops / sizeof ops[0] };

static ft_status build_graph(const measured_op *op, ft_graph **graph, ft_error *error) {
    op_model d = {.height = op->height, .channels = op->channels};
    op->build(&d);
    ft_graph *made;
    FT_TRY(graph_new(FT_FORMAT_CG, FT_NHWC, op->name, &made, error));
    ft_status status = tf_build(d.nodes, d.count, made, error);
    if (status != FT_OK)
        ft_graph_free(made);
    else
        *graph = made;
    return status;
}

/* --- Reading times ----------------------------------------------------------------------------------------------- */

/* "23.6 +- 2.0", under "relu", or under "relu_1" and "relu_2" in rules with two of a kind; NaN when absent. */
static double time_of(const json_t *rule, const char *name, int place) {
    char numbered[64];
    const json_t *times = json_object_get(rule, "latency");
    snprintf(numbered, sizeof numbered, "%s_%d", name, place);
    const char *text = json_string_value(json_object_get(times, numbered));
    if (text == NULL) text = json_string_value(json_object_get(times, name));
    double value;
    if (text == NULL || !text_double(text, strcspn(text, " "), &value)) return NAN;
    return value;
}

/* The mean over the rules with this operator on this input; NaN when there is none, or the time is zero. */
static double mean_time(const json_t *rules, const measured_op *op) {
    double sum = 0;
    uint32_t count = 0;
    const char *key;
    json_t *rule;
    char wanted[128];
    if (op->before != NULL)
        snprintf(wanted, sizeof wanted, "BF_%s_%s", op->before, op->name);
    else
        snprintf(wanted, sizeof wanted, "BF_%s_", op->name);
    json_object_foreach((json_t *)rules, key, rule) {
        bool matches = op->before != NULL ? strcmp(key, wanted) == 0 : strncmp(key, wanted, strlen(wanted)) == 0;
        double time = matches ? time_of(rule, op->name, op->before != NULL ? 2 : 1) : NAN;
        if (isnan(time)) continue;
        sum += time;
        count++;
    }
    return count > 0 && sum > 0 ? sum / count : NAN;
}

/* --- Adding ------------------------------------------------------------------------------------------------------ */

typedef struct adding {
    import_job *job;
    builder *b;
    uint32_t time, metric_count;
} adding;

static ft_status add_op(const adding *a, const rule_file *file, const measured_op *op, double time_us) {
    ft_graph *graph;
    uint32_t index;
    char name[128], where[256];
    FT_TRY(build_graph(op, &graph, a->job->error));
    ft_status status = builder_add_graph(a->b, graph, &index, a->job->error);
    ft_graph_free(graph);
    FT_TRY(status);
    double metrics[MAX_METRICS];
    for (uint32_t i = 0; i < a->metric_count; i++) metrics[i] = i == a->time ? time_us : NAN;
    snprintf(name, sizeof name, "%s%s%s", op->name, op->before != NULL ? "-after-" : "",
             op->before != NULL ? op->before : "");
    snprintf(where, sizeof where, "%s: %s", file->name, name);
    ft_record record = {.graph = index, .name = name, .family = OPERATORS_FAMILY, .device = file->device};
    record.setting = "";
    record.part = "support"; /* for training, never tested */
    record.batch = 1;
    record.dtype = FT_FLOAT32;
    record.metrics = metrics;
    a->job->result->models++;
    return import_record(a->job, a->b, &record, where);
}

static ft_status add_file(const adding *a, const rule_file *file, const char *path) {
    input in;
    json_t *rules;
    FT_TRY(input_open(path, FILE_LIMIT, &in, a->job->error));
    ft_status status = json_parse(in.bytes, in.size, &rules, a->job->error);
    input_close(&in);
    if (status == FT_ERR_NOMEM) return status;
    if (status != FT_OK) return import_skip(a->job, path, "not a file of nn-Meter's fusion rules");
    for (uint32_t i = 0; status == FT_OK && i < OP_COUNT; i++) {
        double time = mean_time(rules, &ops[i]) * file->us;
        if (time > 0) status = add_op(a, file, &ops[i], time);
    }
    json_decref(rules);
    return status;
}

ft_status import_operators(import_job *job, builder *b, const char *folder, uint32_t time, uint32_t metric_count) {
    adding a = {.job = job, .b = b, .time = time, .metric_count = metric_count};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char *path = NULL;
        struct stat info;
        if (asprintf(&path, "%s/%s", folder, files[i].name) < 0) return FT_NOMEM(job->error);
        ft_status status = stat(path, &info) == 0 ? add_file(&a, &files[i], path) : FT_OK;
        free(path);
        FT_TRY(status);
    }
    return FT_OK;
}
