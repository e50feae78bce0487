/* Tests of the rows of a fit: by part, with labels, sorted devices, and separate calibration rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "learn/train/fitset.h"
#include "support/failing.h"
#include "support/folder.h"
#include "support/toy_data.h"

enum { RECORDS = 120 };

/* Graphs 0 to 29 train, 30 to 44 validate, 45 to 58 are tested, 59 is not used. */
static ft_split usual_split(uint8_t parts[static RECORDS]) {
    for (uint32_t i = 0; i < RECORDS; i++) {
        uint32_t graph = i / 2;
        parts[i] = graph < 30 ? FT_PART_TRAIN : graph < 45 ? FT_PART_VALID : graph < 59 ? FT_PART_TEST : FT_PART_UNUSED;
    }
    return (ft_split){.spec = "by hand", .parts = parts};
}

static void test_rows_by_part(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", NULL);
    uint8_t parts[RECORDS];
    ft_split split = usual_split(parts);
    fitset f;
    ft_error error;
    assert_int_equal(fitset_make(data, &split, "time_us", true, &f, &error), FT_OK);
    assert_int_equal(f.set.device_count, 2);
    assert_string_equal(f.set.devices[0], "adreno-640");
    assert_string_equal(f.set.devices[1], "cortex-a76");
    assert_int_equal(fitset_device(&f.set, "cortex-a76"), 1);
    assert_int_equal(fitset_device(&f.set, "abacus"), FT_NONE);
    assert_int_equal(f.set.train.count, 60);
    assert_int_equal(f.valid_count, 30);
    assert_int_equal(f.test_count, 28);
    assert_int_equal(f.modes, 1U << FT_INFER);
    assert_int_equal(f.dtypes, 1U << FT_FLOAT32);
    for (uint32_t i = 0; i < f.set.train.count; i++) {
        const fit_row *row = &f.set.train.items[i];
        const ft_record *record = &ft_dataset_records(data)[row->record];
        assert_int_equal(row->record, i); /* in their order */
        assert_int_equal(row->graph, record->graph);
        assert_string_equal(f.set.devices[row->device], record->device);
        assert_true(row->label == record->metrics[0]);
    }
    assert_int_equal(f.calibration.counts[FT_PART_TEST], 20);
    assert_int_equal(f.calibration.parts[0], FT_PART_UNUSED);
    fitset_calibrate_on_all(&f); /* all but the test part, once each */
    assert_int_equal(f.calibration.counts[FT_PART_TEST], 90);
    for (uint32_t i = 0; i < RECORDS; i++)
        assert_int_equal(f.calibration.parts[i] == FT_PART_TEST,
                         parts[i] == FT_PART_TRAIN || parts[i] == FT_PART_VALID);
    fitset_free(&f);
    fitset_free(&f);
    ft_dataset_free(data);
}

