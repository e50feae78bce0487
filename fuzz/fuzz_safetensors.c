/* fuzz_safetensors.c - any bytes as a safetensors file: a graph or an error, without leaks. */
#include "downstream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return downstream_of(&safetensors_reader, "fuzz", data, size);
}
