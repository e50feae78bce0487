/* Time and memory of a schedule grow in proportion to the network, whatever lives for long: maps that are read at its
 * end, attention, and operators of the CPU between every two passes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <time.h>

#include "support/npu_model.h"
#include "support/onnx_model.h"

typedef void describe(onnx_model *m, uint32_t ops);

static const char *name_of(onnx_model *m, const char *letter, uint32_t number) {
    return arena_format(&m->memory, "%s%u", letter, number);
}

static void add(onnx_model *m, const char *type, const char *a, const char *b, const char *out) {
    onnx_node(m, m->graph, type, arena_format(&m->memory, "%s %s", a, b), out);
}

/* Every map is read again, in the opposite order. */
static void long_lived(onnx_model *m, uint32_t ops) {
    const char *x = "x";
    for (uint32_t i = 0; i < ops / 2; i++) {
        add(m, "Conv", x, "w", name_of(m, "c", i));
        x = name_of(m, "c", i);
    }
    for (uint32_t i = ops / 2 - 1; i-- > 0;) {
        add(m, "Add", x, name_of(m, "c", i), name_of(m, "a", i));
        x = name_of(m, "a", i);
    }
    onnx_output(m, m->graph, x, ONNX_FLOAT, NULL);
}

/* Products of two activations are left to the CPU; a softmax is 31 passes. */
static void attention(onnx_model *m, uint32_t ops) {
    const char *x = "x";
    for (uint32_t i = 0; i < ops / 4; i++) {
        add(m, "Conv", x, "w", name_of(m, "q", i));
        add(m, "MatMul", name_of(m, "q", i), x, name_of(m, "s", i));
        onnx_node(m, m->graph, "Softmax", name_of(m, "s", i), name_of(m, "p", i));
        add(m, "MatMul", name_of(m, "p", i), x, name_of(m, "y", i));
        x = name_of(m, "y", i);
    }
    onnx_output(m, m->graph, x, ONNX_FLOAT, NULL);
}

typedef struct effort {
    double cpu_s;
    uint64_t bytes;
} effort;

static effort measure(describe *network, uint32_t ops, const char *device) {
    onnx_model *m = onnx_model_new();
    onnx_input(m, m->graph, "x", ONNX_FLOAT, "1,16,16,16");
    onnx_initializer(m, m->graph, "w", ONNX_FLOAT, "16,16,1,1");
    network(m, ops);
    npu_model made = {.graph = onnx_model_read(m)};
    ft_error error;
    onnx_model_free(m);
    if (ft_graph_bind(made.graph, NULL, &made.bound, &error) != FT_OK) fail_msg("%s", error.message);
    arena_init(&made.memory, UINT64_MAX);
    clock_t before = clock();
    if (npu_lower(made.bound, &made.memory, &made.net, &error) != FT_OK) fail_msg("%s", error.message);
    npu_model_estimate(&made, device);
    effort e = {.cpu_s = (double)(clock() - before) / CLOCKS_PER_SEC, .bytes = made.memory.used};
    npu_model_free(&made);
    return e;
}

static void check_growth(describe *network) {
    enum { FACTOR = 16, OPS = 800 };
    static const char *const devices[] = {"ethos-u55-128", "ethos-u65-256"};
    for (size_t d = 0; d < sizeof devices / sizeof devices[0]; d++) {
        effort a = measure(network, OPS, devices[d]), b = measure(network, OPS * FACTOR, devices[d]);
        if ((double)b.bytes > 1.2 * FACTOR * (double)a.bytes)
            fail_msg("%s: %llu bytes for %d operators, %llu for %d times as many", devices[d],
                     (unsigned long long)a.bytes, OPS, (unsigned long long)b.bytes, FACTOR);
        if (b.cpu_s > 1.7 * FACTOR * a.cpu_s + 0.05) /* a quadratic part would take 256 times as long */
            fail_msg("%s: %.3f s for %d operators, %.3f s for %d times as many", devices[d], a.cpu_s, OPS, b.cpu_s,
                     FACTOR);
    }
}

static void long_lived_maps_cost_no_more(void **state) {
    (void)state;
    check_growth(long_lived);
}

static void segments_cost_no_more(void **state) {
    (void)state;
    check_growth(attention);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_lived_maps_cost_no_more),
        cmocka_unit_test(segments_cost_no_more),
    };
    return cmocka_run_group_tests_name("npu/growth", tests, NULL, NULL);
}
