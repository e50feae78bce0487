/* Tests of printed programs whose parameters share a name: each is a buffer of its own, or the program is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foretell/program.h"
#include "support/failing.h"

static char *read_and_show(const char *body, const char *params, ft_status expected, ft_error *error) {
    char text[2048], *shown = NULL;
    ft_program *program = NULL;
    size_t used, size = 0;
    snprintf(text, sizeof text, "GlobalVar(f): PrimFunc([%s]) attrs={} {\n%s}\n", params, body);
    assert_int_equal(ft_program_new(&program, error), FT_OK);
    ft_status status = ft_program_parse(program, text, strlen(text), &used, error);
    if (status != expected) fail_msg("status %d: %s", status, error->message);
    if (status == FT_OK) {
        FILE *stream = open_memstream(&shown, &size);
        assert_non_null(stream);
        assert_int_equal(ft_program_write(program, stream, error), FT_OK);
        fclose(stream);
    }
    ft_program_free(program);
    return shown;
}

static void expect(const char *body, const char *params, const char *const *printed) {
    ft_error error = {0};
    char *shown = read_and_show(body, params, FT_OK, &error);
    for (; *printed != NULL; printed++)
        if (strstr(shown, *printed) == NULL) fail_msg("no '%s' in\n%s", *printed, shown);
    free(shown);
}

#define PRINTED(...) ((const char *const[]){__VA_ARGS__, NULL})

/* The same element of both. */
static void test_by_position(void **state) {
    (void)state;
    expect("for (i, 0, 8) {\nc[i] = (a[i] + a[i])\n}\n", "a, a, c",
           PRINTED("(a[i] + a_1[i])", "buffer a: float32[8]", "buffer a_1: float32[8]"));
    expect("for (i, 0, 4) {\nc[i] = ((a[i]*a[0]) + a[(i + 4)])\nc[(i + 4)] = ((a[(i + 8)]*a[0]) + a[i])\n}\n",
           "a, a, a, c",
           PRINTED("((a[i] * a_1[0]) + a_2[(i + 4)])", "((a[(i + 8)] * a_1[0]) + a_2[i])", "buffer a: float32[12]",
                   "buffer a_1: float32[1]", "buffer a_2: float32[8]"));
}

/* Data and filters, each read at several offsets. */
static void test_by_terms(void **state) {
    (void)state;
    expect("for (i, 0, 8) {\nd[i] = a[(i*9)]\nd[i] = (d[i] + a[((i*9) + 1)])\n}\n"
           "for (j, 0, 4) {\ne[j] = a[(j*2)]\n}\n",
           "a, a, c",
           PRINTED("d[i] = a[(i*9)]", "a[((i*9) + 1)]", "e[j] = a_1[(j*2)]", "a: float32[65]", "a_1: float32[7]"));
    /* Vectors of two stores have lanes of their own. */
    expect(
        "for (i, 0, 8) {\nd[ramp((i*4), 1, 4)] = a[ramp((i*32), 1, 4)]\ne[ramp((i*4), 1, 4)] = a[ramp(((i*32) + 4), 1, "
        "4)]\ng[ramp((i*4), 1, 4)] = a[ramp((i*4), 1, 4)]\n}\n",
        "a, a, c",
        PRINTED("d[((i*4) + lane)] = a[((i*32) + lane)]", "e[((i*4) + lane)] = a[((i*32) + lane + 4)]",
                "g[((i*4) + lane)] = a_1[((i*4) + lane)]"));
}

/* Divisions make each index different, but they are of the same loops. */
static void test_by_loops(void **state) {
    (void)state;
    expect("for (i, 0, 8) {\nfor (j, 0, 8) {\nd[i] = a[floordiv(i, 3)]\nd[i] = a[floordiv((i + 1), 3)]\ne[j] = "
           "a[j]\n}\n}\n",
           "a, a, c", PRINTED("a[(i/3)]", "a[((i + 1)/3)]", "e[j] = a_1[j]"));
}

/* Unrolled loads of the same loops go to one copy each. */
static void test_by_target(void **state) {
    (void)state;
    expect("for (i, 0, 9) {\nd[i] = a[floordiv(i, 3)]\nd[(i + 9)] = a[floormod(i, 3)]\ne[i] = a[i]\ne[(i + 9)] = "
           "a[(i*2)]\n}\n",
           "a, a, c", PRINTED("d[i] = a[(i/3)]", "d[(i + 9)] = a[(i % 3)]", "e[i] = a_1[i]", "a_1[(i*2)]"));
}

static void test_names_that_are_taken(void **state) {
    (void)state;
    expect("for (i, 0, 8) {\na_1[i] = (a[i] + a[i])\n}\n", "a, a, a_1", PRINTED("a_1[i] = (a[i] + a_2[i])"));
}

static void test_one_name_each(void **state) {
    (void)state;
    expect("for (i, 0, 8) {\nc[i] = (a[i] + a[(i + 1)])\n}\n", "a, b, c", PRINTED("(a[i] + a[(i + 1)])"));
    expect("for (i, 0, 8) {\nc[i] = b[i]\n}\n", "a, a, b, c", PRINTED("c[i] = b[i]")); /* not read at all */
}

static void expect_error(const char *body, const char *params, const char *message) {
    ft_error error = {0};
    assert_null(read_and_show(body, params, FT_ERR_UNSUPPORTED, &error));
    assert_string_equal(error.message, message);
}

static void test_refused(void **state) {
    (void)state;
    expect_error("for (i, 0, 8) {\nc[i] = (p[i] + p[(i + 8)])\n}\n", "p, p, p, c",
                 "line 1: 3 parameters are called 'p', and the text does not say which of them is read");
    expect_error("for (i, 0, 8) {\np[i] = 0f\n}\n", "p, p", "line 3: a store to a name that two parameters have");
    expect_error("allocate c[float32 * 8], storage_scope = global\nc[0] = 1f\n", "a, c",
                 "line 2: a buffer that has the name of a parameter: which is meant is not known");
}

static void test_memory_runs_out(void **state) {
    (void)state;
    static const char text[] = "GlobalVar(f): PrimFunc([a, a, c]) attrs={} {\nfor (i, 0, 8) {\nfor (j, 0, 8) {\n"
                               "d[i] = a[floordiv(i, 3)]\nd[i] = a[floordiv((i + 1), 3)]\ne[j] = a[j]\n}\n}\n}\n";
    for (long n = 0;; n++) {
        ft_program *program = NULL;
        size_t used;
        failing_start(n);
        ft_status status = ft_program_new(&program, NULL);
        if (status == FT_OK) status = ft_program_parse(program, text, strlen(text), &used, NULL);
        bool failed = failing_stop();
        ft_program_free(program);
        if (!failed) break;
        assert_int_equal(status, FT_ERR_NOMEM);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_position),
        cmocka_unit_test(test_by_terms),
        cmocka_unit_test(test_by_loops),
        cmocka_unit_test(test_by_target),
        cmocka_unit_test(test_names_that_are_taken),
        cmocka_unit_test(test_one_name_each),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
