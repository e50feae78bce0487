/* Small networks on each accelerator: the passes that operators become, their blocks, stripes, buffers and cycles.
 *
 * tests/npu/networks.txt describes the networks and lists what is expected of them. The listing is that of the code
 * that reproduced Vela's reports of whole networks; it notices changes, test_cycles.c and test_estimate.c check values
 * by hand. After a wanted change, review $BUILD/npu-networks.txt and copy it over.
 *
 *     network NAME [onnx]          operators of TFLite, NHWC; or of ONNX, NCHW
 *     input NAME TYPE SIZE...
 *     const NAME TYPE SIZE... [= VALUE...]
 *     op TYPE INPUT... > OUTPUT TYPE SIZE... [> ...] [| ATTRIBUTE=VALUE[,VALUE]...]     a TYPE is i8, u8, i16, i32, i64
 * or f32 output NAME...
 *
 * Lines that begin with a space are expected. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/graph.h"
#include "npu/estimate.h"

enum { MAX_NAMES = 128, MAX_WORDS = 64 };

typedef struct network {
    ft_graph *graph;
    char names[MAX_NAMES][16];
    uint32_t count;
} network;

/* --- Reading a network ------------------------------------------------------------------------------------------- */

static void must(ft_status status, const ft_error *error) {
    if (status != FT_OK) fail_msg("%s", error->message);
}

static ft_dtype dtype_named(const char *name) {
    static const struct {
        const char *name;
        ft_dtype dtype;
    } all[] = {{"i8", FT_INT8},   {"u8", FT_UINT8},  {"i16", FT_INT16},
               {"i32", FT_INT32}, {"i64", FT_INT64}, {"f32", FT_FLOAT32}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strcmp(all[i].name, name) == 0) return all[i].dtype;
    fail_msg("there is no type %s", name);
    return FT_FLOAT32;
}

/* Words from `at` on: name, type, sizes. Returns the index of the first word behind them. */
static uint32_t read_tensor(network *n, ft_role role, char **words, uint32_t count, uint32_t at, uint32_t *index) {
    ft_tensor spec = {
        .name = words[at], .dtype = dtype_named(words[at + 1]), .role = role, .is_batched = role != FT_CONSTANT};
    ft_error error;
    snprintf(n->names[n->count++], sizeof n->names[0], "%s", words[at]);
    for (at += 2; at < count && strchr("0123456789", words[at][0]) != NULL; at++)
        spec.dims[spec.rank++] = atoll(words[at]);
    if (at < count && strcmp(words[at], "=") == 0) {
        int64_t *values;
        ft_value *value = graph_value_ints(n->graph, count - at - 1, &values);
        assert_non_null(value);
        for (uint32_t i = at + 1; i < count; i++) values[i - at - 1] = atoll(words[i]);
        spec.value = value;
        at = count;
    }
    must(graph_add_tensor(n->graph, &spec, index, &error), &error);
    return at;
}

static uint32_t tensor_named(const network *n, const char *name) {
    for (uint32_t i = 0; i < n->count; i++)
        if (strcmp(n->names[i], name) == 0) return i;
    fail_msg("there is no tensor %s", name);
    return FT_NONE;
}

static ft_attr read_attribute(const network *n, char *word) {
    ft_attr attr = {0};
    ft_error error;
    char *value = strchr(word, '=');
    int64_t numbers[4], count = 0;
    assert_non_null(value);
    *value++ = '\0';
    if (strchr("-0123456789", value[0]) == NULL) {
        must(graph_attr_string(n->graph, &attr, word, value, &error), &error);
        return attr;
    }
    bool is_list = strchr(value, ',') != NULL;
    for (char *part = strtok(value, ","); part != NULL && count < 4; part = strtok(NULL, ","))
        numbers[count++] = atoll(part);
    if (is_list)
        must(graph_attr_ints(n->graph, &attr, word, numbers, (size_t)count, &error), &error);
    else
        must(graph_attr_int(n->graph, &attr, word, numbers[0], &error), &error);
    return attr;
}

static void read_op(network *n, char **words, uint32_t count) {
    uint32_t inputs[MAX_WORDS], outputs[8], at = 2;
    ft_op spec = {.name = "op", .type = words[1], .inputs = inputs, .outputs = outputs};
    ft_attr attrs[8];
    ft_error error;
    for (; at < count && words[at][0] != '>'; at++)
        inputs[spec.input_count++] = strcmp(words[at], "-") == 0 ? FT_NONE : tensor_named(n, words[at]);
    while (at < count && words[at][0] == '>')
        at = read_tensor(n, FT_ACTIVATION, words, count, at + 1, &outputs[spec.output_count++]);
    if (at < count && words[at][0] == '|') {
        for (at++; at < count; at++) attrs[spec.attr_count++] = read_attribute(n, words[at]);
        spec.attrs = arena_copy(&n->graph->memory, attrs, spec.attr_count * sizeof *attrs);
    }
    must(graph_add_op(n->graph, &spec, &error), &error);
}

