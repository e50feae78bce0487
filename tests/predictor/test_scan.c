/* Scanning: every row once, in the same order for any number of threads; it stops at a failure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "predictor/core/runtimes.h"
#include "predictor/core/scan.h"
#include "support/failing.h"
#include "support/folder.h"
#include "support/synth_data.h"

static const char *const devices[] = {"adreno-640", "cortex-a76"};

static double rule(const ft_graph *bound, const char *device) {
    return ft_graph_op_count(bound) + (device[0] == 'a' ? 0.5 : 0.25);
}

static fit_row *rows_of(const ft_dataset *data, fit_rows *rows) {
    uint32_t count = ft_dataset_record_count(data);
    const ft_record *records = ft_dataset_records(data);
    fit_row *items = calloc(count, sizeof *items);
    assert_non_null(items);
    for (uint32_t i = 0; i < count; i++)
        items[i] = (fit_row){i, records[i].graph, strcmp(records[i].device, devices[1]) == 0, records[i].metrics[0]};
    *rows = (fit_rows){items, count};
    return items;
}

typedef struct looker {
    fit_rows rows;
    uint32_t fails_at; /* an item */
    uint32_t seen;     /* by gather */
    buf text;
} looker;

static ft_status visit(void *user, const scan_item *item, model_view *s, uint32_t worker, buf *found, ft_error *error) {
    (void)worker;
    const looker *l = user;
    if (item->index >= l->fails_at) return ft_fail(error, FT_ERR_UNSUPPORTED, "item %u is too much", item->index);
    const ft_cost *cost;
    FT_TRY(model_view_cost(s, &cost, error));
    for (uint32_t i = 0; i < item->row_count; i++)
        buf_format(found, "%u:%u:%llu ", l->rows.items[item->rows[i]].record, l->rows.items[item->rows[i]].device,
                   (unsigned long long)cost->total.forward.macs);
    return FT_OK;
}

static ft_status gather(void *user, const scan_item *item, const buf *found, ft_error *error) {
    (void)error;
    looker *l = user;
    assert_int_equal(item->index, l->seen++);
    buf_add(&l->text, found->data, found->length);
    return FT_OK;
}

static void same_for_any_number_of_threads(void **state) {
    (void)state;
    ft_dataset *data = synth_data("d", 300, devices, 2, rule);
    looker looks[3] = {{.fails_at = UINT32_MAX}, {.fails_at = UINT32_MAX}, {.fails_at = UINT32_MAX}};
    fit_rows rows;
    fit_row *items = rows_of(data, &rows);
    ft_error error;
    scan *s = NULL;
    assert_int_equal(scan_new(data, rows, &s, &error), FT_OK);
    assert_int_equal(scan_count(s), 300);
    assert_int_equal(scan_item_at(s, 7)->row_count, 2);
    for (uint32_t i = 0; i < 3; i++) {
        pool *threads = NULL;
        if (i > 0) assert_int_equal(pool_new(i * 2 - 1, &threads, &error), FT_OK);
        looks[i].rows = rows;
        scan_job job = {.threads = threads, .visit = visit, .gather = gather, .user = &looks[i]};
        if (scan_run(s, &job, &error) != FT_OK) fail_msg("%s", error.message);
        assert_int_equal(looks[i].seen, 300);
        assert_string_equal(looks[i].text.data, looks[0].text.data);
        pool_free(threads);
    }
    assert_memory_equal(looks[0].text.data, "0:0:", 4);
    for (int i = 0; i < 3; i++) buf_free(&looks[i].text);
    scan_free(s);
    scan_free(NULL);
    free(items);
    ft_dataset_free(data);
}

