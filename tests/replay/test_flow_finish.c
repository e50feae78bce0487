/* Tests of the order of flows: kernels come after their dependencies, otherwise as listed; cycles are reported with
 * their line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "replay/flow.h"
#include "support/failing.h"
#include "support/flow_csv.h"

static void expect_order(const char *csv, const char *names) {
    ft_flow *flow = flow_from_csv(csv);
    uint32_t count;
    const ft_flow_kernel *kernels = ft_flow_kernels(flow, &count);
    assert_int_equal(count, strlen(names));
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(kernels[i].name[0], names[i]);
        for (uint32_t j = 0; j < kernels[i].dependency_count; j++) assert_true(kernels[i].dependencies[j] < i);
    }
    ft_flow_free(flow);
}

static void test_order(void **state) {
    (void)state;
    expect_order("name,time_us,after\na,1,\nb,1,a\nc,1,a;b\n", "abc");
    expect_order("name,time_us,after\nc,1,b\na,1,\nb,1,a\nd,1,\n", "abcd");
    expect_order("name,time_us,after\nd,1,a;a;a\nc,1,\nb,1,\na,1,\n", "cbad");
}

static void test_duplicate_dependencies_count_once(void **state) {
    (void)state;
    ft_flow *flow = flow_from_csv("name,time_us,after\nc,1,b;a;b\nb,1,\na,1,\n");
    uint32_t count;
    const ft_flow_kernel *kernels = ft_flow_kernels(flow, &count);
    assert_int_equal(kernels[2].dependency_count, 2);
    assert_int_equal(kernels[2].dependencies[0], 0);
    assert_int_equal(kernels[2].dependencies[1], 1);
    ft_flow_free(flow);
}

static void expect_cycle(const char *csv, const char *message) {
    ft_flow *flow = NULL;
    ft_error error;
    assert_int_equal(flow_read_memory(csv, strlen(csv), "flow.csv", &flow, &error), FT_ERR_GRAPH);
    assert_string_equal(error.message, message);
    assert_null(flow);
}

static void test_cycles(void **state) {
    (void)state;
    expect_cycle("name,time_us,after\na,1,a\n", "flow.csv: line 2: 'a' depends on itself: a needs a");
    expect_cycle("name,time_us,after\nx,1,\na,1,x;c\nb,1,a\nc,1,b\nz,1,c\n",
                 "flow.csv: line 3: 'a' depends on itself: a needs c needs b needs a");
    /* The first kernel that is left over is not on the cycle itself. */
    expect_cycle("name,time_us,after\nz,1,a\na,1,b\nb,1,a\n",
                 "flow.csv: line 3: 'a' depends on itself: a needs b needs a");
    expect_cycle(
        "name,time_us,after\na,1,h\nb,1,a\nc,1,b\nd,1,c\ne,1,d\nf,1,e\ng,1,f\nh,1,g\n",
        "flow.csv: line 2: 'a' depends on itself: a needs h needs g needs f needs e needs d needs ... needs a");
}

static void test_memory_runs_out(void **state) {
    (void)state;
    static const char csv[] = "name,time_us,after,engine\nc,1,b,x\na,2,,\nb,,a,y\n";
    for (long n = 0;; n++) {
        ft_flow *flow = NULL;
        failing_start(n);
        ft_status status = flow_read_memory(csv, strlen(csv), "flow.csv", &flow, NULL);
        bool is_failed = failing_stop();
        if (!is_failed) {
            assert_int_equal(status, FT_OK);
            ft_flow_free(flow);
            break;
        }
        assert_int_equal(status, FT_ERR_NOMEM);
    }
    ft_flow_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_duplicate_dependencies_count_once),
        cmocka_unit_test(test_cycles),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
