/* Amounts of work at the rates of a data sheet; on CPUs with factors by kind of kernel, fresh pages, weights computed
 * in every step, and scalar loops. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "predictor/torch/torch_setting.h"

static const double ANCHORS[TORCH_ANCHORS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

/* A kernel that reads and writes `written` float32 elements per image. */
static torch_row row_of(torch_kind kind, double written, double weights) {
    torch_kernel kernel = {.kind = kind, .launches = 1, .read32 = written, .write32 = written, .weights = weights};
    torch_row row;
    torch_row_of(&kernel, 1, (torch_precision){.bytes = 4}, &row);
    return row;
}

static double amount(const torch_row *row, torch_side side, double batch, torch_term term) {
    float amounts[TORCH_TERMS];
    torch_amounts(row, side, ANCHORS, batch, 1, amounts);
    return amounts[term];
}

static void gpus_have_the_rates_of_the_data_sheet(void **state) {
    (void)state;
    torch_row conv = row_of(TORCH_CONV, 1e8, 1e8), pad = row_of(TORCH_PAD, 1e8, 0);
    assert_true(amount(&conv, TORCH_GPU, 2, TORCH_LAUNCHES) == amount(&pad, TORCH_GPU, 2, TORCH_LAUNCHES));
    assert_true(amount(&conv, TORCH_GPU, 2, TORCH_MOVED) == amount(&pad, TORCH_GPU, 2, TORCH_MOVED));
    assert_true(amount(&conv, TORCH_GPU, 2, TORCH_SERIAL) == 0);
}

static void kinds_have_factors_on_cpus(void **state) {
    (void)state;
    torch_row conv = row_of(TORCH_CONV, 1000, 100), linear = row_of(TORCH_LINEAR, 1000, 100);
    torch_row loop = row_of(TORCH_ELEMENTWISE, 1000, 100), pad = row_of(TORCH_PAD, 1000, 100);
    double calls = amount(&conv, TORCH_CPU, 1, TORCH_LAUNCHES);
    assert_true(amount(&linear, TORCH_CPU, 1, TORCH_LAUNCHES) < calls);
    assert_true(amount(&loop, TORCH_CPU, 1, TORCH_LAUNCHES) < amount(&linear, TORCH_CPU, 1, TORCH_LAUNCHES));
    assert_true(amount(&linear, TORCH_CPU, 1, TORCH_WEIGHTS) < amount(&conv, TORCH_CPU, 1, TORCH_WEIGHTS));
    assert_true(amount(&pad, TORCH_CPU, 1, TORCH_MOVED) > amount(&loop, TORCH_CPU, 1, TORCH_MOVED));
}

/* Blocks of more than 32 MiB, 8 Mi elements, are fresh in every step. */
static void large_blocks_cost_fresh_pages(void **state) {
    (void)state;
    const double most = 8 << 20;
    torch_row small = row_of(TORCH_ELEMENTWISE, most, 0), large = row_of(TORCH_ELEMENTWISE, 2 * most, 0);
    assert_true(amount(&small, TORCH_CPU, 1, TORCH_SERIAL) == 0);
    double one = amount(&large, TORCH_CPU, 1, TORCH_SERIAL);
    assert_true(fabs(one - 64 * 1024 * 1024 / 4096 * 0.25) < 0.01 * one);
    /* Two images share a block. */
    assert_true(fabs(amount(&small, TORCH_CPU, 2, TORCH_SERIAL) - one) < 0.01 * one);
    /* Reordered weights need a block too; those of a linear layer are not reordered. */
    torch_row conv = row_of(TORCH_CONV, 1, 2 * most), linear = row_of(TORCH_LINEAR, 1, 2 * most);
    assert_true(amount(&conv, TORCH_CPU, 1, TORCH_SERIAL) > one);
    assert_true(amount(&linear, TORCH_CPU, 1, TORCH_SERIAL) == 0);
}

static void computed_weights_are_read_and_written(void **state) {
    (void)state;
    torch_kernel kernel = {.kind = TORCH_CONV, .weights = 1000};
    torch_row plain, made;
    torch_row_of(&kernel, 1, (torch_precision){.bytes = 4}, &plain);
    kernel = (torch_kernel){.kind = TORCH_CONV, .made = 1000};
    torch_row_of(&kernel, 1, (torch_precision){.bytes = 4}, &made);
    double used = amount(&plain, TORCH_CPU, 1, TORCH_WEIGHTS);
    assert_true(amount(&made, TORCH_CPU, 1, TORCH_WEIGHTS) == used + 3 * 4 * 1000);
    assert_true(amount(&made, TORCH_GPU, 1, TORCH_WEIGHTS) == amount(&plain, TORCH_GPU, 1, TORCH_WEIGHTS));
    torch_row_of(&kernel, 1, (torch_precision){.is_mixed = true}, &made); /* GPUs */
    assert_true(made.made == 0 && made.terms[TORCH_WEIGHTS] == 0);
}

static void scalar_elements_cost_cycles(void **state) {
    (void)state;
    torch_kernel kernel = {.kind = TORCH_GROUP_NORM, .scalar = 2000};
    torch_row row;
    torch_row_of(&kernel, 2, (torch_precision){.bytes = 4}, &row);
    assert_true(fabs(amount(&row, TORCH_CPU, 4, TORCH_SERIAL) - 4 * 1000 * 0.009) < 1e-3);
    assert_true(amount(&row, TORCH_GPU, 4, TORCH_SERIAL) == 0);
}