static void the_first_failure_is_reported(void **state) {
    (void)state;
    ft_dataset *data = synth_data("d", 40, devices, 2, rule);
    fit_rows rows;
    fit_row *items = rows_of(data, &rows);
    ft_error error;
    scan *s = NULL;
    pool *threads = NULL;
    assert_int_equal(pool_new(3, &threads, &error), FT_OK);
    assert_int_equal(scan_new(data, rows, &s, &error), FT_OK);
    looker l = {.rows = rows, .fails_at = 20};
    scan_job job = {.threads = threads, .visit = visit, .gather = gather, .user = &l};
    assert_int_equal(scan_run(s, &job, &error), FT_ERR_UNSUPPORTED);
    assert_string_equal(error.message, "model 'net-20' (record 40): item 20 is too much");
    assert_int_equal(l.seen, 20);
    buf_free(&l.text);
    scan_free(s);
    pool_free(threads);
    free(items);
    ft_dataset_free(data);
}

static bool stop(void *user, double ratio, const char *what) {
    *(double *)user = ratio;
    assert_string_equal(what, "looking");
    return false;
}

static void can_be_stopped(void **state) {
    (void)state;
    ft_dataset *data = synth_data("d", 300, devices, 1, rule);
    fit_rows rows;
    fit_row *items = rows_of(data, &rows);
    ft_error error;
    scan *s = NULL;
    double ratio = 0;
    assert_int_equal(scan_new(data, rows, &s, &error), FT_OK);
    looker l = {.rows = rows, .fails_at = UINT32_MAX};
    fit_context context = {.user = &ratio, .progress = stop};
    scan_job job = {.visit = visit, .user = &l, .context = &context, .from = 0.5, .to = 1, .what = "looking"};
    assert_int_equal(scan_run(s, &job, &error), FT_ERR_CANCELLED);
    assert_true(ratio > 0.5 && ratio < 1);
    scan_free(s);
    free(items);
    ft_dataset_free(data);
}

/* What was measured in another way is another item. */
static void settings_are_items(void **state) {
    (void)state;
    builder *b = synth_begin("d");
    synth_add(b, &(synth_record){.network = 1, .family = "", .device = "adreno-640", .time_us = 1});
    synth_add(b, &(synth_record){.network = 1, .family = "", .device = "adreno-640", .setting = "a=1", .time_us = 1});
    synth_add(b, &(synth_record){.network = 1, .family = "", .device = "cortex-a76", .time_us = 1});
    ft_dataset *data = synth_end(b, "d");
    fit_rows rows;
    fit_row *items = rows_of(data, &rows);
    scan *s = NULL;
    assert_int_equal(scan_new(data, rows, &s, NULL), FT_OK);
    assert_int_equal(scan_count(s), 2);
    assert_int_equal(scan_item_at(s, 0)->row_count, 2);
    assert_int_equal(scan_item_at(s, 0)->rows[1], 2);
    assert_int_equal(scan_item_at(s, 1)->rows[0], 1);
    scan_free(s);
    free(items);
    ft_dataset_free(data);
}

static void memory_runs_out(void **state) {
    (void)state;
    ft_dataset *data = synth_data("d", 2, devices, 2, rule);
    fit_rows rows;
    fit_row *items = rows_of(data, &rows);
    for (long n = 0;; n++) {
        looker l = {.rows = rows, .fails_at = UINT32_MAX};
        scan *s = NULL;
        scan_job job = {.visit = visit, .user = &l};
        failing_start(n);
        ft_status status = scan_new(data, rows, &s, NULL);
        if (status == FT_OK) status = scan_run(s, &job, NULL);
        bool has_failed = failing_stop();
        scan_free(s);
        if (!has_failed) break;
        assert_int_equal(status, FT_ERR_NOMEM);
    }
    free(items);
    ft_dataset_free(data);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(same_for_any_number_of_threads),
        IN_FOLDER(the_first_failure_is_reported),
        IN_FOLDER(can_be_stopped),
        IN_FOLDER(settings_are_items),
        IN_FOLDER(memory_runs_out),
    };
    return cmocka_run_group_tests_name("predictor/scan", tests, NULL, NULL);
}
