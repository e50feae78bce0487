/* Tests of tables of times: CSV and JSON agree, names have units, and errors name the line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "replay/times.h"
#include "support/failing.h"

static ft_times *read_text(const char *text, bool is_strict) {
    ft_times *times = NULL;
    ft_error error;
    if (ft_times_read_memory(text, strlen(text), "t", is_strict, &times, &error) != FT_OK)
        fail_msg("%s", error.message);
    return times;
}

static void check_three(const char *text) {
    ft_times *t = read_text(text, true);
    assert_int_equal(t->count, 3);
    assert_string_equal(t->rows[0].name, "a");
    assert_float_equal(t->rows[0].time_us, 12.5, 0);
    assert_string_equal(t->rows[1].type, "conv");
    assert_float_equal(t->rows[1].time_us, 3000, 1e-9);
    assert_string_equal(t->rows[2].engine, "dma");
    assert_int_equal(t->rows[2].phase, FT_REPLAY_BACKWARD);
    assert_int_equal(t->rows[2].priority, -3);
    assert_int_equal(t->rows[2].gradient_bytes, 4096);
    assert_int_equal(t->rows[2].after.count, 2);
    assert_string_equal(t->rows[2].after.items[1], "b, the \"second\"");
    assert_true(t->has_after);
    assert_true(t->has_phases);
    ft_times_free(t);
}

static void test_csv_and_json_agree(void **state) {
    (void)state;
    check_three("name,type,time_us,time_ms,engine,phase,priority,gradient_bytes,after,unknown\n"
                "a,,12.5,,,,,,,x\n"
                "\"b, the \"\"second\"\"\",conv,,3,,,,,a,y\n"
                "c,,1,,dma,backward,-3,4096,\"a;b, the \"\"second\"\"\",z\n");
    check_three("[{\"name\": \"a\", \"time_us\": 12.5, \"unknown\": [1, 2]},\n"
                " {\"name\": \"b, the \\\"second\\\"\", \"type\": \"conv\", \"time_ms\": 3, \"after\": [\"a\"]},\n"
                " {\"name\": \"c\", \"time_s\": 1e-6, \"engine\": \"dma\", \"phase\": \"backward\", \"priority\": -3,\n"
                "  \"gradient_bytes\": 4096, \"after\": [\"a\", \"b, the \\\"second\\\"\"]}]\n");
}

static void test_pairs(void **state) {
    (void)state;
    ft_times *t = read_text(" {\"conv1\": 4, \"conv2\": null}", false);
    assert_int_equal(t->count, 2);
    assert_float_equal(t->rows[0].time_us, 4, 0);
    assert_true(isnan(t->rows[1].time_us));
    ft_times_free(t);
}

/* Tables of `program predict` name tasks; a name goes before, in any order of the columns. */
static void test_tasks_are_names(void **state) {
    (void)state;
    static const char *const tables[] = {"file,line,task,time_us\nm.txt,1,f,3\nm.txt,9,g,4\n",
                                         "task,name,time_us\nx,f,3\ng,,4\n", "time_us,name,task\n3,f,x\n4,,g\n",
                                         "[{\"task\": \"f\", \"time_us\": 3}, {\"task\": \"g\", \"time_us\": 4}]"};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        ft_times *t = read_text(tables[i], true);
        assert_int_equal(t->count, 2);
        assert_string_equal(t->rows[0].name, "f");
        assert_string_equal(t->rows[1].name, "g");
        ft_times_free(t);
    }
}

static void test_tables_of_predict(void **state) {
    (void)state;
    ft_times *t =
        read_text("[{\"file\": \"m.onnx\", \"layers\": [\n"
                  "{\"index\": 0, \"kernel\": \"conv-relu\", \"operators\": [\"c+1\", \"r\"], \"time_us\": 0},\n"
                  "{\"index\": 1, \"kernel\": \"correction\", \"operators\": [], \"time_us\": -4}]}]",
                  true);
    assert_true(ft_times_have_operators(t));
    assert_string_equal(t->rows[0].type, "conv-relu");
    assert_string_equal(t->rows[0].operators.items[0], "c+1");
    assert_float_equal(t->rows[1].time_us, -4, 0);
    ft_times_free(t);
    t = read_text("file,index,kernel,time_us,operators\nm,0,conv-relu,7,c+r\nm,1,start,2,\n", true);
    assert_int_equal(t->rows[0].operators.count, 2);
    assert_int_equal(t->rows[1].operators.count, 0);
    ft_times_free(t);
}

