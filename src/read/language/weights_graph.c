/* weights_graph.c - weights that are packed several to an element, and graphs of weights alone (weights.h). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "read/language/weights.h"

/* --- Packed weights ---------------------------------------------------------------------------------------------- */

static bool ends_with(const char *name, const char *end) {
    size_t length = strlen(name), tail = strlen(end);
    return length >= tail && memcmp(name + length - tail, end, tail) == 0;
}

/* The weight whose name differs in its end. NULL: there is none. */
static const weight *sibling(const weight_list *list, const weight *w, const char *end, const char *other) {
    char name[1024];
    size_t stem = strlen(w->name) - strlen(end);
    if (stem + strlen(other) >= sizeof name) return NULL;
    snprintf(name, sizeof name, "%.*s%s", (int)stem, w->name, other);
    return weight_list_find(list, name);
}

static bool is_scale(const weight_list *list, const weight *w) {
    static const char *const ends[] = {".scales",
                                       ".qzeros",
                                       ".g_idx",
                                       ".absmax",
                                       ".quant_map",
                                       ".weight_shape",
                                       ".weight_scale",
                                       ".weight_scale_inv",
                                       ".weight_scale_2",
                                       ".input_scale",
                                       ".nested_absmax",
                                       ".nested_quant_map",
                                       ".weight_zero_point",
                                       ".weight_global_scale",
                                       ".input_global_scale",
                                       ".k_scale",
                                       ".v_scale",
                                       ".weight_g_idx",
                                       ".weight_packed_scale"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (ends_with(w->name, ends[i])) return true;
    if (strstr(w->name, ".quant_state.") != NULL || strstr(w->name, "_blocks_scale") != NULL) return true;
    return ends_with(w->name, "_scales") && sibling(list, w, "_scales", "_blocks") != NULL;
}

static uint64_t dim_from_end(const weight *w, int32_t i) {
    return w != NULL && w->rank > i && w->dims[w->rank - 1 - i] > 0 ? (uint64_t)w->dims[w->rank - 1 - i] : 0;
}

/* 32-bit words of GPTQ hold rows, those of AWQ columns; tables beside them have the other dimension. */
static uint64_t weights_of_word(const weight_list *list, const weight *w) {
    const weight *index = sibling(list, w, ".qweight", ".g_idx"), *scales = sibling(list, w, ".qweight", ".scales");
    uint64_t rows = dim_from_end(w, 1), columns = dim_from_end(w, 0);
    if (rows == 0 || columns == 0) return 8;
    if (index != NULL && dim_from_end(index, 0) % rows == 0) return dim_from_end(index, 0) / rows;
    uint64_t outputs = dim_from_end(scales, 0);
    return outputs > columns && outputs % columns == 0 ? outputs / columns : 8;
}

/* How many weights an element of the tensor holds. */
static uint64_t weights_of_element(const weight_list *list, const weight *w) {
    ft_dtype dtype = w->type->dtype;
    if (ends_with(w->name, ".qweight") && dtype == FT_INT32) return weights_of_word(list, w);
    if (ends_with(w->name, ".weight_packed")) return dtype == FT_INT32 ? 8 : dtype == FT_UINT8 ? 2 : 1;
    if (dtype != FT_UINT8) return 1;
    if (ends_with(w->name, "_blocks") && sibling(list, w, "_blocks", "_scales") != NULL) return 2;
    if (!ends_with(w->name, ".weight")) return 1;
    /* bitsandbytes keeps the type beside the weight; ModelOpt stores NVFP4 as bytes with a scale for 16 weights. */
    bool is_nf4 = sibling(list, w, ".weight", ".weight.quant_state.bitsandbytes__nf4") != NULL ||
                  sibling(list, w, ".weight", ".weight.quant_state.bitsandbytes__fp4") != NULL;
    return is_nf4 || sibling(list, w, ".weight", ".weight_scale") != NULL ? 2 : 1;
}

void weight_list_unpack(weight_list *list) {
    list->elems = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        weight *w = &list->items[i];
        w->elems = is_scale(list, w) ? 0 : num_mul_sat(w->elems, weights_of_element(list, w));
        list->elems = num_add_sat(list->elems, w->elems);
    }
}

