/* fuzz_ncnn.c - any bytes as an ncnn .param file: a graph or an error, without leaks. */
#include "downstream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return downstream_of(&ncnn_reader, "fuzz", data, size);
}
