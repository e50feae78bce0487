/* Tests of the plots and tables of an extrapolation: a predictor trained on small models, evaluated on larger ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "foretell/learn.h"
#include "graph/graph.h"
#include "learn/evaluate/dataset_stats.h"
#include "support/failing.h"
#include "support/flops_file.h"
#include "support/folder.h"
#include "support/small_set.h"
#include "support/synth_data.h"

enum { NETWORKS = 9 };

static const char *const devices[] = {"adreno-640"};

static double rule(const ft_graph *bound, const char *device) {
    (void)device;
    return 100 + (double)ft_graph_op_count(bound);
}

typedef struct fixture {
    ft_dataset *data, *trained;
    ft_predictor *predictor;
    ft_evaluation evaluation;
} fixture;

static void open_all(fixture *f) {
    ft_error error;
    flops_file_write("p.ftm", "time_us", 100, 1e-6F);
    assert_int_equal(ft_predictor_open("p.ftm", &f->predictor, &error), FT_OK);
    f->data = synth_data("d", NETWORKS, devices, 1, rule);
    f->trained = synth_data("t", 3, devices, 1, rule);
    assert_int_equal(ft_evaluate(f->predictor, f->data, &(ft_evaluate_options){0}, &f->evaluation, &error), FT_OK);
}

static void close_all(fixture *f) {
    ft_evaluation_free(&f->evaluation);
    ft_predictor_free(f->predictor);
    ft_dataset_free(f->data);
    ft_dataset_free(f->trained);
}

static ft_status plot(const fixture *f, bool is_known, const char *folder, ft_error *error) {
    const ft_extrapolation_options options = {.trained = is_known ? f->trained : NULL, .threads = 1};
    return ft_extrapolation_plot(f->predictor, f->data, &f->evaluation, &options, "title", folder, error);
}

static int count_lines(const char *text) {
    int lines = 0;
    for (; *text != '\0'; text++) lines += *text == '\n';
    return lines;
}

static void check_files(bool is_known) {
    static const char *const names[] = {"x/operators.svg", "x/operators.png", "x/measured.svg", "x/measured.png",
                                        "x/features.svg",  "x/features.png",  "x/cases.csv",    "x/features.csv"};
    fixture f;
    ft_error error;
    open_all(&f);
    if (plot(&f, is_known, "x", &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(plot(&f, is_known, "x", &error), FT_OK); /* again: files are overwritten */
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) assert_int_equal(access(names[i], F_OK), 0);
    char *cases = read_text("x/cases.csv"), *features = read_text("x/features.csv");
    assert_int_equal(count_lines(cases), 1 + NETWORKS);
    assert_non_null(strstr(cases, "\nnet-3,one,adreno-640,"));
    assert_int_equal(count_lines(features), 1 + STATS_FEATURES * (is_known ? 2 : 1));
    assert_int_equal(strstr(features, "operators,trained,3,") != NULL, is_known);
    assert_non_null(strstr(features, "operators,evaluated,9,"));
    free(cases);
    free(features);
    close_all(&f);
}

static void test_files(void **state) {
    (void)state;
    check_files(true);
}

static void test_nothing_known(void **state) {
    (void)state;
    check_files(false);
}

/* The number of operators in the table is that of the model. */
static void test_operators(void **state) {
    (void)state;
    fixture f;
    ft_error error;
    open_all(&f);
    double operators[NETWORKS];
    fit_row rows[NETWORKS];
    dataset_stats c;
    for (uint32_t i = 0; i < NETWORKS; i++) {
        rows[i] = (fit_row){.record = i, .graph = ft_dataset_records(f.data)[i].graph, .label = 1};
        operators[i] = -1;
    }
    assert_int_equal(dataset_stats_collect(&c, f.data, (fit_rows){rows, NETWORKS}, NULL, NULL, operators, &error),
                     FT_OK);
    uint64_t total = 0;
    for (uint32_t i = 0; i < NETWORKS; i++) {
        assert_float_equal(operators[i], f.evaluation.cases[i].measured - 100, 1e-9);
        total += (uint64_t)operators[i];
    }
    assert_int_equal(c.models, NETWORKS);
    assert_int_equal(c.operators, total);
    uint64_t words = 0;
    for (uint32_t i = 0; i < c.name_count; i++) words += c.counts[i].count;
    assert_int_equal(words, total);
    uint32_t count;
    operator_count *unknown = dataset_stats_unseen(&c, &c, &count);
    assert_int_equal(count, 0);
    free(unknown);
    dataset_stats none = {0};
    unknown = dataset_stats_unseen(&c, &none, &count);
    assert_int_equal(count, c.name_count);
    assert_true(unknown[0].count >= unknown[count - 1].count);
    free(unknown);
    dataset_stats_free(&c);
    close_all(&f);
}

static bool stop(void *user, uint64_t done, uint64_t total, const char *what) {
    (void)user;
    (void)done;
    (void)total;
    (void)what;
    return false;
}

static void test_refusals(void **state) {
    (void)state;
    fixture f;
    ft_error error;
    open_all(&f);
    ft_evaluation nothing = f.evaluation;
    nothing.case_count = 0;
    ft_extrapolation_options options = {.trained = f.trained, .threads = 1};
    assert_int_equal(ft_extrapolation_plot(f.predictor, f.data, &nothing, &options, "", "x", &error), FT_ERR_USAGE);
    assert_int_equal(ft_extrapolation_plot(f.predictor, f.data, &f.evaluation, &options, "", "no/such/place", &error),
                     FT_ERR_IO);
    options.progress = stop;
    assert_int_equal(ft_extrapolation_plot(f.predictor, f.data, &f.evaluation, &options, "", "x", &error),
                     FT_ERR_CANCELLED);
    assert_int_not_equal(access("x", F_OK), 0);
    close_all(&f);
}

static void test_no_memory(void **state) {
    (void)state;
    fixture f;
    ft_error error;
    open_all(&f);
    assert_int_equal(plot(&f, true, "warm", &error), FT_OK); /* fonts are looked up once */
    for (long n = 0;; n += 1 + n) {
        failing_start(n);
        ft_status status = plot(&f, true, "x", &error);
        if (!failing_stop()) break;
        assert_int_equal(status, FT_ERR_NOMEM);
    }
    close_all(&f);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_files),    IN_FOLDER(test_nothing_known), IN_FOLDER(test_operators),
        IN_FOLDER(test_refusals), IN_FOLDER(test_no_memory),
    };
    return cmocka_run_group_tests_name("learn/extrapolation", tests, NULL, NULL);
}
