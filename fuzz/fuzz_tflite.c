/* fuzz_tflite.c - any bytes as a TFLite model. */
#include "downstream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return downstream_of(&tflite_reader, "fuzz", data, size);
}
