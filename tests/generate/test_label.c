/* Tests of computed labels: they follow their rules, noise depends on the seed, the text is a valid label. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "generate/label.h"
#include "read/perfseer.h"
#include "support/toy.h"

/* One matrix product, large enough to dominate. */
static label of_product(int batch) {
    ft_graph *g = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x = toy_input(g, batch, 4096), w = toy_weight(g, 4096, 4096), y = toy_value(g, batch, 4096);
    toy_op(g, "MatMul", x, w, FT_NONE, y);
    toy_finish(g, y, batch, batch);
    ft_device *device;
    label l;
    ft_error error;
    assert_int_equal(ft_device_open("rtx-3090", &device, &error), FT_OK);
    assert_int_equal(label_compute(g, device, &l, &error), FT_OK);
    ft_device_free(device);
    ft_graph_free(g);
    return l;
}

static void test_rules(void **state) {
    (void)state;
    label small = of_product(1), large = of_product(65536);
    /* The host starts one operator. */
    assert_true(fabs(small.modes[FT_INFER].time_ms - fmax(0.032, 4.0 * 4096 * 4096 / (936.2e6 * 0.65) + 0.004)) < 1e-3);
    /* Arithmetic: 2 x 65536 x 4096 x 4096 FLOPs at 0.7 of the peak. */
    double expected = 2.0 * 65536 * 4096 * 4096 / (35.58e9 * 0.7) + 0.004;
    assert_true(fabs(large.modes[FT_INFER].time_ms / expected - 1) < 1e-3);
    assert_true(large.modes[FT_INFER].sm_util_percent == 99);
    assert_true(large.modes[FT_TRAIN].time_ms > 2.9 * large.modes[FT_INFER].time_ms);
    assert_true(small.modes[FT_INFER].memory_mib > 1400 + 64 && small.modes[FT_INFER].memory_mib < 1400 + 65);
    assert_true(small.modes[FT_TRAIN].memory_mib > small.modes[FT_INFER].memory_mib + 90);
    assert_true(small.fits && large.fits);
    assert_false(of_product(2000000).fits);
}

static void test_noise(void **state) {
    (void)state;
    label exact = of_product(64), first = exact, second = exact, other = exact;
    rng a, b, c;
    rng_init(&a, 1, 1);
    rng_init(&b, 1, 1);
    rng_init(&c, 2, 1);
    label_add_noise(&first, 0.02, &a);
    label_add_noise(&second, 0.02, &b);
    label_add_noise(&other, 0.02, &c);
    assert_memory_equal(&first.modes, &second.modes, sizeof first.modes);
    assert_true(first.modes[0].time_ms != other.modes[0].time_ms);
    assert_true(fabs(first.modes[0].time_ms / exact.modes[0].time_ms - 1) <= 0.06);
    assert_true(fabs(first.modes[1].memory_mib / exact.modes[1].memory_mib - 1) <= 0.006);
}

/* Each number is multiplied by 1 + ratio x a normal draw, cut at three deviations; memory by a tenth of the ratio. */
static void test_factors_of_noise(void **state) {
    (void)state;
    label exact = of_product(64), noisy = exact;
    rng a, b;
    rng_init(&a, 3, 1);
    rng_init(&b, 3, 1);
    label_add_noise(&noisy, 0.02, &a);
    for (int mode = FT_INFER; mode <= FT_TRAIN; mode++) {
        double f[4];
        for (int i = 0; i < 4; i++) f[i] = fmax(-3, fmin(3, rng_normal(&b)));
        const label_mode *x = &exact.modes[mode], *y = &noisy.modes[mode];
        assert_true(fabs(y->time_ms - x->time_ms * (1 + 0.02 * f[0])) < 1e-12 * x->time_ms);
        assert_true(fabs(y->sm_util_percent - fmin(99, x->sm_util_percent * (1 + 0.02 * f[1]))) < 1e-9);
        assert_true(fabs(y->memory_util_percent - fmin(99, x->memory_util_percent * (1 + 0.02 * f[2]))) < 1e-9);
        assert_true(fabs(y->memory_mib - x->memory_mib * (1 + 0.002 * f[3])) < 1e-9);
    }
}

/* Convolutions in groups of 8 channels reach sqrt(8 / 32) of what others do: a group of 32 fills a tile. */
static void test_groups(void **state) {
    (void)state;
    for (int width = 8; width <= 64; width *= 2) {
        ft_graph *g = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
        uint32_t x = toy_input(g, 64, 512, 64, 64), w = toy_weight(g, 512, width, 7, 7);
        uint32_t y = toy_op(g, "Conv", x, w, FT_NONE, toy_value(g, 64, 512, 58, 58));
        ft_attr group = toy_int(g, "group", 512 / width);
        toy_attrs(g, &group, 1);
        toy_finish(g, y, 64, 64);
        ft_device *device;
        label l;
        assert_int_equal(ft_device_open("rtx-3090", &device, NULL), FT_OK);
        assert_int_equal(label_compute(g, device, &l, NULL), FT_OK);
        double flops = 2.0 * 64 * 512 * 58 * 58 * width * 49;
        double expected = flops / (35.58e9 * 0.7 * fmin(1, sqrt(width / 32.0))) + 0.004;
        assert_true(fabs(l.modes[FT_INFER].time_ms / expected - 1) < 1e-3);
        ft_device_free(device);
        ft_graph_free(g);
    }
}

static void test_text(void **state) {
    (void)state;
    label l = of_product(64);
    buf out = {0};
    perfseer_label parsed;
    ft_error error;
    label_text(&l, 64, &out);
    assert_int_equal(perfseer_parse_label(out.data, out.length, &parsed, &error), FT_OK);
    assert_true(fabs(parsed.train[0] * 64 - l.modes[FT_TRAIN].time_ms) < 1e-5);
    assert_true(fabs(parsed.infer[1] - l.modes[FT_INFER].sm_util_percent) <= 0.005);
    assert_true(fabs(parsed.infer[6] - l.modes[FT_INFER].memory_mib) <= 0.005);
    for (int mode = FT_INFER; mode <= FT_TRAIN; mode++) {
        const label_mode *m = &l.modes[mode];
        const double *fields = mode == FT_TRAIN ? parsed.train : parsed.infer;
        const double expected[] = {m->sm_util_percent,      m->memory_util_percent,      m->memory_average_mib,
                                   m->sm_util_peak_percent, m->memory_util_peak_percent, m->memory_mib};
        for (int i = 0; i < 6; i++) assert_true(fabs(fields[1 + i] - expected[i]) <= 0.005);
        /* Peaks are at least averages; the two differ in training, where batches are copied and memory comes and goes.
         */
        for (int i = 0; i < 3; i++) assert_true(expected[3 + i] >= expected[i]);
        assert_true(mode == FT_INFER || (expected[3] > expected[0] && expected[5] > expected[2]));
    }
    buf_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),  cmocka_unit_test(test_noise), cmocka_unit_test(test_factors_of_noise),
        cmocka_unit_test(test_groups), cmocka_unit_test(test_text),
    };
    return cmocka_run_group_tests_name("generate/label", tests, NULL, NULL);
}
