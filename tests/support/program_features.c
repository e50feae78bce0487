/* program_features.c - features of a program by name, for tests. */
#include "support/program_features.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

lowered lower_record(const char *log, uint32_t number) {
    lowered s = {0};
    ft_program_record record;
    ft_error error = {0};
    assert_int_equal(ft_program_log_open(log, &s.log, &error), FT_OK);
    assert_int_equal(ft_program_new(&s.program, &error), FT_OK);
    for (uint32_t i = 0; i < number; i++) assert_int_equal(ft_program_log_next(s.log, &record, &error), FT_OK);
    assert_int_equal(ft_program_lower(s.program, s.log, &error), FT_OK);
    assert_int_equal(ft_program_extract_features(s.program, &s.f, &error), FT_OK);
    return s;
}

lowered lower_text(const char *buffers, const char *statements) {
    static char text[8192];
    lowered s = {0};
    size_t used = 0;
    ft_error error = {0};
    int length =
        snprintf(text, sizeof text, "%s\nGlobalVar(main): PrimFunc([]) attrs={} {\n%s\n}\n", buffers, statements);
    assert_true(length > 0 && (size_t)length < sizeof text);
    assert_int_equal(ft_program_new(&s.program, &error), FT_OK);
    if (ft_program_parse(s.program, text, (size_t)length, &used, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(used + 1, length);
    if (ft_program_extract_features(s.program, &s.f, &error) != FT_OK) fail_msg("%s", error.message);
    return s;
}

void close_program(const lowered *s) {
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

void expect_feature(const lowered *s, uint32_t leaf, const char *name, double value) {
    double found = feature(&s->f, leaf, name);
    assert_true(leaf < s->f.leaf_count);
    if (!(fabs(found - value) < 1e-4)) fail_msg("%s of store %u is %.6f, not %.6f", name, leaf, found, value);
}

void expect_log_feature(const lowered *s, uint32_t leaf, const char *name, double value) {
    double found = feature(&s->f, leaf, name);
    assert_true(leaf < s->f.leaf_count);
    if (!(fabs(found - log2(value + 1)) < 1e-4))
        fail_msg("%s of store %u is log2(%.6f + 1), not of %.6f", name, leaf, exp2(found) - 1, value);
}
