/* The families for tensor programs learn the times of tilings of a matrix product on two devices; models are errors. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "foretell/foretell.h"
#include "support/folder.h"
#include "support/synth_data.h"
#include "support/synth_log.h"

enum { PROGRAMS = 108 };

typedef struct trial {
    const char *family;
    double mape; /* upper bound of its error */
    const char *settings[8];
    uint32_t setting_count;
} trial;

static const trial trials[] = {
    {"step-sequence", 25, {"steps=250", "hidden=16", "heads=2", "layers=1", "batch=16", "rate=0.01"}, 6},
    {"leaf-sequence", 25, {"steps=250", "hidden=16", "heads=2", "layers=1", "batch=16", "rate=0.01"}, 6},
    {"leaf-sequence",
     25,
     {"steps=250", "hidden=16", "heads=2", "layers=1", "batch=16", "rate=0.01", "readout=counted", "target=box-cox"},
     8},
    {"leaf-gbt", 20, {"rounds=100", "min_child_weight=0"}, 2},
    {"nest-gbt", 20, {"rounds=100", "min_child_weight=0"}, 2},
    {"task-median", 100, {0}, 0},
};

/* Trains on the data and returns the error on the test part; writes run/predictor.ftm. */
static void train(const ft_dataset *data, const trial *t, const char *run, double *mape) {
    ft_error error;
    ft_evaluation tested = {0};
    ft_train_options options = ft_train_options_default();
    options.family = t->family;
    options.settings = t->settings;
    options.setting_count = t->setting_count;
    options.threads = 2;
    if (ft_train(data, run, &options, &tested, &error) != FT_OK) fail_msg("%s: %s", t->family, error.message);
    *mape = 0;
    for (uint32_t i = 0; i < tested.score_count; i++)
        if (strcmp(tested.scores[i].family, "all") == 0) *mape = fmax(*mape, tested.scores[i].mape);
    assert_int_equal(tested.task_count, 2);
    ft_evaluation_free(&tested);
}

/* A model is not a tensor program. */
static void check_refusal(const char *path) {
    ft_error error;
    ft_predictor *predictor = NULL;
    ft_result answer;
    ft_graph *model = synth_network(1), *bound = NULL;
    assert_int_equal(ft_predictor_open(path, &predictor, &error), FT_OK);
    assert_int_equal(ft_graph_bind(model, NULL, &bound, &error), FT_OK);
    ft_request request = {.device = "k80"};
    assert_int_equal(ft_predictor_predict(predictor, bound, &request, &answer, &error), FT_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "for tensor programs"));
    ft_graph_free(bound);
    ft_graph_free(model);
    ft_predictor_free(predictor);
}

static void families_learn_tilings(void **state) {
    (void)state;
    ft_error error;
    ft_dataset *data = NULL;
    double mape[sizeof trials / sizeof trials[0]];
    synth_logs("logs", PROGRAMS);
    assert_int_equal(ft_import("ansor", "logs", "set", NULL, NULL, &error), FT_OK);
    assert_int_equal(ft_dataset_open("set", &data, &error), FT_OK);
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++) {
        char run[16], path[64];
        snprintf(run, sizeof run, "run%zu", i);
        train(data, &trials[i], run, &mape[i]);
        if (mape[i] > trials[i].mape) fail_msg("%s: %g %%", trials[i].family, mape[i]);
        snprintf(path, sizeof path, "%s/predictor.ftm", run);
        check_refusal(path);
    }
    for (size_t i = 0; i + 1 < sizeof trials / sizeof trials[0]; i++)
        assert_true(mape[i] < mape[sizeof trials / sizeof trials[0] - 1]); /* all are better than the median */
    ft_dataset_free(data);
}

/* --- A device that was not measured ----------------------------------------------------------------------- */

static ft_status predict(const ft_predictor *predictor, const ft_graph *bound, const char *device,
                         ft_metric_result *result) {
    ft_error error;
    ft_result answer;
    ft_request request = {.device = device};
    ft_status status = ft_predictor_predict(predictor, bound, &request, &answer, &error);
    if (status == FT_OK) {
        *result = answer.metrics[0];
        ft_result_free(&answer);
    }
    return status;
}

static ft_predictor *train_sequence(const ft_dataset *data, const char *run, const char *columns) {
    trial t = {"leaf-sequence", 25, {"steps=250", "hidden=16", "heads=2", "layers=1", "batch=16", "rate=0.01"}, 7};
    ft_predictor *predictor = NULL;
    ft_error error;
    char path[64];
    double mape;
    t.settings[6] = columns;
    train(data, &t, run, &mape);
    if (mape > t.mape) fail_msg("%s: %g %%", columns, mape);
    snprintf(path, sizeof path, "%s/predictor.ftm", run);
    assert_int_equal(ft_predictor_open(path, &predictor, &error), FT_OK);
    return predictor;
}