/* Factors of launches, weights and moved bytes; the row moves 2 * 1000 elements, and has 100 weights, of 4 bytes. */
static void every_kind_has_its_factors_on_cpus(void **state) {
    (void)state;
    static const double factors[TORCH_KINDS][3] = {[TORCH_CONV] = {1, 1, 1},
                                                   [TORCH_POINTWISE] = {0.9, 0.4, 1},
                                                   [TORCH_GROUPED] = {1.3, 0.4, 1},
                                                   [TORCH_DEPTHWISE] = {1, 0.4, 1},
                                                   [TORCH_LINEAR] = {0.4, 0.25, 0.5},
                                                   [TORCH_MATMUL] = {0.4, 0.25, 0.5},
                                                   [TORCH_ATTENTION] = {0.6, 0.25, 4},
                                                   [TORCH_BATCH_NORM] = {0.1, 0.25, 1},
                                                   [TORCH_LAYER_NORM] = {0.1, 0.25, 3},
                                                   [TORCH_GROUP_NORM] = {0.1, 0.25, 3},
                                                   [TORCH_SOFTMAX] = {0.1, 0.25, 3},
                                                   [TORCH_ACTIVATION] = {0.1, 0.25, 1},
                                                   [TORCH_SMOOTH] = {0.1, 0.25, 1},
                                                   [TORCH_ELEMENTWISE] = {0.1, 0.25, 1},
                                                   [TORCH_CONCAT] = {0.1, 0.25, 4},
                                                   [TORCH_COPY] = {0.1, 0.25, 2},
                                                   [TORCH_PAD] = {0.1, 0.25, 4},
                                                   [TORCH_CAST] = {0.1, 0.25, 1},
                                                   [TORCH_MAX_POOL] = {0.1, 0.25, 4},
                                                   [TORCH_AVERAGE_POOL] = {0.1, 0.25, 2},
                                                   [TORCH_REDUCTION] = {0.1, 0.25, 4},
                                                   [TORCH_RESIZE] = {0.1, 0.25, 8},
                                                   [TORCH_RECURRENT] = {0.4, 0.25, 8},
                                                   [TORCH_OTHER] = {0.1, 0.25, 2}};
    for (uint32_t kind = 0; kind < TORCH_KINDS; kind++) {
        torch_row row = row_of((torch_kind)kind, 1000, 100);
        assert_float_equal(amount(&row, TORCH_CPU, 1, TORCH_LAUNCHES), factors[kind][0], 1e-6);
        assert_float_equal(amount(&row, TORCH_CPU, 1, TORCH_WEIGHTS), 400 * factors[kind][1], 1e-3);
        assert_float_equal(amount(&row, TORCH_CPU, 1, TORCH_MOVED), 8000 * factors[kind][2], 1e-2);
        assert_float_equal(amount(&row, TORCH_GPU, 1, TORCH_MOVED), 8000, 1e-2);
    }
}

/* Terms of the batch are multiplied by it, weights and launches are not. */
static void amounts_are_terms_times_anchors(void **state) {
    (void)state;
    const double anchors[TORCH_ANCHORS] = {2, 1, 1, 1, 1, 0.5, 1, 0.25, 1, 1, 1};
    torch_row row = row_of(TORCH_CONV, 1000, 100);
    float amounts[TORCH_TERMS];
    torch_amounts(&row, TORCH_GPU, anchors, 3, 5, amounts);
    assert_float_equal(amounts[TORCH_LAUNCHES], 1 * 2 * 5, 1e-6);
    assert_float_equal(amounts[TORCH_MOVED], 8000 * 0.5 * 3 * 5, 1e-2);
    assert_float_equal(amounts[TORCH_WEIGHTS], 400 * 0.25 * 5, 1e-3);
}

/* Linear layers and matrix products of GPUs have a rate of their own; convolutions do not. */
static void matrix_products_have_their_own_rate(void **state) {
    (void)state;
    static const struct {
        torch_kind kind;
        double us;
    } cases[] = {
        {TORCH_CONV, 10}, {TORCH_POINTWISE, 10}, {TORCH_RECURRENT, 10}, {TORCH_LINEAR, 40}, {TORCH_MATMUL, 40}};
    double anchors[TORCH_ANCHORS] = {[TORCH_PRODUCTS] = 0.01, [TORCH_MATMUL_RATE] = 0.04};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        torch_kernel kernel = {.kind = cases[i].kind, .launches = 1, .macs = 1000};
        torch_row row;
        float amounts[TORCH_TERMS];
        torch_row_of(&kernel, 1, (torch_precision){.bytes = 4}, &row);
        torch_amounts(&row, TORCH_GPU, anchors, 1, 1, amounts);
        assert_float_equal(amounts[TORCH_PRODUCTS], cases[i].us, 1e-3);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(gpus_have_the_rates_of_the_data_sheet),
                                       cmocka_unit_test(kinds_have_factors_on_cpus),
                                       cmocka_unit_test(large_blocks_cost_fresh_pages),
                                       cmocka_unit_test(computed_weights_are_read_and_written),
                                       cmocka_unit_test(scalar_elements_cost_cycles),
                                       cmocka_unit_test(every_kind_has_its_factors_on_cpus),
                                       cmocka_unit_test(amounts_are_terms_times_anchors),
                                       cmocka_unit_test(matrix_products_have_their_own_rate)};
    return cmocka_run_group_tests_name("predictor/torch_amounts", tests, NULL, NULL);
}
