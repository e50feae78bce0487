/* The families "seernet" and "seernet-multi". test_digraph.c tests the operations shared by all graph networks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "predictor/gnn/gnn_family.h"
#include "predictor/peers/seernet.h"
#include "support/fitted.h"
#include "support/folder.h"

#define QUICK "{\"hidden\": 16, \"steps\": 300, \"batch\": 16, \"check\": 50, \"rate\": 0.01}"
#define TINY  "{\"hidden\": 4, \"steps\": 30, \"batch\": 16, \"check\": 7}"

/* A made-up time: a cost per multiply-accumulate and per byte, larger on one device. */
static double made_time(const ft_graph *bound, const char *device) {
    ft_op_cost cost = synth_cost(bound);
    double time =
        1e-3 * (double)cost.forward.macs + 2e-3 * (double)(cost.forward.read_bytes + cost.forward.write_bytes);
    return device[0] == 'a' ? time : 7 * time;
}

static void seernet_learns(void **state) {
    (void)state;
    fitted f = fit_synth("seernet", made_time, QUICK);
    fitted_check(&f, 0.25);
    fitted_check_refusals(&f);
    fitted_free(&f);
}

static void multi_learns(void **state) {
    (void)state;
    fitted f = fit_synth("seernet-multi", made_time, QUICK);
    fitted_check(&f, 0.25);
    fitted_free(&f);
}

static void training_is_reproducible(void **state) {
    (void)state;
    fitted f = fit_synth("seernet", made_time, TINY);
    fitted_check_threads(&f, TINY);
    fitted_check_resume(&f, TINY, 6);
    fitted_free(&f);
}

static void other_numbers_of_layers_are_errors(void **state) {
    (void)state;
    fitted f = fit_synth("seernet", made_time, TINY);
    json_t *config = json_loads("{\"layers\": 2}", 0, NULL);
    fit_context context = {.config = config};
    void *m = NULL;
    ft_error error;
    assert_int_equal(f.family->fit(&f.set, &context, &m, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "one block"));
    json_decref(config);
    fitted_free(&f);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(seernet_learns),
        IN_FOLDER(multi_learns),
        IN_FOLDER(training_is_reproducible),
        IN_FOLDER(other_numbers_of_layers_are_errors),
    };
    return cmocka_run_group_tests_name("predictor/seernet", tests, NULL, NULL);
}