static void read_line(network *n, char *line) {
    char *words[MAX_WORDS];
    uint32_t count = 0, index;
    ft_error error;
    for (char *word = strtok(line, " "); word != NULL && count < MAX_WORDS; word = strtok(NULL, " "))
        words[count++] = word;
    if (count == 0) return;
    if (strcmp(words[0], "input") == 0) {
        read_tensor(n, FT_INPUT, words, count, 1, &index);
        must(graph_add_input(n->graph, index, &error), &error);
    } else if (strcmp(words[0], "const") == 0) {
        read_tensor(n, FT_CONSTANT, words, count, 1, &index);
    } else if (strcmp(words[0], "op") == 0) {
        read_op(n, words, count);
    } else {
        assert_string_equal(words[0], "output");
        for (uint32_t i = 1; i < count; i++)
            must(graph_add_output(n->graph, tensor_named(n, words[i]), &error), &error);
    }
}

/* --- Listing ----------------------------------------------------------------------------------------------------- */

static const char *const block_names[] = {"conv", "depthwise", "vector", "pool", "reduce", "elementwise", "copy"};

static void print_map(FILE *out, const char *name, const npu_net *net, uint32_t tensor, npu_shape whole,
                      npu_shape part) {
    if (tensor == FT_NONE) return;
    const npu_tensor *t = &net->tensors[tensor];
    fprintf(out, " %s t%u %ldx%ldx%ldx%ld", name, tensor, (long)whole.n, (long)whole.h, (long)whole.w, (long)whole.c);
    if (!npu_shape_equal(whole, part))
        fprintf(out, "/%ldx%ldx%ldx%ld", (long)part.n, (long)part.h, (long)part.w, (long)part.c);
    fprintf(out, " %db%s%s%s%s%s%s p%u c%u", t->bytes, t->is_const ? "K" : "", t->is_scalar ? "S" : "",
            t->is_external ? "E" : "", t->is_output ? "O" : "", t->is_linear ? "L" : "", t->is_kept ? "k" : "",
            t->producers, t->consumers);
}

static void print_pass(FILE *out, const npu_net *net, uint32_t i) {
    const npu_pass *p = &net->passes[i];
    fprintf(out, " pass %u op %u %s math %d act %d", i, p->op, block_names[p->block], (int)p->math, (int)p->activation);
    if (p->has_table) fprintf(out, " table %d", p->table_bytes);
    print_map(out, "ifm", net, p->ifm, p->ifm_shape, p->read);
    print_map(out, "ifm2", net, p->ifm2, p->ifm2_shape, p->read2);
    print_map(out, "ofm", net, p->ofm, p->ofm_shape, p->write);
    if (p->kernel_h * p->kernel_w > 1) fprintf(out, " kernel %dx%d", p->kernel_h, p->kernel_w);
    if (p->stride_y * p->stride_x > 1) fprintf(out, " stride %dx%d", p->stride_y, p->stride_x);
    if (p->dilation_y * p->dilation_x > 1) fprintf(out, " dilation %dx%d", p->dilation_y, p->dilation_x);
    if (p->has_weights)
        fprintf(out, " weights %ld coding %d bias %d reach %.3f live %.2f%s", (long)p->weights, (int)p->coding,
                p->bias_bytes, p->reach, p->live, p->is_per_channel ? " per-channel" : "");
    fprintf(out, "%s%s%s%s%s%s%s%s up %d segment %u\n", p->is_unary ? " unary" : "", p->reuses_weights ? " reused" : "",
            p->is_tiled ? " tiled" : "", p->has_read_offset ? " offset" : "", p->is_slice_write ? " slice" : "",
            p->is_transposed_conv ? " transposed" : "", p->is_unaligned_write ? " unaligned" : "", "", (int)p->upscale,
            p->segment);
}

static void print_costs(FILE *out, npu_net *net, const npu_arch *arch, const npu_compression *codes, const char *name) {
    npu_estimate e;
    ft_error error;
    ft_status status = npu_estimate_make(net, arch, codes, net->memory, &e, &error);
    if (status != FT_OK) {
        fprintf(out, " %s %s: %s\n", arch->name, name, error.message);
        return;
    }
    fprintf(out, " %s %s: sram %.0f arena %.0f weights %.0f scales %.0f constants %.0f slices %.0f elementwise %.0f",
            arch->name, name, e.sram_bytes, e.slow_arena_bytes, e.weight_bytes, e.scale_bytes, e.constant_bytes,
            e.slices, e.elementwise_passes);
    fprintf(out, " sum %.6g %.6g %.6g %.6g\n", e.sum.engine, e.sum.sram, e.sum.slow, e.sum.total);
    for (uint32_t i = 0; i < net->pass_count; i++) {
        const npu_plan *plan = &e.schedule.plans[i];
        const npu_pass *p = &net->passes[i];
        const npu_block_config *b = &plan->config;
        const npu_tensor *ifm = &e.schedule.net->tensors[p->ifm], *ofm = &e.schedule.net->tensors[p->ofm];
        fprintf(out, "  %u %.6g %.6g %.6g %.6g block %ldx%ldx%ld/%ldx%ldx%ld%s%s %s%s", i, e.passes[i].engine,
                e.passes[i].sram, e.passes[i].slow, e.passes[i].total, (long)b->ofm.h, (long)b->ofm.w, (long)b->ofm.c,
                (long)b->ifm.h, (long)b->ifm.w, (long)b->ifm.c, b->is_part_kernel ? "P" : "", b->has_acc40 ? "A" : "",
                ifm->is_linear ? "L" : "B", ofm->is_linear ? "L" : "B");
        fprintf(out, " in %s out %s", e.schedule.areas[p->ifm] == NPU_SRAM ? "fast" : "slow",
                e.schedule.areas[p->ofm] == NPU_SRAM ? "fast" : "slow");
        if (plan->cascade != 0)
            fprintf(out, " cascade %u stripe %ld of %ld rolling %ld", plan->cascade, (long)plan->stripe.h,
                    (long)plan->stripe_input.h, (long)plan->rolling_h);
        if (p->has_weights)
            fprintf(out, " encoded %ld %ld slices %u buffers %u %ld %ld%s%s transfer %.6g slack %.6g %ld",
                    (long)plan->encoded, (long)plan->first_encoded, plan->slices, plan->buffer_count,
                    (long)plan->buffers[0], (long)plan->buffers[1], plan->is_double ? " double" : "",
                    plan->is_prefetched ? " prefetched" : "", plan->full_transfer, plan->slack_cycles,
                    (long)plan->slack_memory);
        fprintf(out, "\n");
    }
}

