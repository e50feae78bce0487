/* tfjs_weights.c - the manifest of a TensorFlow.js model, and the files it lists.
 *
 * The elements of a group's weights are stored one after the other; its files are parts of that sequence, of any size.
 * Only the few bytes of small constants (shapes, axes, slice bounds) are read, since shapes depend on them. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/num.h"
#include "read/element.h"
#include "read/json_scan.h"
#include "read/tensorflow/tfjs.h"

enum { MAX_VALUE_BYTES = 64 * 1024 };

/* --- The manifest ------------------------------------------------------------------------------------------------ */

static ft_dtype dtype_of(const char *dtype) {
    static const struct {
        const char *name;
        ft_dtype dtype;
    } types[] = {{"float32", FT_FLOAT32}, {"int32", FT_INT32},   {"bool", FT_BOOL},
                 {"uint8", FT_UINT8},     {"uint16", FT_UINT16}, {"float16", FT_FLOAT16},
                 {"int16", FT_INT16},     {"int8", FT_INT8},     {"complex64", FT_COMPLEX64}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(types[i].name, dtype) == 0) return types[i].dtype;
    return FT_DTYPE_UNKNOWN; /* strings: their length is in the file */
}

static ft_status damaged(const char *name, const char *what, ft_error *error) {
    return ft_fail(error, FT_ERR_DAMAGED, "weight '%.200s': %s", name, what);
}

static double number_of(const json_t *from, const char *key, double fallback) {
    const json_t *value = json_object_get(from, key);
    return json_is_number(value) ? json_number_value(value) : fallback;
}

static ft_status add_weight(tfjs_weights *w, const json_t *entry, const json_t *paths, uint64_t *offset,
                            ft_error *error) {
    const char *name = json_string_value(json_object_get(entry, "name"));
    const char *dtype = json_string_value(json_object_get(entry, "dtype"));
    const json_t *shape = json_object_get(entry, "shape"), *quantization = json_object_get(entry, "quantization");
    const char *stored = json_string_value(json_object_get(quantization, "dtype"));
    if (name == NULL || dtype == NULL || !json_is_array(shape))
        return ft_fail(error, FT_ERR_DAMAGED, "an entry of weightsManifest has no name, shape or dtype");
    uint64_t elems = 1;
    for (size_t i = 0; i < json_array_size(shape); i++) {
        const json_t *dim = json_array_get(shape, i);
        if (!json_is_integer(dim) || json_integer_value(dim) < 0) return damaged(name, "its shape is not valid", error);
        elems = num_mul_sat(elems, (uint64_t)json_integer_value(dim));
    }
    ft_dtype type = dtype_of(stored != NULL ? stored : dtype);
    tfjs_weight *weight = &w->list[w->count];
    *weight = (tfjs_weight){.name = name,
                            .paths = paths,
                            .offset = *offset,
                            .dtype = type,
                            .bytes = num_mul_sat(elems, type != FT_DTYPE_UNKNOWN ? ft_dtype_bits(type) / 8 : 0),
                            .scale = number_of(quantization, "scale", 1),
                            .min = number_of(quantization, "min", 0)};
    *offset = type == FT_DTYPE_UNKNOWN ? UINT64_MAX : num_add_sat(*offset, weight->bytes);
    return map_set(&w->index, name, w->count++) ? FT_OK : FT_NOMEM(error);
}

/* The folder of the file, with its slash; "" for the current one. */
static ft_status find_folder(tfjs_weights *w, const read_origin *origin, ft_error *error) {
    if (!origin->is_on_disk) return FT_OK;
    const char *slash = strrchr(origin->path, '/');
    w->folder = arena_string(w->memory, origin->path, slash != NULL ? (size_t)(slash - origin->path) + 1 : 0);
    return w->folder != NULL ? FT_OK : FT_NOMEM(error);
}

ft_status tfjs_weights_open(const json_t *manifest, const read_origin *origin, arena *memory, tfjs_weights *weights,
                            ft_error *error) {
    size_t total = 0;
    *weights = (tfjs_weights){.memory = memory};
    map_init(&weights->index, memory);
    FT_TRY(find_folder(weights, origin, error));
    if (manifest == NULL) return FT_OK;
    if (!json_is_array(manifest)) return ft_fail(error, FT_ERR_DAMAGED, "weightsManifest is not a list");
    for (size_t i = 0; i < json_array_size(manifest); i++)
        total += json_array_size(json_object_get(json_array_get(manifest, i), "weights"));
    weights->list = ARENA_ARRAY(memory, tfjs_weight, total);
    if (weights->list == NULL) return FT_NOMEM(error);
    for (size_t i = 0; i < json_array_size(manifest); i++) {
        const json_t *group = json_array_get(manifest, i), *list = json_object_get(group, "weights");
        uint64_t offset = 0;
        for (size_t k = 0; k < json_array_size(list); k++)
            FT_TRY(add_weight(weights, json_array_get(list, k), json_object_get(group, "paths"), &offset, error));
    }
    return FT_OK;
}

