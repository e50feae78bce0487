/* Tests of traces and plots of replays: each event once, on its own track; paths that cannot be written are errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "support/flow_csv.h"
#include "support/folder.h"

static ft_flow *flow;
static ft_replay replays[2];
static ft_model_replays view;

static int begin(void **state) {
    if (folder_enter(state) != 0) return -1;
    ft_replay_options options = ft_replay_options_default();
    flow = random_flow(7, 30, 0.2);
    options.engines = "x:2:a;y:*";
    options.mode = FT_TRAIN;
    options.bucket_bytes = 1 << 20;
    for (uint32_t i = 0; i < 2; i++) {
        options.workers = 1 + 2 * i;
        if (ft_replay_run(flow, &options, &replays[i], NULL) != FT_OK) return -1;
    }
    view = (ft_model_replays){.file = "f", .device = "d", .flow = flow, .replays = replays, .count = 2};
    return 0;
}

static int end(void **state) {
    ft_replay_free(&replays[0]);
    ft_replay_free(&replays[1]);
    ft_flow_free(flow);
    return folder_leave(state);
}

static double number(const json_t *object, const char *key) {
    return json_number_value(json_object_get(object, key));
}

static void test_trace(void **state) {
    (void)state;
    ft_error error;
    json_error_t where;
    size_t i, count = 0, labels = 0;
    const json_t *event;
    double busy = 0, expected = 0;
    if (ft_replay_trace("t.json", &view, 1, &error) != FT_OK) fail_msg("%s", error.message);
    json_t *root = json_load_file("t.json", JSON_REJECT_DUPLICATES, &where);
    assert_non_null(root);
    json_array_foreach(json_object_get(root, "traceEvents"), i, event) {
        const char *phase = json_string_value(json_object_get(event, "ph"));
        labels += phase[0] == 'M';
        if (phase[0] != 'X') continue;
        count++;
        busy += number(event, "dur");
        assert_true(number(event, "pid") >= 1 && number(event, "pid") <= 4);
        assert_true(number(event, "tid") >= 1 && number(event, "tid") <= 3);
        assert_true(number(event, "ts") + number(event, "dur") <= replays[1].iteration_us + 1e-6);
    }
    json_decref(root);
    for (uint32_t e = 0; e < replays[1].event_count; e++)
        expected += replays[1].events[e].time_us * (replays[1].events[e].worker == FT_NONE ? 1 : 3);
    assert_int_equal(count, replays[1].total_event_count);
    assert_float_equal(busy, expected, 1e-6);
    assert_int_equal(labels, 4 + 3 * 3 + 1); /* three workers and a network; three lanes each, and one */
}

static void test_plot(void **state) {
    (void)state;
    ft_error error;
    if (ft_replay_plot("p.svg", &view, &error) != FT_OK) fail_msg("%s", error.message);
    if (ft_replay_plot("p.png", &view, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(access("p.svg", R_OK), 0);
    assert_int_equal(access("p.png", R_OK), 0);
}

static void test_paths_that_cannot_be_written(void **state) {
    (void)state;
    ft_error error;
    assert_int_equal(ft_replay_trace("nowhere/t.json", &view, 0, &error), FT_ERR_IO);
    assert_int_equal(ft_replay_plot("nowhere/p.svg", &view, &error), FT_ERR_IO);
    assert_int_equal(ft_replay_plot("p.jpg", &view, &error), FT_ERR_USAGE);
    view.count = 0;
    assert_int_equal(ft_replay_plot("q.svg", &view, &error), FT_ERR_USAGE);
    view.count = 2;
    assert_int_not_equal(access("q.svg", R_OK), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trace),
        cmocka_unit_test(test_plot),
        cmocka_unit_test(test_paths_that_cannot_be_written),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
