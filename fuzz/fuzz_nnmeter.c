/* fuzz_nnmeter.c - any bytes as nn-Meter IR, which is then bound. */
#include "downstream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return downstream_of(&nnmeter_reader, "fuzz.json", data, size);
}
