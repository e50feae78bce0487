/* Kernels like those of training are recognised, in memory and from a file. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "foretell/status.h"
#include "predictor/kernel/kernel_seen.h"
#include "support/failing.h"

enum { MANY = 4000 };

/* A convolution: base-2 logarithms of height, channels and window. */
static kernel_row conv(float height, float channels, float window) {
    return (kernel_row){.features = {[FEATURE_IN_HEIGHT] = height,
                                     [FEATURE_IN_CHANNELS] = channels,
                                     [FEATURE_OUT_CHANNELS] = channels,
                                     [FEATURE_WINDOW] = window,
                                     [FLAG_KIND] = 1,
                                     [FLAG_GROUP] = 1}};
}

static void similar_kernels_are_seen_others_not(void **state) {
    (void)state;
    kernel_row known = conv(5.2F, 6.1F, 1.6F), row = conv(5.7F, 6.9F, 1.6F);
    kernel_seen seen;
    assert_int_equal(kernel_seen_fit(&known, 1, &seen, NULL), FT_OK);
    assert_true(kernel_seen_has(&seen, &known));
    row.features[FEATURE_MOVED] = 20; /* follows from the others */
    assert_true(kernel_seen_has(&seen, &row));
    row = conv(6.1F, 6.1F, 1.6F); /* twice as high */
    assert_false(kernel_seen_has(&seen, &row));
    row = conv(5.2F, 9.1F, 1.6F); /* eight times the channels */
    assert_false(kernel_seen_has(&seen, &row));
    row = conv(5.2F, 6.1F, 0); /* another window */
    assert_false(kernel_seen_has(&seen, &row));
    row = known;
    row.features[FLAG_FUSED] = 1; /* something fused to it */
    assert_false(kernel_seen_has(&seen, &row));
    kernel_seen_free(&seen);
    assert_false(kernel_seen_has(&seen, &known));
}

static kernel_row *many_rows(void) {
    kernel_row *rows = calloc(MANY, sizeof *rows);
    assert_non_null(rows);
    for (uint32_t i = 0; i < MANY; i++) rows[i] = conv((float)(i % 16), (float)(i / 16 % 16), (float)(i / 256) / 4);
    return rows;
}

static void a_mapped_set_is_the_saved_one(void **state) {
    (void)state;
    kernel_row *rows = many_rows(), other = conv(40, 3, 3);
    kernel_seen seen, opened;
    float_block block = {0};
    assert_int_equal(kernel_seen_fit(rows, MANY, &seen, NULL), FT_OK);
    assert_true(seen.slot_count >= 2 * MANY);
    assert_true(kernel_seen_save(&seen, &block));
    float one = 1;
    assert_true(float_block_add(&block, &one, 1)); /* what follows it */
    const float *at = block.items;
    size_t left = block.count;
    assert_int_equal(kernel_seen_map(&at, &left, &opened, NULL), FT_OK);
    assert_int_equal(left, 1);
    assert_true(*at == 1);
    for (uint32_t i = 0; i < MANY; i++) assert_true(kernel_seen_has(&opened, &rows[i]));
    assert_false(kernel_seen_has(&opened, &other));
    kernel_seen_free(&opened);
    kernel_seen_free(&seen);
    float_block_free(&block);
    free(rows);
}

static void refuse(float count, size_t given, const char *part) {
    float floats[64] = {count};
    const float *at = floats;
    kernel_seen seen;
    ft_error error;
    assert_int_equal(kernel_seen_map(&at, &given, &seen, &error), FT_ERR_DAMAGED);
    assert_non_null(strstr(error.message, part));
    assert_true(at == floats);
}

static void damaged_tables_are_errors(void **state) {
    (void)state;
    refuse(16, 0, "too short");
    refuse(16, 16, "too short");
    refuse(17, 64, "size");
    refuse(0, 64, "size");
    refuse(NAN, 64, "size");
    refuse(1e30F, 64, "size");
    /* A table without a free slot is searched only once around. */
    float full[17] = {16};
    for (int i = 1; i < 17; i++) full[i] = 0.5F;
    const float *at = full;
    size_t left = 17;
    kernel_seen seen;
    kernel_row row = conv(1, 1, 1);
    assert_int_equal(kernel_seen_map(&at, &left, &seen, NULL), FT_OK);
    assert_false(kernel_seen_has(&seen, &row));
}

static void runs_out_of_memory(void **state) {
    (void)state;
    kernel_row *rows = many_rows();
    for (long n = 0;; n++) {
        kernel_seen seen;
        failing_start(n);
        ft_status status = kernel_seen_fit(rows, MANY, &seen, NULL);
        bool has_failed = failing_stop();
        kernel_seen_free(&seen);
        if (!has_failed) break;
        assert_int_equal(status, FT_ERR_NOMEM);
    }
    free(rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(similar_kernels_are_seen_others_not), cmocka_unit_test(a_mapped_set_is_the_saved_one),
        cmocka_unit_test(damaged_tables_are_errors), cmocka_unit_test(runs_out_of_memory)};
    return cmocka_run_group_tests_name("predictor/kernel_seen", tests, NULL, NULL);
}
