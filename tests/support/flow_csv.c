/* flow_csv.c - flows parsed from CSV, or random. */
#include "support/flow_csv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/rng.h"
#include "replay/flow.h"

ft_flow *flow_from_csv(const char *csv) {
    ft_flow *flow = NULL;
    ft_error error;
    if (flow_read_memory(csv, strlen(csv), "flow.csv", &flow, &error) != FT_OK) fail_msg("%s", error.message);
    return flow;
}

ft_flow *random_flow(uint64_t seed, uint32_t kernels, double links) {
    static const char *const types[] = {"a", "b", "c"};
    ft_flow *flow;
    rng r;
    rng_init(&r, seed, 0);
    assert_int_equal(flow_new("random", &flow, NULL), FT_OK);
    for (uint32_t i = 0; i < kernels; i++) {
        bool is_view = rng_below(&r, 10) == 0;
        double time = is_view ? 0 : 1 + 99 * rng_uniform(&r);
        uint32_t index;
        const ft_flow_kernel kernel = {.name = types[i % 3],
                                       .type = types[rng_below(&r, 3)],
                                       .time_us = time,
                                       .backward_us = 2 * time,
                                       .update_us = time / 10,
                                       .gradient_bytes = is_view ? 0 : rng_below(&r, 1 << 20)};
        assert_int_equal(flow_add(flow, &kernel, &(flow_kernel_info){.is_free = is_view}, &index, NULL), FT_OK);
        for (uint32_t j = i < 12 ? 0 : i - 12; j < i; j++)
            if (rng_uniform(&r) < links) assert_int_equal(flow_add_dependency(flow, j, i, NULL), FT_OK);
    }
    assert_int_equal(flow_finish(flow, NULL), FT_OK);
    return flow;
}
