/* fuzz_onnx.c - any bytes as an ONNX file: the reader must end with a graph or with an error, and leave nothing behind.
 */
#include "downstream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return downstream_of(&onnx_reader, "fuzz", data, size);
}
