/* language_build.c - tensors, operators, linear layers and norms of a language model. */
#include "read/language/language_build.h"

#include <string.h>

#include "base/format.h"

static bool failed(const language_builder *b) {
    return b->status != FT_OK;
}

/* --- Names ------------------------------------------------------------------------------------------------------- */

/* "/model/layers.3/attn/q_proj/MatMul" */
static void op_name(const language_builder *b, const char *path, const char *type, char name[LANGUAGE_NAME_SIZE]) {
    if (b->layer == FT_NONE)
        format_text(name, LANGUAGE_NAME_SIZE, "/%s/%s/%s", b->stack, path, type);
    else
        format_text(name, LANGUAGE_NAME_SIZE, "/%s/layers.%u/%s/%s", b->stack, b->layer, path, type);
}

/* "model.layers.3.attn.q_proj.weight" */
static void weight_name(const language_builder *b, const char *path, const char *part, char name[LANGUAGE_NAME_SIZE]) {
    if (b->layer == FT_NONE)
        format_text(name, LANGUAGE_NAME_SIZE, "%s.%s.%s", b->stack, path, part);
    else
        format_text(name, LANGUAGE_NAME_SIZE, "%s.layers.%u.%s.%s", b->stack, b->layer, path, part);
    for (char *c = name; *c != '\0'; c++)
        if (*c == '/') *c = '.';
}

/* --- Tensors ----------------------------------------------------------------------------------------------------- */

static uint32_t add_tensor(language_builder *b, const ft_tensor *t) {
    uint32_t index = FT_NONE;
    if (!failed(b)) b->status = graph_add_tensor(b->graph, t, &index, b->error);
    return failed(b) ? FT_NONE : index;
}

static bool find_stored(language_builder *b, const char *path, const char *part, language_block *block) {
    language_stored *stored = b->model->stored;
    return stored != NULL && stored->find(stored, b->layer, path, part, block);
}

bool language_is_packed(language_builder *b, const char *path, const char *part, language_block *block) {
    return find_stored(b, path, part, block) && block->block_elems > 1;
}

/* Type and bytes of a tensor as the file has it; blocks go along the last dimension. */
static void set_stored(language_builder *b, const char *path, const char *part, ft_tensor *t) {
    language_stored *stored = b->model->stored;
    language_block block;
    if (stored == NULL) return;
    uint64_t elems = 1;
    for (int32_t i = 0; i < t->rank; i++) elems = num_mul_sat(elems, (uint64_t)t->dims[i]);
    if (!find_stored(b, path, part, &block) || t->rank < 1 || t->dims[t->rank - 1] % block.block_elems != 0 ||
        num_mul_sat(elems / (uint64_t)block.block_elems, (uint64_t)block.block_bytes) != block.bytes) {
        stored->missing++; /* or another size: not what the fields say */
        return;
    }
    stored->elems = num_add_sat(stored->elems, elems);
    t->stored_bytes = block.bytes;
    if (block.block_elems == 1) {
        t->dtype = block.dtype;
        return;
    }
    t->dtype = FT_UINT8;
    t->dims[t->rank - 1] = t->dims[t->rank - 1] / block.block_elems * block.block_bytes;
}

uint32_t language_weight(language_builder *b, const char *path, const char *part, ft_dtype dtype,
                         const int64_t dims[3]) {
    char name[LANGUAGE_NAME_SIZE];
    weight_name(b, path, part, name);
    ft_tensor t = {.name = name, .dtype = dtype, .role = FT_CONSTANT};
    while (t.rank < 3 && dims[t.rank] > 0) {
        t.dims[t.rank] = dims[t.rank];
        t.rank++;
    }
    set_stored(b, path, part, &t);
    return add_tensor(b, &t);
}

uint32_t language_kernel(language_builder *b, const char *path, const int64_t *dims, int32_t rank) {
    char name[LANGUAGE_NAME_SIZE];
    weight_name(b, path, "weight", name);
    ft_tensor t = {.name = name, .dtype = b->model->dtype, .role = FT_CONSTANT, .rank = rank};
    memcpy(t.dims, dims, (size_t)rank * sizeof *dims);
    set_stored(b, path, "weight", &t);
    return add_tensor(b, &t);
}

uint32_t language_vector(language_builder *b, const char *path, const char *part, int64_t size) {
    return language_weight(b, path, part, b->model->dtype, (const int64_t[3]){size});
}

uint32_t language_input(language_builder *b, const char *path, ft_dtype dtype, const int64_t *dims, int32_t rank) {
    ft_tensor t = {.name = path, .dtype = dtype, .role = FT_INPUT, .rank = rank};
    memcpy(t.dims, dims, (size_t)rank * sizeof *dims);
    uint32_t index = add_tensor(b, &t);
    if (!failed(b)) b->status = graph_add_input(b->graph, index, b->error);
    return failed(b) ? FT_NONE : index;
}