/* With one output for all devices, a data sheet is enough for a prediction, with a wider interval. */
static void unmeasured_devices_are_predicted_from_data_sheets(void **state) {
    (void)state;
    ft_error error;
    ft_dataset *data = NULL;
    ft_graph *program = NULL, *bound = NULL;
    ft_metric_result known, other;
    synth_logs("logs", PROGRAMS);
    assert_int_equal(ft_import("ansor", "logs", "set", NULL, NULL, &error), FT_OK);
    assert_int_equal(ft_dataset_open("set", &data, &error), FT_OK);
    assert_int_equal(ft_dataset_graph(data, 0, &program, &error), FT_OK);
    assert_int_equal(ft_graph_bind(program, NULL, &bound, &error), FT_OK);
    ft_predictor *shared = train_sequence(data, "shared", "columns=shared");
    ft_predictor *own = train_sequence(data, "own", "columns=device");
    assert_int_equal(predict(shared, bound, "v100", &known), FT_OK);
    assert_int_equal(predict(shared, bound, "mi50", &other), FT_OK);
    assert_true(known.shares[FT_LEARNED] + known.shares[FT_EXTRAPOLATED] == 1);
    assert_true(other.provenance == FT_EXTRAPOLATED && other.shares[FT_EXTRAPOLATED] == 1);
    assert_true(other.value > 0 && other.value != known.value);
    assert_true(other.hi / other.value > known.hi / known.value);
    assert_int_equal(predict(shared, bound, "ethos-u55-128", &other),
                     FT_ERR_UNSUPPORTED); /* its data sheet lacks numbers */
    assert_int_equal(predict(own, bound, "v100", &known), FT_OK);
    assert_int_equal(predict(own, bound, "mi50", &other), FT_ERR_UNSUPPORTED);
    ft_predictor_free(own);
    ft_predictor_free(shared);
    ft_graph_free(bound);
    ft_graph_free(program);
    ft_dataset_free(data);
}

/* --- Several programs at once -------------------------------------------------------------------------------- */

/* Predictions do not depend on the other programs of a batch, nor on one that is invalid. */
static void batches_match_single_predictions(void **state) {
    enum { ASKED = 40, MODEL = 17 };
    (void)state;
    ft_error error, errors[ASKED];
    ft_dataset *data = NULL;
    ft_graph *graphs[ASKED], *bound[ASKED];
    ft_result results[ASKED];
    synth_logs("logs", PROGRAMS);
    assert_int_equal(ft_import("ansor", "logs", "set", NULL, NULL, &error), FT_OK);
    assert_int_equal(ft_dataset_open("set", &data, &error), FT_OK);
    for (uint32_t i = 0; i < ASKED; i++) {
        if (i == MODEL)
            graphs[i] = synth_network(1);
        else
            assert_int_equal(ft_dataset_graph(data, i, &graphs[i], &error), FT_OK);
        assert_int_equal(ft_graph_bind(graphs[i], NULL, &bound[i], &error), FT_OK);
    }
    ft_predictor *predictor = train_sequence(data, "shared", "columns=shared");
    static const char *const devices[] = {"v100", "mi50"}; /* one in training, one not */
    for (int d = 0; d < 2; d++) {
        ft_request request = {.device = devices[d]};
        assert_int_equal(
            ft_predictor_predict_many(predictor, (const ft_graph *const *)bound, ASKED, &request, results, errors),
            FT_ERR_UNSUPPORTED);
        for (uint32_t i = 0; i < ASKED; i++) {
            ft_metric_result alone;
            assert_int_equal(errors[i].status, i == MODEL ? FT_ERR_UNSUPPORTED : FT_OK);
            assert_int_equal(predict(predictor, bound[i], devices[d], &alone), errors[i].status);
            if (i == MODEL) continue;
            assert_true(fabs(results[i].metrics[0].value / alone.value - 1) < 1e-5); /* tests of gemm.c compare bits */
            assert_true(fabs(results[i].metrics[0].hi / alone.hi - 1) < 1e-5);
            ft_result_free(&results[i]);
        }
        assert_non_null(strstr(errors[MODEL].message, "for tensor programs"));
    }
    for (uint32_t i = 0; i < ASKED; i++) {
        ft_graph_free(bound[i]);
        ft_graph_free(graphs[i]);
    }
    ft_predictor_free(predictor);
    ft_dataset_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(families_learn_tilings, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(unmeasured_devices_are_predicted_from_data_sheets, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(batches_match_single_predictions, folder_enter, folder_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
