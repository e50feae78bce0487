/* test_fits.c - whether a step fits into memory, and the largest batch that does. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "foretell/forecast.h"
#include "support/flops_file.h"
#include "support/folder.h"
#include "support/toy.h"

static void interval_decides_whether_it_fits(void **state) {
    (void)state;
    ft_metric_result memory = {.metric = "peak_bytes", .value = 100, .lo = 80, .hi = 130};
    const ft_result result = {.metrics = &memory, .metric_count = 1};
    assert_int_equal(ft_result_fit(&result, 130), FT_FITS);
    assert_int_equal(ft_result_fit(&result, 129), FT_FIT_UNCERTAIN);
    assert_int_equal(ft_result_fit(&result, 80), FT_FIT_UNCERTAIN);
    assert_int_equal(ft_result_fit(&result, 79), FT_FITS_NOT);
    memory.lo = memory.hi = NAN;
    assert_int_equal(ft_result_fit(&result, 121), FT_FITS);
    assert_int_equal(ft_result_fit(&result, 110), FT_FIT_UNCERTAIN);
    assert_int_equal(ft_result_fit(&result, 82), FT_FITS_NOT);
    assert_int_equal(ft_result_fit(&result, NAN), FT_FIT_UNCERTAIN); /* unknown free memory */
    assert_string_equal(ft_fit_name(FT_FIT_UNCERTAIN), "uncertain");
    assert_string_equal(ft_fit_name((ft_fit)7), "unknown");
}

/* A product of 1x16 by 16x8: 512 bytes of weights; the memory predictor has 1000 + FLOPs, of which 256 a sample. */
static void max_batch_is_that_of_the_formula(void **state) {
    (void)state;
    flops_file_write("m.ftm", "peak_bytes", 1000, 1);
    const char *files[] = {"m.ftm"};
    ft_predictor_set *set = NULL;
    ft_error error;
    assert_int_equal(ft_predictor_set_open(files, 1, &set, &error), FT_OK);
    ft_graph *model = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x = toy_input(model, 1, 16), w = toy_weight(model, 16, 8);
    toy_finish(model, toy_op(model, "MatMul", x, w, FT_NONE, toy_value(model, 1, 8)), 1, 1);
    model->is_bound = false;
    const ft_request request = {.device = "adreno-640"};
    ft_max_batch_result found;
    for (double bytes = 500; bytes < 60000; bytes = floor(bytes * 1.37)) {
        assert_int_equal(ft_max_batch(set, model, NULL, &request, &(ft_batch_search){bytes, 40}, &found, &error),
                         FT_OK);
        /* The interval is a factor of 2. */
        double certain = floor((bytes / 2 - 1000) / 256), possible = floor((bytes * 2 - 1000) / 256);
        assert_int_equal(found.certain, (int64_t)fmin(40, fmax(0, certain)));
        assert_int_equal(found.possible, (int64_t)fmin(40, fmax(0, possible)));
    }
    /* The result carries the limits of the search; without a limit the formula alone counts. */
    const ft_batch_search unlimited = {.free_bytes = 60000, .max_batch = INT64_MAX};
    assert_int_equal(ft_max_batch(set, model, NULL, &request, &unlimited, &found, &error), FT_OK);
    assert_true(found.certain == 113 && found.possible == 464);
    assert_true(found.free_bytes == 60000 && found.max_batch == INT64_MAX);
    assert_int_equal(ft_max_batch(set, model, NULL, &request, &(ft_batch_search){1e9, 1}, &found, &error), FT_OK);
    assert_true(found.certain == 1 && found.possible == 1);
    assert_int_equal(ft_max_batch(set, model, NULL, &request, &(ft_batch_search){1e9, 0}, &found, &error),
                     FT_ERR_USAGE);
    ft_graph_free(model);
    ft_predictor_set_free(set);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interval_decides_whether_it_fits),
        cmocka_unit_test(max_batch_is_that_of_the_formula),
    };
    return cmocka_run_group_tests_name("forecast/fits", tests, folder_enter, folder_leave);
}
