/* fuzz_model_list.c - any bytes as a list of models: refused, or read with the stated number of models. */
#include <stdlib.h>

#include "learn/adapt/sampling_units.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    arena memory;
    model_list list;
    ft_error error;
    arena_init(&memory, 1 << 26);
    if (model_list_parse("list", (const char *)data, size, &memory, &list, &error) == FT_OK) {
        if (list.count == 0) abort();
        for (uint32_t i = 0; i < list.count; i++)
            if (list.items[i].graph == NULL || list.items[i].name == NULL) abort();
    }
    arena_free(&memory);
    return 0;
}
