/* decoder.h - decodes protobuf messages into an arena with a limit, by the descriptors that protobuf-c generates. */
#ifndef READ_DECODER_H
#define READ_DECODER_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "foretell/status.h"

typedef struct decoder {
    arena memory; /* of decoded messages; the caller frees it */
    ProtobufCAllocator allocator;
    bool is_full; /* protobuf-c reports lack of memory like damage */
} decoder;

/* The decoder must stay where it is: its allocator points to it. */
void decoder_init(decoder *d);
/* Decodes and frees a copy that strip.h made. */
ft_status decoder_unpack(decoder *d, const ProtobufCMessageDescriptor *descriptor, uint8_t *stripped, size_t size,
                         const void **message, ft_error *error);

#endif
