/* Tests of the names of what splits hold out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "data/dataset.h"
#include "data/fold.h"
#include "foretell/data_report.h"
#include "support/failing.h"
#include "support/folder.h"
#include "support/synth_data.h"
#include "support/synth_log.h"

static void units_of_models(void **state) {
    (void)state;
    assert_string_equal(split_unit("random", false), "models");
    assert_string_equal(split_unit("random:65/10/25", false), "models");
    assert_string_equal(split_unit("name:80/10/10", false), "architectures");
    assert_string_equal(split_unit("fold:name:50:1", false), "architectures");
    assert_string_equal(split_unit("deal:family:5:1", false), "families");
    assert_string_equal(split_unit("family:resnet", false), "families");
    assert_string_equal(split_unit("device:mi50:shared", false), "devices");
    assert_string_equal(split_unit("order:ood", false), "models");
}

static void units_of_programs(void **state) {
    (void)state;
    assert_string_equal(split_unit("random", true), "programs");
    assert_string_equal(split_unit("fold:name:20:1", true), "tasks");
    assert_string_equal(split_unit("fold:graph:20:1", true), "programs");
    assert_string_equal(split_unit("network:bert", true), "networks");
}

static void unknown_specs_have_no_unit(void **state) {
    (void)state;
    assert_null(split_unit("", false));
    assert_null(split_unit("randomly", false));
    assert_null(split_unit("fold:colour:5:1", true));
    assert_null(split_unit("folded", true));
}

static void programs_are_recognised(void **state) {
    (void)state;
    ft_error error;
    bool are_programs = true;
    builder *b = synth_begin("models");
    synth_add(b, &(synth_record){.name = "a", .family = "f", .device = "cortex-a76", .part = "", .time_us = 1});
    ft_dataset *models = synth_end(b, "models");
    assert_int_equal(dataset_holds_programs(models, &are_programs, &error), FT_OK);
    assert_false(are_programs);
    ft_dataset_free(models);
    synth_logs("logs", 3);
    ft_dataset *programs = NULL;
    assert_int_equal(ft_import("ansor", "logs", "programs", NULL, NULL, &error), FT_OK);
    assert_int_equal(ft_dataset_open("programs", &programs, &error), FT_OK);
    assert_int_equal(dataset_holds_programs(programs, &are_programs, &error), FT_OK);
    assert_true(are_programs);
    ft_dataset_free(programs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_of_models),
        cmocka_unit_test(units_of_programs),
        cmocka_unit_test(unknown_specs_have_no_unit),
        cmocka_unit_test_setup_teardown(programs_are_recognised, folder_enter, folder_leave),
    };
    return cmocka_run_group_tests_name("data/fold", tests, NULL, NULL);
}
