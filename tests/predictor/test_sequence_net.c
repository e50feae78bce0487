/* The network over programs: parts of program_demand.h are combined with learned factors; the read-out by length
 * matches plain loops. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/program/program_demand.h"
#include "predictor/program/sequence_net.h"

enum { HIDDEN = 8, NODES = 3, NODE_VALUES = 4, SHEET = PROGRAM_SHEET_VALUES + PROGRAM_LIMIT_VALUES };

typedef struct made {
    params values;
    gnn_net *net;
    tape *t;
    float node_values[NODES * NODE_VALUES], demand[PROGRAM_DEMANDS], sheets[2 * SHEET];
    float times[2 * PROGRAM_DEVICE_TIMES];
    gnn_batch batch; /* one program, on two devices */
} made;

static const uint32_t nodes_start[] = {0, NODES};

static void make(made *m) {
    ft_error error;
    sequence_options own = {.heads = 2, .inner = 2, .head = 2, .columns = SEQUENCE_SHARED};
    const gnn_widths widths = {.node_values = NODE_VALUES,
                               .global_marks = PROGRAM_DEMANDS,
                               .demand_marks = PROGRAM_DEMANDS,
                               .column_values = SHEET};
    const gnn_plan plan = {.shared = {.hidden = HIDDEN, .layers = 1}, .own = &own, .widths = widths, .outputs = 1};
    *m = (made){0};
    for (int i = 0; i < NODES * NODE_VALUES; i++) m->node_values[i] = (float)sin(i);
    for (int i = 0; i < PROGRAM_DEMANDS; i++) m->demand[i] = 10 + (float)(7 * i % 5);
    for (int i = 0; i < 2 * SHEET; i++) m->sheets[i] = (float)(0.2 * sin(3 * i));
    for (int c = 0; c < 2; c++)
        program_device_times(m->demand, m->sheets + (size_t)c * SHEET, m->times + (size_t)c * PROGRAM_DEVICE_TIMES);
    m->batch = (gnn_batch){.widths = widths,
                           .samples = 1,
                           .nodes = NODES,
                           .node_values = m->node_values,
                           .global_marks = m->demand,
                           .nodes_of = {.count = 1, .start = nodes_start},
                           .columns = 2,
                           .column_values = m->sheets};
    params_init(&m->values);
    m->net = sequence_build(&plan, &m->values);
    assert_non_null(m->net);
    assert_int_equal(params_finish(&m->values, 1, &error), FT_OK);
    assert_int_equal(tape_new(&m->values, 1 << 22, &m->t, &error), FT_OK);
}

static void made_free(made *m) {
    tape_free(m->t);
    params_free(&m->values);
    free(m->net);
}

static float *find(const made *m, const char *name, uint32_t count) {
    const param *p = params_find(&m->values, name);
    assert_non_null(p);
    assert_int_equal((size_t)p->rows * p->cols, count);
    return m->values.values + p->offset;
}

static const float *predict(const made *m) {
    tape_begin(m->t, TAPE_INFER, 0, 0);
    const tensor *predicted = sequence_forward(m->net, m->t, &m->batch);
    assert_non_null(predicted);
    assert_int_equal(tensor_size(predicted), 2);
    return predicted->data;
}

/* The root of the sum of squared times, as a scaled logarithm. */
static double longest(const float *times, const float *factors) {
    double sum = 0;
    for (int i = 0; i < RES_PARTS; i++) sum += exp2(2 * RES_TIME_UNIT * ((double)times[i] + (double)factors[i]));
    return log2(sqrt(sum)) / RES_TIME_UNIT;
}

static void test_parts_are_combined(void **state) {
    (void)state;
    made m;
    make(&m);
    memset(find(&m, "out.weight", HIDDEN * RES_PARTS), 0, HIDDEN * RES_PARTS * sizeof(float));
    float *factors = find(&m, "out.bias", RES_PARTS), *slope = find(&m, "slope", 1);
    const float alone[RES_PARTS] = {0}, slower[RES_PARTS] = {0, 0, 5}, uneven[RES_PARTS] = {1, -1, 0.5f, 2, -2, 0, 1};
    const float *tried[] = {alone, slower, uneven};
    *slope = 1.5f;
    for (size_t k = 0; k < sizeof tried / sizeof tried[0]; k++) {
        memcpy(factors, tried[k], sizeof alone);
        const float *predicted = predict(&m);
        for (int c = 0; c < 2; c++) {
            const float *times = m.times + (size_t)c * PROGRAM_DEVICE_TIMES + RES_TIMES;
            assert_true(fabs((double)predicted[c] - 1.5 * longest(times, tried[k])) < 1e-4);
        }
    }
    made_free(&m);
}

/* With the weights of the head, predictions depend on the rows of the program. */
static void test_factors_depend_on_the_program(void **state) {
    (void)state;
    made m;
    make(&m);
    float before = predict(&m)[0];
    m.node_values[1] += 1;
    assert_true(fabsf(predict(&m)[0] - before) > 1e-5f);
    made_free(&m);
}

/* --- Read-out by length -------------------------------------------------------------------------------------- */

enum { ROW_WIDTH = 3, ROWS = 2 + 1 + 2 + 17 };

static const uint32_t starts[] = {0, 2, 3, 5, ROWS}; /* the last has more rows than there are layers */
static const segments parts = {.count = 4, .start = starts};

static float rows[ROWS * ROW_WIDTH];

static double expected(const params *p, const sequence_count *layers, uint32_t part, uint32_t column) {
    uint32_t length = starts[part + 1] - starts[part];
    if (length > SEQUENCE_MAX_COUNT) return 0;
    const float *weight = p->values + p->items[layers->of[length].weight].offset;
    double sum = p->values[p->items[layers->of[length].bias].offset + column];
    for (uint32_t i = 0; i < length * ROW_WIDTH; i++)
        sum += (double)rows[starts[part] * ROW_WIDTH + i] * weight[i * ROW_WIDTH + column];
    return sum;
}

static void test_read_out_by_length_matches_loops(void **state) {
    (void)state;
    ft_error error;
    params p;
    tape *t = NULL;
    params_init(&p);
    sequence_count layers = sequence_count_add(&p, ROW_WIDTH);
    assert_int_equal(params_finish(&p, 1, &error), FT_OK);
    for (int i = 0; i < ROWS * ROW_WIDTH; i++) rows[i] = (float)sin(i);
    assert_int_equal(tape_new(&p, 1 << 20, &t, &error), FT_OK);
    tape_begin(t, TAPE_INFER, 0, 0);
    tensor *out = sequence_count_apply(t, &layers, tape_input(t, ROWS, ROW_WIDTH, rows), parts);
    assert_non_null(out);
    assert_int_equal(out->rows, 4);
    for (uint32_t part = 0; part < 4; part++)
        for (uint32_t column = 0; column < ROW_WIDTH; column++)
            assert_true(fabs(out->data[part * ROW_WIDTH + column] - expected(&p, &layers, part, column)) < 1e-5);
    tape_free(t);
    params_free(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_read_out_by_length_matches_loops),
                                       cmocka_unit_test(test_parts_are_combined),
                                       cmocka_unit_test(test_factors_depend_on_the_program)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
