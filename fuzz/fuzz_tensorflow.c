/* fuzz_tensorflow.c - any bytes as a TensorFlow GraphDef or SavedModel: a graph or an error, without leaks. */
#include "downstream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return downstream_of(&tensorflow_reader, "fuzz", data, size);
}