/* --- Graphs ------------------------------------------------------------------------------------------------------ */

static ft_status set_number(ft_graph *graph, const char *key, uint64_t number, ft_error *error) {
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, number);
    return graph_set_meta(graph, key, text, error);
}

/* "Q4_K 193, F32 65, Q6_K 33": how many tensors have each type, in the order of their first. */
static void list_types(const weight_list *list, buf *text) {
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t count = 0;
        bool is_first = true;
        const weight_type *type = list->items[i].type;
        for (uint32_t k = 0; k < i && is_first; k++) is_first = list->items[k].type != type;
        if (!is_first) continue;
        for (uint32_t k = i; k < list->count; k++) count += list->items[k].type == type;
        buf_format(text, "%s%s %u", text->length > 0 ? ", " : "", type->name, count);
    }
}

ft_status weight_list_describe(const weight_list *list, ft_graph *graph, ft_error *error) {
    buf text = {0};
    list_types(list, &text);
    ft_status status = text.failed ? FT_NOMEM(error) : FT_OK;
    if (status == FT_OK && text.length > 0) status = graph_set_meta(graph, "weight_types", text.data, error);
    buf_free(&text);
    FT_TRY(status);
    FT_TRY(set_number(graph, "parameters", list->elems, error));
    return set_number(graph, "weight_bytes", list->bytes, error);
}

/* A tensor of bytes where an element is not a weight: blocks, packed words, and integers beside them; else of weights.
 */
static ft_tensor tensor_of(const weight *w) {
    ft_tensor t = {.name = w->name, .role = FT_CONSTANT, .dtype = w->type->dtype, .rank = w->rank};
    t.stored_bytes = w->bytes;
    memcpy(t.dims, w->dims, sizeof t.dims);
    if (w->type->block_elems == 1 && (dtype_info_of(t.dtype).is_float || w->type->block_bytes == 1)) return t;
    t.dtype = FT_UINT8;
    if (t.rank == 0) t.dims[t.rank++] = 1;
    t.dims[t.rank - 1] = t.dims[t.rank - 1] / w->type->block_elems * w->type->block_bytes;
    return t;
}

static ft_status add_weight(const weight *w, ft_graph *graph, ft_error *error) {
    ft_tensor stored = tensor_of(w), out = {.name = "", .dtype = FT_FLOAT16, .rank = 0};
    uint32_t in, result;
    int64_t elems = (int64_t)w->elems;
    ft_attr *attr = arena_alloc(&graph->memory, sizeof *attr);
    if (attr == NULL) return FT_NOMEM(error);
    FT_TRY(graph_attr_ints(graph, attr, "packed_elems", &elems, 1, error));
    FT_TRY(graph_add_tensor(graph, &stored, &in, error));
    FT_TRY(graph_add_tensor(graph, &out, &result, error));
    ft_op op = {.name = w->name,
                .type = "StoredWeight",
                .inputs = &in,
                .input_count = 1,
                .outputs = &result,
                .output_count = 1,
                .attrs = attr,
                .attr_count = 1};
    return graph_add_op(graph, &op, error);
}

ft_status weight_list_graph(const weight_list *list, ft_graph *graph, const char *why, ft_error *error) {
    FT_TRY(graph_reserve(graph, 2 * (size_t)list->count, list->count, error));
    for (uint32_t i = 0; i < list->count; i++)
        if (list->items[i].elems > 0 || list->items[i].bytes > 0) FT_TRY(add_weight(&list->items[i], graph, error));
    return graph_set_meta(graph, "assumed", why, error);
}
