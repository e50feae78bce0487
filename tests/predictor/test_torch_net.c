/* The network of torch-sum: gradients against finite differences, initial values, scaling, and tables of rows. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "predictor/core/scan.h"
#include "predictor/torch/torch_net.h"
#include "support/gradient.h"

enum { KERNELS = 3, PAIRS = 5, SETTINGS = 2, GROUPS = 2, HIDDEN = 3, BASIS = 2 };

static const uint32_t kernels[PAIRS] = {0, 2, 1, 0, 2}, settings[PAIRS] = {0, 0, 1, 1, 0},
                      groups[PAIRS] = {2, 2, 3, 3, 2};

/* The shapes of the network's parameters, in their order. */
static const uint32_t shapes[][2] = {{TORCH_FEATURES, HIDDEN},
                                     {1, HIDDEN},
                                     {HIDDEN, HIDDEN},
                                     {1, HIDDEN},
                                     {HIDDEN, BASIS *TORCH_TERMS},
                                     {1, BASIS *TORCH_TERMS},
                                     {SETTINGS + GROUPS, TORCH_TERMS},
                                     {SETTINGS + GROUPS, BASIS *TORCH_TERMS}};

static const torch_net_sizes sizes = {
    .settings = SETTINGS, .groups = GROUPS, .hidden = HIDDEN, .basis = BASIS, .bound = 2};

typedef struct example {
    torch_net net;
    torch_pairs pairs;
    float inputs[KERNELS * TORCH_FEATURES], amounts[PAIRS * TORCH_TERMS];
} example;

static tensor *times_of(tape *t, const void *user) {
    const example *e = user;
    return torch_net_times(&e->net, t, &e->pairs, NULL, NULL);
}

/* A network whose parameters stand in the order of `shapes`. */
static void make_example(example *e) {
    *e = (example){.pairs = {.kernel_count = KERNELS, .count = PAIRS}};
    e->net = (torch_net){.size = sizes};
    e->net.first = (layer_linear){.weight = 0, .bias = 1, .has_bias = true};
    e->net.second = (layer_linear){.weight = 2, .bias = 3, .has_bias = true};
    e->net.last = (layer_linear){.weight = 4, .bias = 5, .has_bias = true};
    e->net.unit_costs = 6;
    e->net.mix = 7;
    for (uint32_t i = 0; i < KERNELS * TORCH_FEATURES; i++) e->inputs[i] = 0.1F * (float)((int)(i * 7 % 11) - 5);
    for (uint32_t i = 0; i < PAIRS * TORCH_TERMS; i++) e->amounts[i] = 0.1F + 0.05F * (float)(i % 9);
    e->pairs.inputs = e->inputs;
    e->pairs.amounts = e->amounts;
    e->pairs.kernels = kernels;
    e->pairs.settings = settings;
    e->pairs.groups = groups;
}

static void gradients_match_finite_differences(void **state) {
    (void)state;
    example e;
    params p;
    make_example(&e);
    gradient_params(&p, 0, sizeof shapes / sizeof shapes[0], shapes);
    gradient_check(&p, times_of, &e, 2e-2);
    gradient_params(&p, 0, sizeof shapes / sizeof shapes[0], shapes);
    gradient_check_memory(&p, times_of, &e);
}

static void multipliers_start_at_one(void **state) {
    (void)state;
    torch_net net;
    tape *t = NULL;
    example e;
    make_example(&e);
    assert_int_equal(torch_net_init(&net, &sizes, 7, NULL), FT_OK);
    assert_int_equal(tape_new(&net.values, 1 << 24, &t, NULL), FT_OK);
    tape_begin(t, TAPE_INFER, 0, 0);
    const tensor *predicted = torch_net_times(&net, t, &e.pairs, NULL, NULL);
    for (uint32_t i = 0; i < PAIRS * TORCH_TERMS; i++) assert_true(fabsf(predicted->data[i] - e.amounts[i]) < 1e-5F);
    tape_free(t);
    torch_net_free(&net);
}

static void scaling_covers_the_range_of_training(void **state) {
    (void)state;
    enum { MOVED = 11 };
    torch_row rows[3] = {{.features = {[MOVED] = 4}},
                         {.features = {[MOVED] = 8, [TORCH_FLAG_KIND] = 1}},
                         {.features = {[MOVED] = 30, [TORCH_FLAG_KIND + 1] = 1}}};
    const bool is_used[] = {true, true, false};
    torch_scaling scaling;
    float inputs[TORCH_FEATURES];
    torch_scaling_fit(rows, is_used, 3, &scaling);
    torch_scaling_apply(&scaling, &rows[1], inputs);
    assert_true(fabsf(inputs[MOVED] - 1) < 1e-6F && inputs[TORCH_FLAG_KIND] == 1);
    assert_true(torch_scaling_covers(&scaling, &rows[0]) && torch_scaling_covers(&scaling, &rows[1]));
    assert_false(torch_scaling_covers(&scaling, &rows[2]));
    torch_scaling_apply(&scaling, &rows[2], inputs);
    assert_true(inputs[MOVED] <= 4 && inputs[TORCH_FLAG_KIND + 1] == 0);
    torch_scaling_fit(rows, (const bool[]){false, false, false}, 3, &scaling);
    torch_scaling_apply(&scaling, &rows[2], inputs);
    for (uint32_t i = 0; i < TORCH_FEATURES; i++) assert_true(inputs[i] == 0);
}

static void tables_hold_rows_once(void **state) {
    (void)state;
    row_table table = {.size = sizeof(torch_row)};
    for (uint32_t i = 0; i < 3000; i++) {
        torch_row row = {.terms = {(float)(i % 1000)}};
        uint32_t number;
        assert_int_equal(row_table_add(&table, &row, &number, NULL), FT_OK);
        assert_int_equal(number, i % 1000);
    }
    assert_int_equal(table.count, 1000);
    row_table_free(&table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_match_finite_differences), cmocka_unit_test(multipliers_start_at_one),
        cmocka_unit_test(scaling_covers_the_range_of_training), cmocka_unit_test(tables_hold_rows_once)};
    return cmocka_run_group_tests_name("predictor/torch_net", tests, NULL, NULL);
}