/* A row has one of the metrics at least; the label is that of the first. */
static void test_several_metrics(void **state) {
    (void)state;
    ft_dataset *data =
        toy_data_open("data", &(toy_data){.has_memory = true, .bad_record = 2, .bad_label = (double)NAN});
    uint8_t parts[RECORDS];
    ft_split split = usual_split(parts);
    fitset f;
    ft_error error;
    assert_int_equal(fitset_make(data, &split, "time_us,peak_bytes", true, &f, &error), FT_OK);
    assert_string_equal(f.set.metric, "time_us");
    assert_int_equal(f.set.other_count, 1);
    assert_string_equal(f.set.others[0], "peak_bytes");
    assert_int_equal(f.set.train.count, 60);
    assert_true(isnan(f.set.train.items[1].label) && f.set.train.items[2].label > 0);
    assert_int_equal(f.modes, 1U << FT_INFER);
    assert_int_equal(f.other_modes[0], 1U << FT_INFER);
    fitset_free(&f);
    static const struct {
        const char *list, *part;
    } bad[] = {{"time_us,", "no metric ''; it has time_us, peak_bytes"},
               {"", "no metric ''"},
               {"time_us,joules", "no metric 'joules'"},
               {"time_us,time_us", "twice"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(fitset_make(data, &split, bad[i].list, true, &f, &error), FT_ERR_USAGE);
        assert_non_null(strstr(error.message, bad[i].part));
    }
    ft_dataset_free(data);
    data = toy_data_open("plain", NULL);
    assert_int_equal(fitset_make(data, &split, "time_us,peak_bytes", true, &f, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "no training record with peak_bytes"));
    ft_dataset_free(data);
}

/* Both parts have no graph in common, and are the same when other graphs train. */
static void test_parts_of_validation(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", NULL);
    uint8_t parts[RECORDS];
    ft_split split = usual_split(parts);
    fitset f, again;
    ft_error error;
    assert_int_equal(fitset_make(data, &split, "time_us", true, &f, &error), FT_OK);
    assert_int_equal(f.set.valid.count, 10); /* 5 graphs; calibration has 10 */
    assert_int_equal(f.calibration.counts[FT_PART_TEST], 20);
    for (uint32_t i = 0; i < f.set.valid.count; i++)
        assert_int_equal(f.calibration.parts[f.set.valid.items[i].record], FT_PART_UNUSED);
    for (uint32_t i = 0; i < RECORDS; i += 2) {
        assert_int_equal(f.calibration.parts[i], f.calibration.parts[i + 1]);
        if (f.calibration.parts[i] != FT_PART_UNUSED) assert_int_equal(parts[i], FT_PART_VALID);
    }
    uint32_t three = 0; /* of the 15 graphs, 5 are of family three: 3 or 4 for calibration */
    for (uint32_t i = 0; i < RECORDS; i += 2)
        three += f.calibration.parts[i] == FT_PART_TEST && strcmp(ft_dataset_records(data)[i].family, "three") == 0;
    assert_in_range(three, 3, 4);
    for (uint32_t i = 0; i < 20; i++) parts[i] = FT_PART_UNUSED;
    split.seed = 99;
    assert_int_equal(fitset_make(data, &split, "time_us", true, &again, &error), FT_OK);
    assert_memory_equal(f.calibration.parts, again.calibration.parts, RECORDS);
    fitset_free(&f);
    fitset_free(&again);
    ft_dataset_free(data);
}

/* Of k validation graphs the 2nd, 5th, ... in hash order is left to the family, all others calibrate. A graph has two
 * records. */
static void test_two_thirds_calibrate(void **state) {
    (void)state;
    static const struct {
        uint32_t graphs, valid, calibration;
    } expected[] = {{2, 2, 2}, {3, 2, 4}, {4, 2, 6}, {5, 4, 6}, {6, 4, 8}, {8, 6, 10}};
    ft_dataset *data = toy_data_open("data", NULL);
    uint8_t parts[RECORDS];
    ft_split split = usual_split(parts);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        fitset f;
        ft_error error;
        for (uint32_t r = 60; r < 90; r++) parts[r] = r < 60 + 2 * expected[i].graphs ? FT_PART_VALID : FT_PART_UNUSED;
        assert_int_equal(fitset_make(data, &split, "time_us", true, &f, &error), FT_OK);
        assert_int_equal(f.set.valid.count, expected[i].valid);
        assert_int_equal(f.calibration.counts[FT_PART_TEST], expected[i].calibration);
        assert_int_equal(f.calibration.counts[FT_PART_UNUSED], RECORDS - expected[i].calibration);
        assert_int_equal(f.valid_count, 2 * expected[i].graphs);
        fitset_free(&f);
    }
    ft_dataset_free(data);
}

/* Single operators are for families that ask for them. */
static void test_operators(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", &(toy_data){.operators = 4});
    uint8_t parts[RECORDS];
    ft_split split = usual_split(parts);
    fitset f;
    ft_error error;
    assert_int_equal(fitset_make(data, &split, "time_us", true, &f, &error), FT_OK);
    assert_int_equal(f.set.train.count, 60);
    fitset_free(&f);
    assert_int_equal(fitset_make(data, &split, "time_us", false, &f, &error), FT_OK);
    assert_int_equal(f.set.train.count, 52);
    assert_int_equal(f.set.train.items[0].graph, 4);
    fitset_free(&f);
    ft_dataset_free(data);
}

