/* Tests of the classes of hosts, and of the queue of host and GPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/embedded.h"
#include "predictor/core/host.h"

static host_request parse(const char *setting) {
    host_request r;
    ft_error error;
    if (host_request_parse(setting, &r, &error) != FT_OK) fail_msg("%s", error.message);
    return r;
}

static host_launches launches(const char *setting, host_runtime runtime, ft_mode mode, bool is_mixed) {
    host_request r = parse(setting);
    host_launches l;
    ft_error error;
    if (host_launches_of(&r, runtime, mode, is_mixed, &l, &error) != FT_OK) fail_msg("%s", error.message);
    return l;
}

static bool is_near(double value, double wanted) {
    return fabs(value - wanted) < 1e-9 * fabs(wanted);
}

static void settings_name_hosts(void **state) {
    (void)state;
    ft_error error;
    host_request r = parse("amp=no;host=server;layout=nhwc");
    assert_true(r.is_given && strcmp(r.name, "server") == 0 && isnan(r.launch_us) && !r.has_graphs);
    assert_true(parse("launch_us=12.5").launch_us == 12.5);
    assert_true(parse("graphs=yes").has_graphs && parse("graphs=yes").is_given);
    assert_false(parse("graphs=no").is_given || parse("").is_given || parse(NULL).is_given);
    assert_int_equal(host_request_parse("launch_us=fast", &r, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "'fast' is not a launch time"));
    assert_int_equal(host_request_parse("launch_us=0", &r, &error), FT_ERR_USAGE);
    assert_int_equal(host_request_parse("graphs=2", &r, &error), FT_ERR_USAGE);
    assert_int_equal(host_request_parse("host=", &r, &error), FT_ERR_USAGE);
    r = (host_request){.name = "toaster", .launch_us = NAN};
    host_launches l;
    assert_int_equal(host_launches_of(&r, HOST_EAGER, FT_INFER, false, &l, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "there is no host 'toaster'; choose one of desktop"));
}

static void bundled_hosts_are_complete(void **state) {
    (void)state;
    assert_int_equal(host_builtin_count, 5);
    for (uint32_t i = 0; i < host_builtin_count; i++) {
        host_class host;
        ft_error error;
        if (host_open(host_builtin[i].name, &host, &error) != FT_OK) fail_msg("%s", error.message);
        assert_string_equal(host.name, host_builtin[i].name);
        assert_true(host.start_us > 0 && host.launch_us > 1 && host.backward_us > host.launch_us);
        assert_true(host.training_start_us > host.start_us && host.interval_ratio > 1.2 && host.interval_ratio < 2);
        assert_true(strlen(host_builtin[i].text) > 10);
    }
}

static void runtimes_launch_in_their_own_time(void **state) {
    (void)state;
    host_launches eager = launches("", HOST_EAGER, FT_INFER, false);
    assert_true(eager.start_us == 300 && eager.forward_us == 30 && eager.backward_us == 0);
    assert_true(is_near(launches("", HOST_EAGER, FT_INFER, true).forward_us, 39));
    assert_true(is_near(launches("", HOST_COMPILED, FT_INFER, true).forward_us, 15));
    assert_true(launches("", HOST_ENGINE, FT_INFER, false).forward_us < 6);
    assert_true(launches("graphs=yes", HOST_EAGER, FT_INFER, true).forward_us < 2);
    host_launches training = launches("launch_us=10", HOST_EAGER, FT_TRAIN, true);
    assert_true(training.forward_us == 10 && is_near(training.backward_us, 30) && training.start_us == 2000);
    assert_true(training.interval_ratio < eager.interval_ratio);
}

static void gpu_waits_for_launches_and_for_kernels(void **state) {
    (void)state;
    const double gpu_us[] = {5, 100, 5, 5};
    double elapsed[4];
    host_launches l = {.start_us = 20, .forward_us = 10};
    /* Launched at 30, 40, 50, 60; ended at 35, 140, 145, 150. */
    assert_true(host_queue_us(&l, gpu_us, 4, elapsed) == 150);
    assert_true(elapsed[0] == 35 && elapsed[1] == 105 && elapsed[2] == 5 && elapsed[3] == 5);
    assert_true(host_total_us(&l, 4) == 60);
    l.forward_us = 200; /* 220, 420, 620, 820, and the last kernel */
    assert_true(host_queue_us(&l, gpu_us, 4, NULL) == 825);
    assert_true(host_queue_us(&l, NULL, 0, NULL) == 0);
    host_launches limited = host_limit(l, 4, 410);
    assert_true(is_near(host_total_us(&limited, 4), 410) && is_near(limited.start_us, 10));
    assert_true(host_total_us(&l, 4) == 820);
}

static void backward_passes_run_in_reverse(void **state) {
    (void)state;
    const double gpu_us[] = {30, 60};
    double elapsed[2];
    host_launches l = {.start_us = 0, .forward_us = 10, .backward_us = 100};
    /* Forward: 10 to 20, 20 to 40. Backward: the second kernel from 120 to 160, the first from 220 to 240. */
    assert_true(is_near(host_queue_us(&l, gpu_us, 2, elapsed), 240));
    assert_true(is_near(elapsed[0], 20 + 80) && is_near(elapsed[1], 20 + 120));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_name_hosts),
        cmocka_unit_test(bundled_hosts_are_complete),
        cmocka_unit_test(runtimes_launch_in_their_own_time),
        cmocka_unit_test(gpu_waits_for_launches_and_for_kernels),
        cmocka_unit_test(backward_passes_run_in_reverse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
