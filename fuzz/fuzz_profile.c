/* fuzz_profile.c - any bytes as the profile of ONNX Runtime. */
#include <stdlib.h>

#include "measure/measure.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    arena memory;
    const ft_measured_node *nodes;
    uint32_t count;
    arena_init(&memory, UINT64_C(1) << 28);
    if (profile_parse((const char *)data, size, "fuzz", &memory, &nodes, &count, NULL) == FT_OK)
        for (uint32_t i = 0; i < count; i++)
            if (nodes[i].name == NULL || nodes[i].op == NULL) abort();
    arena_free(&memory);
    return 0;
}
