/* onnx_strip.h - a copy of an ONNX file without its weights (onnx_strip.c), and the look that finds ONNX files
 * (onnx_match.c). */
#ifndef READ_ONNX_STRIP_H
#define READ_ONNX_STRIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "foretell/status.h"

/* Elements of a constant that are kept: of the types that shapes and indices have, and of all others. */
enum { ONNX_MAX_INDEX_ELEMS = 4096, ONNX_MAX_OTHER_ELEMS = 64 };

enum { ONNX_LEFT_OUT = 1, ONNX_RAW = 2 };

/* The type of a ValueInfoProto has this number in the copy (from the range that protobuf keeps for itself): most
 * messages of a file are pieces of types, and onnx_tensor.c reads them faster than the generated decoder. */
enum { ONNX_TYPE_FIELD = 19000 };

/* Writes the copy into *stripped, which the caller frees. It holds only fields that the reader uses; the nesting of
 * its messages is at most FT_MAX_DEPTH, and no singular message occurs twice. In each tensor of the copy, `segment`
 * (which no writer of ONNX uses) tells of the payload: `begin` is its size in the file, `end` a sum of the flags
 * below. */
ft_status onnx_strip(const uint8_t *bytes, size_t size, uint8_t **stripped, size_t *stripped_size, ft_error *error);

/* True when the bytes look like an ONNX model, whole or cut off. */
bool onnx_matches(const uint8_t *bytes, size_t size);

#endif