/* Only devices of training are known: the others' rows are left out. */
static void test_devices_of_training(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", NULL);
    uint8_t parts[RECORDS];
    ft_split split = usual_split(parts);
    for (uint32_t i = 1; i < 60; i += 2) parts[i] = FT_PART_UNUSED; /* adreno-640 */
    fitset f;
    ft_error error;
    assert_int_equal(fitset_make(data, &split, "time_us", true, &f, &error), FT_OK);
    assert_int_equal(f.set.device_count, 1);
    assert_string_equal(f.set.devices[0], "cortex-a76");
    assert_int_equal(f.set.train.count, 30);
    assert_int_equal(f.valid_count, 15);
    assert_int_equal(f.test_count, 14);
    fitset_free(&f);
    ft_dataset_free(data);
}

static void test_rows_without_label(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", &(toy_data){.bad_record = 5, .bad_label = (double)NAN});
    uint8_t parts[RECORDS];
    ft_split split = usual_split(parts);
    fitset f;
    ft_error error;
    assert_int_equal(fitset_make(data, &split, "time_us", true, &f, &error), FT_OK);
    assert_int_equal(f.set.train.count, 59);
    for (uint32_t i = 0; i < f.set.train.count; i++) assert_int_not_equal(f.set.train.items[i].record, 4);
    fitset_free(&f);
    ft_dataset_free(data);
}

static void test_empty_parts(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", NULL);
    uint8_t parts[RECORDS];
    ft_split split = usual_split(parts);
    fitset f;
    ft_error error;
    assert_int_equal(fitset_make(data, &split, "peak_bytes", true, &f, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "no training record with peak_bytes"));
    assert_int_equal(fitset_make(data, &split, "joules", true, &f, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "it has time_us, peak_bytes"));
    for (uint32_t i = 62; i < 90; i++) parts[i] = FT_PART_UNUSED; /* one graph to validate with */
    assert_int_equal(fitset_make(data, &split, "time_us", true, &f, &error), FT_OK);
    assert_true(f.set.valid.count > 0); /* it selects and calibrates */
    assert_int_equal(f.calibration.counts[FT_PART_TEST], f.set.valid.count);
    assert_int_equal(f.valid_count, f.set.valid.count);
    fitset_calibrate_on_all(&f);
    assert_int_equal(f.calibration.counts[FT_PART_TEST], f.set.valid.count + f.set.train.count);
    fitset_free(&f);
    for (uint32_t i = 0; i < RECORDS; i++)
        if (parts[i] == FT_PART_VALID) parts[i] = FT_PART_UNUSED;
    assert_int_equal(fitset_make(data, &split, "time_us", true, &f, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "has no graph with time_us for validation"));
    memset(parts, FT_PART_TEST, sizeof parts);
    assert_int_equal(fitset_make(data, &split, "time_us", true, &f, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "no training record"));
    ft_dataset_free(data);
}

static void test_no_memory(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", NULL);
    uint8_t parts[RECORDS];
    ft_split split = usual_split(parts);
    for (long n = 0;; n++) {
        fitset f;
        ft_error error;
        failing_start(n);
        ft_status status = fitset_make(data, &split, "time_us", true, &f, &error);
        if (!failing_stop()) {
            fitset_free(&f);
            break;
        }
        assert_int_equal(status, FT_ERR_NOMEM);
    }
    ft_dataset_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rows_by_part, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_several_metrics, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_parts_of_validation, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_two_thirds_calibrate, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_operators, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_devices_of_training, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_rows_without_label, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_empty_parts, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_no_memory, folder_enter, folder_leave),
    };
    return cmocka_run_group_tests_name("learn/fitset", tests, NULL, NULL);
}
