/* tfjs.h - parts of the reader of TensorFlow.js models: model.json has the graph of a GraphDef as JSON, and a manifest
 * of the constants, whose elements are in files beside it ("shards").
 *
 *   tfjs.c          the file
 *   tfjs_json.c     JSON to the structs of graphdef.proto
 *   tfjs_weights.c  the manifest and its files */
#ifndef READ_TFJS_H
#define READ_TFJS_H

#include "base/arena.h"
#include "base/json.h"
#include "base/map.h"
#include "read/read.h"
#include "read/tensorflow/graphdef.h"

/* --- tfjs_json.c ------------------------------------------------------------------------------------------------- */

/* The structs live in the arena and share no memory with the JSON. Wrong types are errors; unknown keys are ignored. */
ft_status tfjs_graph(const json_t *topology, arena *memory, Tf__Graph **graph, ft_error *error);
ft_status tfjs_signature(const json_t *json, arena *memory, Tf__SignatureDef **signature, ft_error *error);

/* --- tfjs_weights.c ---------------------------------------------------------------------------------------------- */

typedef struct tfjs_weight {
    const char *name;
    const json_t *paths; /* of the files of its group */
    uint64_t offset;     /* in the files of its group, one after the other; UINT64_MAX: not known */
    uint64_t bytes;      /* as stored */
    ft_dtype dtype;      /* as stored: 64-bit integers of the graph have 32 bits here */
    double scale, min;   /* an element is stored * scale + min */
} tfjs_weight;

typedef struct tfjs_weights {
    arena *memory;
    char *folder; /* of the files; NULL: they cannot be read */
    map index;
    tfjs_weight *list;
    uint32_t count;
} tfjs_weights;

/* `manifest`: a list of groups, which must outlive the weights; NULL: there are none. */
ft_status tfjs_weights_open(const json_t *manifest, const read_origin *origin, arena *memory, tfjs_weights *weights,
                            ft_error *error);
/* The weights of tensorflowjs_model.pb, which the first versions of the converter wrote: their manifest is the file
 * weights_manifest.json beside it. *manifest, which the caller frees, is NULL when the graph is in no such file. */
ft_status tfjs_weights_beside(const read_origin *origin, arena *memory, tfjs_weights *weights, json_t **manifest,
                              ft_error *error);
/* A gd_find_stored. Only small constants are read from the files; those of a missing file have no value. */
ft_status tfjs_find_stored(void *context, ft_graph *graph, const char *name, const ft_tensor *t, gd_stored *stored,
                           ft_error *error);

#endif
