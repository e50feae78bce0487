/* fuzz_checkpoint.c - any bytes as a checkpoint: refused, or restored to the state it contains. */
#include <stdlib.h>

#include "learn/train/checkpoint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const hash128 run = {.low = 1, .high = 2};
    const void *state;
    size_t state_size;
    ft_error error;
    if (checkpoint_parse(data, size, run, &state, &state_size, &error) != FT_OK) return 0;
    if (state_size != size - CHECKPOINT_HEADER) abort();
    return 0;
}
