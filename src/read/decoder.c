/* decoder.c - see decoder.h. */
#include "read/decoder.h"

#include <stdlib.h>

#include "base/error.h"
#include "foretell/graph.h"

static void *decoder_alloc(void *data, size_t size) {
    decoder *d = data;
    void *block = arena_alloc(&d->memory, size);
    if (block == NULL) d->is_full = true;
    return block;
}

/* Memory is freed with the arena. */
static void decoder_release(void *data, void *pointer) {
    (void)data;
    (void)pointer;
}

void decoder_init(decoder *d) {
    *d = (decoder){.allocator = {.alloc = decoder_alloc, .free = decoder_release, .allocator_data = d}};
    arena_init(&d->memory, FT_MAX_GRAPH_BYTES / 2);
}

ft_status decoder_unpack(decoder *d, const ProtobufCMessageDescriptor *descriptor, uint8_t *stripped, size_t size,
                         const void **message, ft_error *error) {
    *message = protobuf_c_message_unpack(descriptor, &d->allocator, size, stripped);
    free(stripped);
    if (d->is_full) return FT_NOMEM(error);
    if (*message == NULL)
        return ft_fail(error, FT_ERR_DAMAGED, "damaged: a packed list of numbers has the wrong length");
    return FT_OK;
}
