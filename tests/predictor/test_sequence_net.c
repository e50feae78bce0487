/* Tests of what a network of programs says of a device: the longest of the parts that program_demand.h knows, and of
 * each part how much longer it takes than it would alone. */
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

static const float *ask(const made *m) {
    tape_begin(m->t, TAPE_INFER, 0, 0);
    const tensor *said = sequence_forward(m->net, m->t, &m->batch);
    assert_non_null(said);
    assert_int_equal(tensor_size(said), 2);
    return said->data;
}

/* The root of the sum of the squares of times, as the logarithm that times are told in. */
static double longest(const float *times, const float *factors) {
    double sum = 0;
    for (int i = 0; i < RES_PARTS; i++) sum += exp2(2 * RES_TIME_UNIT * ((double)times[i] + (double)factors[i]));
    return log2(sqrt(sum)) / RES_TIME_UNIT;
}

static void test_time_is_that_of_the_longest_part(void **state) {
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
        const float *said = ask(&m);
        for (int c = 0; c < 2; c++) {
            const float *times = m.times + (size_t)c * PROGRAM_DEVICE_TIMES + RES_TIMES;
            assert_true(fabs((double)said[c] - 1.5 * longest(times, tried[k])) < 1e-4);
        }
    }
    made_free(&m);
}

/* The head is not asleep: with its weights, what is said hangs on the rows of the program. */
static void test_factors_hang_on_the_program(void **state) {
    (void)state;
    made m;
    make(&m);
    float before = ask(&m)[0];
    m.node_values[1] += 1;
    assert_true(fabsf(ask(&m)[0] - before) > 1e-5f);
    made_free(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_time_is_that_of_the_longest_part),
                                       cmocka_unit_test(test_factors_hang_on_the_program)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
