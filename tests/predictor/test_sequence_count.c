/* Tests of the read-out with a layer for each number of rows: what it says is what plain loops say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "predictor/program/sequence_count.h"

enum { WIDTH = 3, ROWS = 2 + 1 + 2 + 17 };

static const uint32_t starts[] = {0, 2, 3, 5, ROWS}; /* the last has more rows than there are layers */
static const segments parts = {.count = 4, .start = starts};

static float rows[ROWS * WIDTH];

static double expected(const params *p, const sequence_count *layers, uint32_t part, uint32_t column) {
    uint32_t length = starts[part + 1] - starts[part];
    if (length > SEQUENCE_COUNTS) return 0;
    const float *weight = p->values + p->items[layers->of[length].weight].offset;
    double sum = p->values[p->items[layers->of[length].bias].offset + column];
    for (uint32_t i = 0; i < length * WIDTH; i++)
        sum += (double)rows[starts[part] * WIDTH + i] * weight[i * WIDTH + column];
    return sum;
}

static void test_says_what_loops_say(void **state) {
    (void)state;
    ft_error error;
    params p;
    tape *t = NULL;
    params_init(&p);
    sequence_count layers = sequence_count_add(&p, WIDTH);
    assert_int_equal(params_finish(&p, 1, &error), FT_OK);
    for (int i = 0; i < ROWS * WIDTH; i++) rows[i] = (float)sin(i);
    assert_int_equal(tape_new(&p, 1 << 20, &t, &error), FT_OK);
    tape_begin(t, TAPE_INFER, 0, 0);
    tensor *out = sequence_count_apply(t, &layers, tape_input(t, ROWS, WIDTH, rows), parts);
    assert_non_null(out);
    assert_int_equal(out->rows, 4);
    for (uint32_t part = 0; part < 4; part++)
        for (uint32_t column = 0; column < WIDTH; column++)
            assert_true(fabs(out->data[part * WIDTH + column] - expected(&p, &layers, part, column)) < 1e-5);
    tape_free(t);
    params_free(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_says_what_loops_say)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
