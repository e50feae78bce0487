/* fuzz_flow.c - any bytes as a table of times and as a flow, which is replayed within its bounds. */
#include <stdlib.h>

#include "replay/flow.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void replay(ft_flow *flow, const char *engines, ft_mode mode) {
    ft_replay_options options = ft_replay_options_default();
    ft_replay replay;
    options.engines = engines;
    options.mode = mode;
    options.workers = mode == FT_TRAIN ? 2 : 1;
    if (ft_replay_run(flow, &options, &replay, NULL) != FT_OK) return;
    double slack = 1e-6 * replay.kernel_us;
    if (replay.iteration_us < replay.critical_us - slack) abort();
    if (replay.iteration_us > replay.kernel_us + replay.phase_us[FT_REPLAY_EXCHANGE] + slack) abort();
    ft_replay_free(&replay);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ft_flow *flow = NULL;
    ft_times *times = NULL;
    ft_error error;
    if (flow_read_memory(data, size, "fuzz", &flow, &error) == FT_OK) {
        replay(flow, "x:conv*;y:2:*", FT_INFER);
        replay(flow, "x:1", FT_TRAIN);
    }
    if (ft_times_read_memory(data, size, "fuzz", false, &times, &error) == FT_OK && flow != NULL &&
        ft_flow_set_times(flow, times, false, &error) == FT_OK)
        replay(flow, "x:1", FT_INFER);
    ft_times_free(times);
    ft_flow_free(flow);
    return 0;
}