/* Finishes the network and lists it; `heavy` weights do not fit fast memory at once. */
static void list(FILE *out, network *n) {
    arena memory;
    npu_net net;
    ft_error error;
    npu_compression heavy = npu_default_compression;
    for (int i = 0; i < COMPRESSION_TERMS; i++) heavy.unit_bytes[i] *= 20;
    must(graph_finish(n->graph, &error), &error);
    assert_true(graph_mark_bound(n->graph, 1, 1));
    arena_init(&memory, UINT64_MAX);
    must(npu_lower(n->graph, &memory, &net, &error), &error);
    fprintf(out, " passes %u cpu %u steps %u constants %ld cpu constants %ld%s\n", net.pass_count, net.cpu_ops,
            net.step_count, (long)net.constant_bytes, (long)net.cpu_constant_bytes,
            net.types == TYPES_FLOAT ? " assumed" : "");
    fprintf(out, " supported ");
    for (uint32_t i = 0; i < n->graph->op_count; i++) fputc(npu_is_supported(&net, i) ? 'y' : 'n', out);
    fputc('\n', out);
    for (uint32_t i = 0; i < net.pass_count; i++) print_pass(out, &net, i);
    print_costs(out, &net, &npu_archs[0], &npu_default_compression, "usual");
    print_costs(out, &net, &npu_archs[2], &npu_default_compression, "usual");
    print_costs(out, &net, &npu_archs[2], &heavy, "heavy");
    print_costs(out, &net, &npu_archs[3], &npu_default_compression, "usual");
    arena_free(&memory);
    ft_graph_free(n->graph);
}

static void networks_are_scheduled_as_listed(void **state) {
    (void)state;
    const char *build = getenv("BUILD");
    char path[256], *line = NULL;
    size_t capacity = 0;
    snprintf(path, sizeof path, "%s/npu-networks.txt", build != NULL ? build : "build");
    FILE *in = fopen("tests/npu/networks.txt", "r"), *out = fopen(path, "w");
    assert_non_null(in);
    assert_non_null(out);
    network n = {.graph = NULL};
    ft_error error;
    while (getline(&line, &capacity, in) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == ' ') continue;
        if (line[0] == '\0' && n.graph != NULL) {
            list(out, &n);
            n.graph = NULL;
        }
        fprintf(out, "%s\n", line);
        if (strncmp(line, "network ", 8) == 0) {
            n = (network){.graph = NULL};
            bool is_onnx = strstr(line, " onnx") != NULL;
            must(graph_new(is_onnx ? FT_FORMAT_ONNX : FT_FORMAT_TFLITE, is_onnx ? FT_NCHW : FT_NHWC, line + 8, &n.graph,
                           &error),
                 &error);
        } else if (line[0] != '#' && line[0] != '\0') {
            read_line(&n, line);
        }
    }
    assert_null(n.graph); /* an empty line ends each network */
    free(line);
    fclose(in);
    fclose(out);

    FILE *expected = fopen("tests/npu/networks.txt", "r"), *found = fopen(path, "r");
    char want[4096], got[4096];
    for (int at = 1;; at++) {
        const char *a = fgets(want, sizeof want, expected), *b = fgets(got, sizeof got, found);
        if (a == NULL && b == NULL) break;
        if (a == NULL || b == NULL || strcmp(a, b) != 0)
            fail_msg("line %d of tests/npu/networks.txt\nexpected %sfound    %s", at, a != NULL ? a : "its end\n",
                     b != NULL ? b : "the end\n");
    }
    fclose(expected);
    fclose(found);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(networks_are_scheduled_as_listed)};
    return cmocka_run_group_tests_name("npu/networks", tests, NULL, NULL);
}
