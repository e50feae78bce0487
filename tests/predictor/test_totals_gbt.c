/* "totals-gbt" learns times that follow a rule, and its files are checked. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "predictor/baseline/totals_gbt.h"
#include "support/fitted.h"
#include "support/folder.h"

#define QUICK "{\"rounds\": 60, \"eta\": 0.3, \"min_child_weight\": 0, \"subsample\": 1, \"patience\": 0}"

static double rule(const ft_graph *bound, const char *device) {
    uint32_t convolutions = 0;
    for (uint32_t i = 0; i < ft_graph_op_count(bound); i++)
        convolutions += strcmp(ft_graph_ops(bound)[i].type, "Conv") == 0;
    return (convolutions > 2 ? 10 : 1000) * (device[0] == 'a' ? 1 : 3);
}

static void times_by_a_rule_are_learned(void **state) {
    (void)state;
    fitted f = fit_synth("totals-gbt", rule, QUICK);
    fitted_check(&f, 0.05);
    fitted_check_threads(&f, QUICK);
    fitted_check_refusals(&f);
    fitted_free(&f);
}

static void resumed_training_gives_the_same_trees(void **state) {
    (void)state;
    const char *config = "{\"rounds\": 70, \"patience\": 5, \"min_child_weight\": 0}";
    fitted f = fit_synth("totals-gbt", rule, config);
    fitted_check_resume(&f, config, 12);
    fitted_free(&f);
}

static void damaged_models_are_refused(void **state) {
    (void)state;
    fitted f = fit_synth("totals-gbt", rule, "{\"rounds\": 3}");
    fitted_refuses(&f, "{\"a\": 1}", 0, "has parameters");
    fitted_refuses(&f, NULL, 2, "2 numbers after its last tree");
    fitted_refuses(&f, NULL, -1, "");
    fitted_free(&f);
}

static bool stop(void *user, double ratio, const char *what) {
    (void)user;
    (void)what;
    return ratio < 0.5;
}

static void can_be_stopped(void **state) {
    (void)state;
    fitted f = fit_synth("totals-gbt", rule, "{\"rounds\": 1}");
    fit_context context = {.progress = stop};
    void *m = NULL;
    assert_int_equal(f.family->fit(&f.set, &context, &m, NULL), FT_ERR_CANCELLED);
    assert_null(m);
    fitted_free(&f);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {IN_FOLDER(times_by_a_rule_are_learned),
                                       IN_FOLDER(resumed_training_gives_the_same_trees),
                                       IN_FOLDER(damaged_models_are_refused), IN_FOLDER(can_be_stopped)};
    return cmocka_run_group_tests_name("predictor/totals_gbt", tests, NULL, NULL);
}