uint32_t language_ints(language_builder *b, const char *path, const int64_t *values, int64_t count) {
    char name[LANGUAGE_NAME_SIZE];
    int64_t *ints = NULL;
    if (failed(b)) return FT_NONE;
    op_name(b, path, "constant", name);
    ft_tensor t = {.name = name, .dtype = FT_INT64, .role = FT_CONSTANT, .rank = 1, .dims = {count}};
    t.value = graph_value_ints(b->graph, count, &ints);
    if (t.value == NULL) {
        b->status = FT_NOMEM(b->error);
        return FT_NONE;
    }
    memcpy(ints, values, (size_t)count * sizeof *ints);
    return add_tensor(b, &t);
}

/* --- Attributes -------------------------------------------------------------------------------------------------- */

static ft_attr *next_attr(language_builder *b) {
    assert(b->attr_count < LANGUAGE_MAX_ATTRS);
    return failed(b) ? NULL : &b->attrs[b->attr_count++];
}

void language_int(language_builder *b, const char *name, int64_t value) {
    ft_attr *attr = next_attr(b);
    if (attr != NULL) b->status = graph_attr_int(b->graph, attr, name, value, b->error);
}

void language_ints_attr(language_builder *b, const char *name, const int64_t *values, size_t count) {
    ft_attr *attr = next_attr(b);
    if (attr != NULL) b->status = graph_attr_ints(b->graph, attr, name, values, count, b->error);
}

void language_text(language_builder *b, const char *name, const char *value) {
    ft_attr *attr = next_attr(b);
    if (attr != NULL) b->status = graph_attr_string(b->graph, attr, name, value, b->error);
}

/* --- Operators --------------------------------------------------------------------------------------------------- */

static void add_outputs(language_builder *b, const char *name, language_outputs *outputs) {
    for (uint32_t i = 0; i < outputs->count; i++) {
        char made_up[LANGUAGE_NAME_SIZE + 16];
        format_text(made_up, sizeof made_up, "%s_output_%u", name, i);
        const char *given = outputs->names[i];
        ft_tensor t = {.name = given != NULL ? given : made_up, .role = FT_ACTIVATION, .rank = -1};
        if (i == 0 && outputs->rank > 0) {
            t.rank = outputs->rank;
            t.dtype = b->model->dtype;
            memcpy(t.dims, outputs->dims, sizeof outputs->dims);
        }
        outputs->tensors[i] = add_tensor(b, &t);
    }
}

void language_op_outputs(language_builder *b, const char *type, const char *path, const uint32_t *inputs,
                         uint32_t count, language_outputs *outputs) {
    char name[LANGUAGE_NAME_SIZE];
    op_name(b, path, type, name);
    add_outputs(b, name, outputs);
    if (failed(b)) return;
    ft_op op = {.name = name,
                .type = type,
                .inputs = inputs,
                .input_count = count,
                .outputs = outputs->tensors,
                .output_count = outputs->count,
                .attr_count = b->attr_count};
    op.attrs = arena_copy(&b->graph->memory, b->attrs, b->attr_count * sizeof b->attrs[0]);
    b->status = op.attrs != NULL ? graph_add_op(b->graph, &op, b->error) : FT_NOMEM(b->error);
    b->attr_count = 0;
}

uint32_t language_op(language_builder *b, const char *type, const char *path, const uint32_t *inputs, uint32_t count) {
    language_outputs outputs = {.count = 1};
    language_op_outputs(b, type, path, inputs, count, &outputs);
    return failed(b) ? FT_NONE : outputs.tensors[0];
}

uint32_t language_binary(language_builder *b, const char *type, const char *path, uint32_t x, uint32_t y) {
    return language_op(b, type, path, (const uint32_t[]){x, y}, 2);
}

uint32_t language_reshape(language_builder *b, const char *path, uint32_t x, const int64_t *dims, int64_t rank) {
    return language_binary(b, "Reshape", path, x, language_ints(b, path, dims, rank));
}

void language_split(language_builder *b, const char *path, uint32_t x, const int64_t *sizes, language_outputs *parts) {
    uint32_t inputs[2] = {x, language_ints(b, path, sizes, parts->count)};
    language_int(b, "axis", -1);
    language_op_outputs(b, "Split", path, inputs, 2, parts);
}

/* --- Linear layers ----------------------------------------------------------------------------------------------- */

int64_t language_packed_bytes(const language_format *format, int64_t inputs) {
    return (int64_t)num_div_up((uint64_t)inputs * (uint64_t)format->bits, 8);
}

int64_t language_groups(const language_format *format, int64_t inputs) {
    return format->group > 0 ? (int64_t)num_div_up((uint64_t)inputs, (uint64_t)format->group) : 1;
}

static int64_t scale_rows(const language_format *format, int64_t outputs) {
    return format->rows > 0 ? (int64_t)num_div_up((uint64_t)outputs, (uint64_t)format->rows) : 1;
}

