/* inputs.c - random inputs by the shapes of the bound graph. */
#include "measure/inputs.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"

/* Indices (of tokens, of classes) are 0 or 1, which every table of embeddings has. */
static void fill(void *data, ft_dtype dtype, size_t count, rng *r) {
    size_t size = ft_dtype_bits(dtype) / 8;
    for (size_t i = 0; i < count; i++) {
        double uniform = rng_uniform(r);
        float single = (float)uniform;
        uint64_t bit = uniform < 0.5 ? 0 : 1;
        uint16_t half = (uint16_t)(0x3400 + (uint16_t)(uniform * 0x400)); /* 0.25 to 0.5 */
        uint16_t brain = (uint16_t)(0x3e80 + (uint16_t)(uniform * 0x80)); /* the same */
        char *at = (char *)data + i * size;
        if (dtype == FT_FLOAT32)
            memcpy(at, &single, sizeof single);
        else if (dtype == FT_FLOAT64)
            memcpy(at, &uniform, sizeof uniform);
        else if (dtype == FT_FLOAT16)
            memcpy(at, &half, sizeof half);
        else if (dtype == FT_BFLOAT16)
            memcpy(at, &brain, sizeof brain);
        else
            memcpy(at, &bit, size); /* little-endian, as all that the runtime is built for */
    }
}

static const ft_tensor *find_input(const ft_graph *bound, const char *name) {
    const ft_tensor *tensors = ft_graph_tensors(bound);
    const uint32_t *inputs = ft_graph_inputs(bound);
    for (uint32_t i = 0; i < ft_graph_input_count(bound); i++)
        if (strcmp(tensors[inputs[i]].name, name) == 0) return &tensors[inputs[i]];
    return NULL;
}

static ft_status make_input(const ort *o, const ft_graph *bound, const char *name, rng *r, arena *memory,
                            ort_value **value, ft_error *error) {
    const ft_tensor *t = find_input(bound, name);
    if (t == NULL || t->rank < 0)
        return ft_fail(error, FT_ERR_UNBOUND, "input '%s' has no shape: give --shape %s=DIMS", name, name);
    int type = ort_type(t->dtype);
    if (type == 0)
        return ft_fail(error, FT_ERR_UNSUPPORTED, "input '%s' has type %s, of which there are no random inputs", name,
                       ft_dtype_name(t->dtype));
    uint64_t count = 1;
    for (int32_t d = 0; d < t->rank; d++) {
        if (t->dims[d] < 0 || __builtin_mul_overflow(count, (uint64_t)t->dims[d], &count) || count > FT_MAX_ELEMS)
            return ft_fail(error, FT_ERR_LIMIT, "input '%s' is too large", name);
    }
    size_t size = (size_t)count * (ft_dtype_bits(t->dtype) / 8);
    void *data = arena_alloc(memory, size > 0 ? size : 1);
    if (data == NULL) return FT_NOMEM(error);
    fill(data, t->dtype, (size_t)count, r);
    return ort_check(o, o->tensor_with_data(o->memory, data, size, t->dims, (size_t)t->rank, type, value), name, error);
}

static ft_status make_all(const ort *o, const ort_session *session, const ft_graph *bound, rng *r, model_io *io,
                          ft_error *error) {
    FT_TRY(ort_check(o, o->input_count(session, &io->input_count), "inputs", error));
    FT_TRY(ort_check(o, o->output_count(session, &io->output_count), "outputs", error));
    io->input_names = ARENA_ARRAY(&io->memory, const char *, io->input_count + 1);
    io->output_names = ARENA_ARRAY(&io->memory, const char *, io->output_count + 1);
    io->inputs = ARENA_ARRAY(&io->memory, ort_value *, io->input_count + 1);
    io->outputs = ARENA_ARRAY(&io->memory, ort_value *, io->output_count + 1);
    if (io->input_names == NULL || io->output_names == NULL || io->inputs == NULL || io->outputs == NULL)
        return FT_NOMEM(error);
    char *name;
    for (size_t i = 0; i < io->output_count; i++) {
        FT_TRY(ort_check(o, o->output_name(session, i, o->allocator, &name), "outputs", error));
        io->output_names[i] = name;
    }
    for (size_t i = 0; i < io->input_count; i++) {
        FT_TRY(ort_check(o, o->input_name(session, i, o->allocator, &name), "inputs", error));
        io->input_names[i] = name;
        FT_TRY(make_input(o, bound, name, r, &io->memory, &io->inputs[i], error));
    }
    return FT_OK;
}

ft_status model_io_make(const ort *o, const ort_session *session, const ft_graph *bound, uint64_t seed, model_io *io,
                        ft_error *error) {
    rng r;
    *io = (model_io){0};
    arena_init(&io->memory, UINT64_MAX);
    rng_init(&r, seed, 0);
    return make_all(o, session, bound, &r, io, error);
}

static void release_outputs(const ort *o, model_io *io) {
    for (size_t i = 0; io->outputs != NULL && i < io->output_count; i++) {
        if (io->outputs[i] != NULL) o->release_value(io->outputs[i]);
        io->outputs[i] = NULL;
    }
}

void model_io_free(const ort *o, model_io *io) {
    release_outputs(o, io);
    for (size_t i = 0; io->inputs != NULL && i < io->input_count; i++)
        if (io->inputs[i] != NULL) o->release_value(io->inputs[i]);
    arena_free(&io->memory);
}

ft_status model_io_run(const ort *o, ort_session *session, model_io *io, ft_error *error) {
    release_outputs(o, io);
    ort_status *status = o->run(session, NULL, io->input_names, (const ort_value *const *)io->inputs, io->input_count,
                                io->output_names, io->output_count, io->outputs);
    return ort_check(o, status, "ONNX Runtime cannot run the model", error);
}

static bool all_finite(const void *data, int type, size_t count) {
    for (size_t i = 0; i < count; i++) {
        float single;
        double value = 0;
        if (type == ort_type(FT_FLOAT32)) {
            memcpy(&single, (const char *)data + i * sizeof single, sizeof single);
            value = single;
        } else {
            memcpy(&value, (const char *)data + i * sizeof value, sizeof value);
        }
        if (!isfinite(value)) return false;
    }
    return true;
}

ft_status model_io_is_finite(const ort *o, const model_io *io, bool *is_finite, ft_error *error) {
    *is_finite = true;
    for (size_t i = 0; i < io->output_count && *is_finite; i++) {
        int is_tensor = 0, type = 0;
        size_t count = 0;
        void *data = NULL;
        ort_shape *shape = NULL;
        FT_TRY(ort_check(o, o->is_tensor(io->outputs[i], &is_tensor), "outputs", error));
        if (!is_tensor) continue;
        FT_TRY(ort_check(o, o->tensor_shape(io->outputs[i], &shape), "outputs", error));
        ft_status status = ort_check(o, o->element_type(shape, &type), "outputs", error);
        if (status == FT_OK) status = ort_check(o, o->element_count(shape, &count), "outputs", error);
        o->release_shape(shape);
        FT_TRY(status);
        if (type != ort_type(FT_FLOAT32) && type != ort_type(FT_FLOAT64)) continue;
        FT_TRY(ort_check(o, o->tensor_data(io->outputs[i], &data), "outputs", error));
        *is_finite = all_finite(data, type, count);
    }
    return FT_OK;
}
