/* program_seen.c - see program_seen.h. */
#include "support/program_seen.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

seen see_record(const char *log, uint32_t number) {
    seen s = {0};
    ft_program_record record;
    ft_error error = {0};
    assert_int_equal(ft_program_log_open(log, &s.log, &error), FT_OK);
    assert_int_equal(ft_program_new(&s.program, &error), FT_OK);
    for (uint32_t i = 0; i < number; i++) assert_int_equal(ft_program_log_next(s.log, &record, &error), FT_OK);
    assert_int_equal(ft_program_lower(s.program, s.log, &error), FT_OK);
    assert_int_equal(ft_program_extract_features(s.program, &s.f, &error), FT_OK);
    return s;
}

void forget(const seen *s) {
    ft_program_free(s->program);
    ft_program_log_close(s->log);
}

float feature(const ft_program_features *f, uint32_t leaf, const char *name) {
    char text[32];
    for (uint32_t i = 0; i < FT_PROGRAM_FEATURES + FT_PROGRAM_GPU_FEATURES; i++) {
        if (strcmp(ft_program_feature_name(i, text), name) != 0) continue;
        return i < FT_PROGRAM_FEATURES ? f->leaves[leaf * FT_PROGRAM_FEATURES + i]
                                       : f->gpu[leaf * FT_PROGRAM_GPU_FEATURES + i - FT_PROGRAM_FEATURES];
    }
    fail_msg("no feature %s", name);
    return 0;
}

void expect_log(float found, double value) {
    assert_true(fabs(found - log2(value + 1)) < 1e-4);
}