/* Unusable times are dropped and counted, or are errors with their line. */
static void test_unusable_times(void **state) {
    (void)state;
    static const char *const bad[] = {"0", "-1", "nan", "inf", "1e300", "soon", "1e16"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[128];
        ft_error error;
        ft_times *t;
        snprintf(text, sizeof text, "name,time_us\na,1\nb,%s\n", bad[i]);
        t = read_text(text, false);
        assert_int_equal(t->count, 2);
        assert_int_equal(t->bad_count, 1);
        assert_true(isnan(t->rows[1].time_us));
        assert_non_null(strstr(t->first_bad, "line 3"));
        ft_times_free(t);
        assert_int_equal(ft_times_read_memory(text, strlen(text), "t.csv", true, &t, &error), FT_ERR_DAMAGED);
        assert_non_null(strstr(error.message, "t.csv: line 3"));
    }
}

static void refuse(const char *text, ft_status status, const char *word) {
    ft_times *times = NULL;
    ft_error error;
    assert_int_equal(ft_times_read_memory(text, strlen(text), "t", false, &times, &error), status);
    if (strstr(error.message, word) == NULL) fail_msg("no '%s' in '%s'", word, error.message);
    assert_null(times);
}

static void test_invalid_tables(void **state) {
    (void)state;
    refuse("", FT_ERR_FORMAT, "not a table of times");
    refuse("no table at all\n", FT_ERR_FORMAT, "not a table of times");
    refuse("name,flops\na,1\n", FT_ERR_FORMAT, "needs the columns");
    refuse("name,time_us\n", FT_ERR_DAMAGED, "without rows");
    refuse("name,time_us\na,1,2\n", FT_ERR_DAMAGED, "line 2: 3 fields");
    refuse("name,time_us\na,1\n\na,2\n", FT_ERR_DAMAGED, "line 4: 'a' is already in line 2");
    refuse("name,time_us\n,1\n", FT_ERR_DAMAGED, "line 2: the row has no 'name'");
    refuse("name,time_us,phase\na,1,sideways\n", FT_ERR_DAMAGED, "line 2: expected forward");
    refuse("name,time_us,priority\na,1,high\n", FT_ERR_DAMAGED, "line 2: expected a whole number");
    refuse("name,time_us,priority\na,1,9999999\n", FT_ERR_DAMAGED, "line 2: priorities");
    refuse("name,time_us,gradient_bytes\na,1,-1\n", FT_ERR_DAMAGED, "line 2: expected bytes");
    refuse("[1, 2]", FT_ERR_DAMAGED, "row 1 is a number");
    refuse("[{\"name\": {}}]", FT_ERR_DAMAGED, "row 1: 'name' is an object");
    refuse("[{\"name\": \"a\", \"type\": [\"x\"]}]", FT_ERR_DAMAGED, "a list where a value");
    refuse("[{\"name\": \"a\", \"after\": [1]}]", FT_ERR_DAMAGED, "row 1");
    refuse("[{\"name\": \"a\",\n\"time_us\": }]", FT_ERR_DAMAGED, "line 2");
    refuse("{\"nodes\": []}", FT_ERR_FORMAT, "not a table of times");
    refuse("[{\"layers\": []}, {\"layers\": []}]", FT_ERR_UNSUPPORTED, "2 results");
    refuse("[\n{\"name\": \"a\", \"time_us\": 1},\n{\"name\": \"a\", \"time_us\": 1}]", FT_ERR_DAMAGED,
           "line 3: 'a' is already in line 2");
}

static void test_lines_of_objects(void **state) {
    (void)state;
    static const char text[] = "{\n\"n\": [{\"x\": \"}{\\\"{\"},\n {}\n, [{}], {\"y\": {}}]}";
    uint64_t lines[4] = {0};
    assert_int_equal(json_object_lines(text, strlen(text), 3, lines, 4), 3);
    assert_int_equal(lines[0], 2);
    assert_int_equal(lines[1], 3);
    assert_int_equal(lines[2], 4);
    assert_int_equal(json_object_lines(text, strlen(text), 1, lines, 0), 1);
}

static void test_memory_runs_out(void **state) {
    (void)state;
    static const char *const texts[] = {"name,time_us,after,type\na,1,,x\nb,0,a,y\n",
                                        "[{\"name\": \"a\", \"time_us\": 1}, {\"name\": \"b\", \"after\": [\"a\"]}]"};
    for (size_t i = 0; i < 2; i++) {
        for (long n = 0;; n++) {
            ft_times *times = NULL;
            failing_start(n);
            ft_status status = ft_times_read_memory(texts[i], strlen(texts[i]), "t", false, &times, NULL);
            bool is_failed = failing_stop();
            ft_times_free(times);
            if (!is_failed) {
                assert_int_equal(status, FT_OK);
                break;
            }
            assert_int_equal(status, FT_ERR_NOMEM);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_csv_and_json_agree), cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_tables_of_predict),  cmocka_unit_test(test_unusable_times),
        cmocka_unit_test(test_invalid_tables),     cmocka_unit_test(test_lines_of_objects),
        cmocka_unit_test(test_memory_runs_out),    cmocka_unit_test(test_tasks_are_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