/* Weights as integers in blocks: bytes, scales, and zero points packed like the weights. */
static uint32_t integer_product(language_builder *b, const language_linear *l, const language_format *f, uint32_t x) {
    int64_t groups = language_groups(f, l->in), block = f->group > 0 ? f->group : l->in;
    uint32_t inputs[4] = {x, 0, 0, FT_NONE};
    inputs[1] = language_weight(b, l->path, "qweight", FT_UINT8,
                                (const int64_t[3]){l->out, groups, language_packed_bytes(f, block)});
    inputs[2] = language_weight(b, l->path, "scales", f->scale_dtype, (const int64_t[3]){l->out, groups});
    if (f->has_zeros)
        inputs[3] = language_weight(b, l->path, "qzeros", FT_UINT8,
                                    (const int64_t[3]){l->out, language_packed_bytes(f, groups)});
    language_int(b, "K", l->in);
    language_int(b, "N", l->out);
    language_int(b, "bits", f->bits);
    language_int(b, "block_size", block);
    return language_op(b, "MatMulNBits", l->path, inputs, f->has_zeros ? 4 : 3);
}

static uint32_t float_product(language_builder *b, const language_linear *l, const language_format *f, uint32_t x) {
    bool is_packed = f->bits < 8;
    uint32_t inputs[3] = {x};
    inputs[1] = language_weight(b, l->path, "weight", is_packed ? FT_UINT8 : FT_FLOAT8,
                                (const int64_t[3]){l->out, language_packed_bytes(f, l->in)});
    inputs[2] = language_weight(b, l->path, "weight_scale", f->scale_dtype,
                                (const int64_t[3]){scale_rows(f, l->out), language_groups(f, l->in)});
    return language_op(b, is_packed ? "MatMulBlockQuantizedFp4Weight" : "MatMulBlockQuantizedFp8Weight", l->path,
                       inputs, 3);
}

/* A product with a matrix of blocks that hold their scales. */
static uint32_t block_product(language_builder *b, const char *path, uint32_t x, uint32_t matrix, int64_t in,
                              int64_t out) {
    language_int(b, "K", in);
    language_int(b, "N", out);
    return language_binary(b, "MatMulNBits", path, x, matrix);
}

uint32_t language_product(language_builder *b, const language_linear *l, uint32_t x) {
    const language_format *f = &b->model->formats[l->module];
    language_block block;
    uint32_t y;
    if (language_is_packed(b, l->path, "weight", &block)) {
        uint32_t w = language_weight(b, l->path, "weight", b->model->dtype, (const int64_t[3]){l->out, l->in});
        y = block_product(b, l->path, x, w, l->in, l->out);
    } else if (f->bits == 0) {
        uint32_t w = language_weight(b, l->path, "weight", b->model->dtype, (const int64_t[3]){l->in, l->out});
        y = language_binary(b, "MatMul", l->path, x, w);
    } else {
        y = f->is_float ? float_product(b, l, f, x) : integer_product(b, l, f, x);
    }
    return l->has_bias ? language_binary(b, "Add", l->path, y, language_vector(b, l->path, "bias", l->out)) : y;
}

uint32_t language_tied_product(language_builder *b, const char *path, uint32_t x, uint32_t table) {
    const language_model *m = b->model;
    language_block block;
    if (language_is_packed(b, "embed_tokens", "weight", &block))
        return block_product(b, path, x, table, m->embedding > 0 ? m->embedding : m->hidden, m->vocabulary);
    language_int(b, "transB", 1);
    return language_binary(b, "FusedMatMul", path, x, table);
}

/* --- Norms and activations --------------------------------------------------------------------------------------- */

uint32_t language_rms_norm(language_builder *b, const char *path, uint32_t x, int64_t width) {
    language_int(b, "axis", -1);
    return language_binary(b, "SimplifiedLayerNormalization", path, x, language_vector(b, path, "weight", width));
}

uint32_t language_norm_of(language_builder *b, const char *path, uint32_t x, int64_t width) {
    language_norm norm = b->model->norm;
    uint32_t inputs[3] = {x, FT_NONE, FT_NONE};
    if (norm == NORM_RMS) return language_rms_norm(b, path, x, width);
    if (norm != NORM_LAYER_PLAIN) inputs[1] = language_vector(b, path, "weight", width);
    if (norm == NORM_LAYER) inputs[2] = language_vector(b, path, "bias", width);
    language_int(b, "axis", -1);
    return language_op(b, "LayerNormalization", path, inputs,
                       norm == NORM_LAYER         ? 3
                       : norm == NORM_LAYER_PLAIN ? 1
                                                  : 2);
}

uint32_t language_activate(language_builder *b, const char *path, uint32_t x) {
    uint32_t y;
    switch (b->model->activation) {
    case ACTIVATION_GELU:
        return language_op(b, "Gelu", path, &x, 1);
    case ACTIVATION_GELU_STEPS:
        language_int(b, "decomposed", 1);
        return language_op(b, "Gelu", path, &x, 1);
    case ACTIVATION_RELU:
        return language_op(b, "Relu", path, &x, 1);
    case ACTIVATION_RELU2:
        y = language_op(b, "Relu", path, &x, 1);
        return language_binary(b, "Mul", path, y, y);
    case ACTIVATION_XIELU:
        y = language_op(b, "Gelu", path, &x, 1);
        return language_binary(b, "Mul", path, y, language_vector(b, path, "alpha", 2));
    case ACTIVATION_SILU:
        break;
    }
    return language_op(b, "Swish", path, &x, 1);
}
