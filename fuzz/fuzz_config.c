/* fuzz_config.c - any bytes as a config.json of HuggingFace: a graph or an error, without leaks. */
#include "downstream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return downstream_of(&huggingface_reader, "fuzz", data, size);
}