ft_status tfjs_weights_beside(const read_origin *origin, arena *memory, tfjs_weights *weights, json_t **manifest,
                              ft_error *error) {
    static const char graph[] = "tensorflowjs_model.pb", name[] = "weights_manifest.json";
    size_t length = strlen(origin->path), stem = sizeof graph - 1;
    input in;
    *manifest = NULL;
    if (!origin->is_on_disk || length < stem || strcmp(origin->path + length - stem, graph) != 0) return FT_OK;
    const char *path = arena_format(memory, "%.*s%s", (int)(length - stem), origin->path, name);
    if (path == NULL) return FT_NOMEM(error);
    if (access(path, R_OK) != 0) return FT_OK;
    FT_TRY(input_open(path, FT_MAX_UNPACKED_BYTES, &in, error));
    ft_status status = json_scan_check(in.bytes, in.size, error);
    if (status == FT_OK) status = json_parse(in.bytes, in.size, manifest, error);
    input_close(&in);
    if (status == FT_OK) status = tfjs_weights_open(*manifest, origin, memory, weights, error);
    return status != FT_OK ? ft_fail_prefix(error, status, "%s", name) : FT_OK;
}

/* --- The files --------------------------------------------------------------------------------------------------- */

/* A file beside the model: a path that leads elsewhere is not followed. */
static int open_file(const tfjs_weights *w, const char *path, uint64_t *size) {
    char full[4096];
    struct stat info;
    if (path == NULL || path[0] == '/' || strstr(path, "..") != NULL) return -1;
    int length = snprintf(full, sizeof full, "%s%s", w->folder, path);
    if (length < 0 || (size_t)length >= sizeof full) return -1;
    int file = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return -1;
    if (fstat(file, &info) == 0 && S_ISREG(info.st_mode)) {
        *size = (uint64_t)info.st_size;
        return file;
    }
    close(file);
    return -1;
}

/* Reads bytes of the sequence that the files of a group are parts of. */
static bool read_bytes(const tfjs_weights *w, const tfjs_weight *weight, uint8_t *bytes) {
    uint64_t begin = 0, done = 0;
    for (size_t i = 0; i < json_array_size(weight->paths) && done < weight->bytes; i++) {
        uint64_t size, at = weight->offset + done;
        int file = open_file(w, json_string_value(json_array_get(weight->paths, i)), &size);
        if (file < 0) return false;
        if (at >= begin && at - begin < size) {
            uint64_t room = size - (at - begin), left = weight->bytes - done;
            ssize_t got = pread(file, bytes + done, (size_t)(left < room ? left : room), (off_t)(at - begin));
            if (got > 0) done += (uint64_t)got;
        }
        close(file);
        begin = num_add_sat(begin, size);
    }
    return done == weight->bytes;
}

static ft_status read_value(const tfjs_weights *w, const tfjs_weight *weight, ft_graph *graph, const ft_tensor *t,
                            gd_stored *stored, ft_error *error) {
    uint8_t bytes[MAX_VALUE_BYTES];
    int64_t count = t->rank == 0 ? 1 : shape_elems(t->dims, t->rank), *ints;
    unsigned width = ft_dtype_bits(weight->dtype) / 8;
    double *floats;
    bool is_float = ft_dtype_is_float(t->dtype);
    if (w->folder == NULL || weight->offset == UINT64_MAX || !element_is_kept(weight->dtype) ||
        (ft_dtype_is_float(weight->dtype) && !is_float) || count < 1 || count > element_max_count(t->dtype) ||
        weight->bytes != (uint64_t)count * width || weight->bytes > sizeof bytes || !read_bytes(w, weight, bytes))
        return FT_OK;
    stored->value = is_float ? graph_value_floats(graph, count, &floats) : graph_value_ints(graph, count, &ints);
    if (stored->value == NULL) return FT_NOMEM(error);
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits = element_load(bytes + (size_t)i * width, width);
        if (!is_float)
            ints[i] = element_int(bits, weight->dtype);
        else if (ft_dtype_is_float(weight->dtype))
            floats[i] = element_float(bits, weight->dtype);
        else
            floats[i] = (double)element_int(bits, weight->dtype) * weight->scale + weight->min;
    }
    return FT_OK;
}

ft_status tfjs_find_stored(void *context, ft_graph *graph, const char *name, const ft_tensor *t, gd_stored *stored,
                           ft_error *error) {
    const tfjs_weights *w = context;
    uint32_t at;
    if (!map_get(&w->index, name, &at)) return FT_OK;
    stored->bytes = w->list[at].bytes;
    return read_value(w, &w->list[at], graph, t, stored, error);
}
