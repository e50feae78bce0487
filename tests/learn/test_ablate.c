/* Tests of ablation: the difference is the effect of the factor that is switched off, for any seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "foretell/tune.h"
#include "learn/tunable.h"
#include "support/folder.h"
#include "support/toy_data.h"

static ft_ablate_options usual(void) {
    ft_ablate_options options = ft_ablate_options_default();
    options.trial.workers = options.trial.threads = 1;
    return options;
}

static void ablate_well(const ft_dataset *data, const char *folder, const ft_ablate_options *o, ft_ablation *a) {
    ft_error error = {0};
    ft_status status = ft_ablate(data, folder, o, a, &error);
    if (status != FT_OK) print_message("%s\n", error.message);
    assert_int_equal(status, FT_OK);
}

static void tells_what_is_lost(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", NULL);
    ft_ablate_options o = usual();
    ft_ablation a;
    ablate_well(data, "out", &o, &a);
    assert_int_equal(a.count, 2); /* the factor that the family declares: extra */
    assert_string_equal(a.factors[0].name, "all");
    assert_string_equal(a.factors[1].name, "extra=0");
    assert_int_equal(a.factors[1].n, 3);
    assert_true(a.factors[1].difference > 10); /* percent */
    assert_true(fabs(a.factors[1].value - a.factors[0].value - a.factors[1].difference) < 1e-9);
    assert_true(a.factors[1].difference_deviation < a.factors[1].difference / 4);
    assert_true(isnan(a.factors[0].difference));
    assert_int_equal(folder_count("out"), 2);
    ft_ablation_free(&a);
    ft_dataset_free(data);
}

static void factors_of_ones_own(void **state) {
    (void)state;
    static const char *const factors[] = {"kind=better", "kind=broken"};
    ft_dataset *data = toy_data_open("data", NULL);
    ft_ablate_options o = usual();
    ft_ablation a;
    ft_error error;
    char *text = NULL;
    size_t length;
    ft_style style = ft_style_default();
    o.factors = factors;
    o.factor_count = 2;
    o.seeds = 1;
    o.part = FT_PART_TEST;
    ablate_well(data, "out", &o, &a);
    assert_true(a.factors[1].difference < 0 && isnan(a.factors[1].difference_deviation));
    assert_int_equal(a.factors[2].n, 0);
    assert_string_equal(a.factors[2].error, "broken as asked for");
    FILE *stream = open_memstream(&text, &length);
    assert_int_equal(ft_ablation_write(&a, &style, stream, &error), FT_OK);
    style.output = FT_JSON;
    assert_int_equal(ft_ablation_write(&a, &style, stream, &error), FT_OK);
    style.output = FT_CSV;
    assert_int_equal(ft_ablation_write(&a, &style, stream, &error), FT_OK);
    fclose(stream);
    assert_non_null(strstr(text, "kind=broken failed: broken as asked for"));
    assert_non_null(strstr(text, "on the test part"));
    free(text);
    ft_ablation_free(&a);
    uint32_t before = tunable_fits();
    o.trial.is_resumed = true;
    ablate_well(data, "out", &o, &a);
    assert_int_equal(tunable_fits(), before);
    ft_ablation_free(&a);
    ft_dataset_free(data);
}

static void wrong_options_leave_no_files(void **state) {
    (void)state;
    static const char *const none[] = {"extra=1"}, *const wrong[] = {"extras=0"};
    ft_dataset *data = toy_data_open("data", NULL);
    ft_ablate_options o = usual();
    ft_ablation a;
    ft_error error;
    o.factors = wrong;
    o.factor_count = 1;
    assert_int_equal(ft_ablate(data, "out", &o, &a, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "no setting 'extras'"));
    o.factors = none;
    o.trial.config = "{\"extra\": 1}";
    assert_int_equal(ft_ablate(data, "out", &o, &a, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "switches nothing off"));
    o.factor_count = 0;
    o.trial.config = "{\"extra\": 0}";
    assert_int_equal(ft_ablate(data, "out", &o, &a, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "declares no factors"));
    o.trial.config = NULL;
    o.seeds = 0;
    assert_int_equal(ft_ablate(data, "out", &o, &a, &error), FT_ERR_USAGE);
    assert_int_equal(folder_count("out"), -1);
    ft_dataset_free(data);
}

int main(void) {
    use_only_family(&tunable);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tells_what_is_lost, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(factors_of_ones_own, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(wrong_options_leave_no_files, folder_enter, folder_leave),
    };
    return cmocka_run_group_tests_name("learn/ablate", tests, NULL, NULL);
}
