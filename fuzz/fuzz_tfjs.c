/* fuzz_tfjs.c - any bytes as a TensorFlow.js model: a graph or an error, without leaks. */
#include "downstream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return downstream_of(&tfjs_reader, "fuzz", data, size);
}
