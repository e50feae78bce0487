/* weights.c - types of weights, and lists of them (weights.h).
 *
 * Sizes of ggml's blocks are those of its structs: Q4_K packs 256 weights into two half-precision scales, 12 bytes of
 * 6-bit scales and 128 bytes of nibbles. */
#include "read/language/weights.h"

#include <stdlib.h>
#include <string.h>

enum { GGML_TYPES = 43, FIRST_CAPACITY = 256 };

/* --- Types ------------------------------------------------------------------------------------------------------- */

#define PLAIN(text, dtype, bytes)                                                                                      \
    { text, dtype, 1, bytes }
#define BLOCK(text, elems, bytes)                                                                                      \
    { text, FT_DTYPE_UNKNOWN, elems, bytes }

/* By number; those that ggml removed have no name. */
static const weight_type ggml_types[GGML_TYPES] = {
    [0] = PLAIN("F32", FT_FLOAT32, 4), [1] = PLAIN("F16", FT_FLOAT16, 2),    [2] = BLOCK("Q4_0", 32, 18),
    [3] = BLOCK("Q4_1", 32, 20),       [6] = BLOCK("Q5_0", 32, 22),          [7] = BLOCK("Q5_1", 32, 24),
    [8] = BLOCK("Q8_0", 32, 34),       [9] = BLOCK("Q8_1", 32, 36),          [10] = BLOCK("Q2_K", 256, 84),
    [11] = BLOCK("Q3_K", 256, 110),    [12] = BLOCK("Q4_K", 256, 144),       [13] = BLOCK("Q5_K", 256, 176),
    [14] = BLOCK("Q6_K", 256, 210),    [15] = BLOCK("Q8_K", 256, 292),       [16] = BLOCK("IQ2_XXS", 256, 66),
    [17] = BLOCK("IQ2_XS", 256, 74),   [18] = BLOCK("IQ3_XXS", 256, 98),     [19] = BLOCK("IQ1_S", 256, 50),
    [20] = BLOCK("IQ4_NL", 32, 18),    [21] = BLOCK("IQ3_S", 256, 110),      [22] = BLOCK("IQ2_S", 256, 82),
    [23] = BLOCK("IQ4_XS", 256, 136),  [24] = PLAIN("I8", FT_INT8, 1),       [25] = PLAIN("I16", FT_INT16, 2),
    [26] = PLAIN("I32", FT_INT32, 4),  [27] = PLAIN("I64", FT_INT64, 8),     [28] = PLAIN("F64", FT_FLOAT64, 8),
    [29] = BLOCK("IQ1_M", 256, 56),    [30] = PLAIN("BF16", FT_BFLOAT16, 2), [34] = BLOCK("TQ1_0", 256, 54),
    [35] = BLOCK("TQ2_0", 256, 66),    [39] = BLOCK("MXFP4", 32, 17),        [40] = BLOCK("NVFP4", 64, 36),
    [41] = BLOCK("Q1_0", 128, 18),     [42] = BLOCK("Q2_0", 64, 18),
};

static const weight_type safetensors_types[] = {
    PLAIN("F32", FT_FLOAT32, 4),
    PLAIN("F16", FT_FLOAT16, 2),
    PLAIN("BF16", FT_BFLOAT16, 2),
    PLAIN("F64", FT_FLOAT64, 8),
    PLAIN("I8", FT_INT8, 1),
    PLAIN("U8", FT_UINT8, 1),
    PLAIN("I16", FT_INT16, 2),
    PLAIN("U16", FT_UINT16, 2),
    PLAIN("I32", FT_INT32, 4),
    PLAIN("U32", FT_UINT32, 4),
    PLAIN("I64", FT_INT64, 8),
    PLAIN("U64", FT_UINT64, 8),
    PLAIN("BOOL", FT_BOOL, 1),
    PLAIN("C64", FT_COMPLEX64, 8),
    PLAIN("F8_E4M3", FT_FLOAT8, 1),
    PLAIN("F8_E5M2", FT_FLOAT8, 1),
    PLAIN("F8_E4M3FNUZ", FT_FLOAT8, 1),
    PLAIN("F8_E5M2FNUZ", FT_FLOAT8, 1),
    PLAIN("F8_E8M0", FT_FLOAT8, 1),
    BLOCK("F4", 2, 1),
    BLOCK("F6_E2M3", 4, 3),
    BLOCK("F6_E3M2", 4, 3),
};

const weight_type *weight_type_of_ggml(uint32_t number) {
    return number < GGML_TYPES && ggml_types[number].name != NULL ? &ggml_types[number] : NULL;
}

const weight_type *weight_type_of_safetensors(const char *name) {
    for (size_t i = 0; i < sizeof safetensors_types / sizeof safetensors_types[0]; i++)
        if (strcmp(safetensors_types[i].name, name) == 0) return &safetensors_types[i];
    return NULL;
}

/* --- Lists ------------------------------------------------------------------------------------------------------- */

void weight_list_init(weight_list *list, arena *memory) {
    *list = (weight_list){.memory = memory};
    map_init(&list->names, memory);
}

static bool grow(weight_list *list) {
    uint32_t capacity = list->capacity == 0 ? FIRST_CAPACITY : list->capacity * 2;
    weight *larger = ARENA_ARRAY(list->memory, weight, capacity);
    if (larger == NULL) return false;
    if (list->count > 0) memcpy(larger, list->items, list->count * sizeof *larger);
    list->items = larger;
    list->capacity = capacity;
    return true;
}

static ft_status check_shape(const weight *w, uint64_t *elems, ft_error *error) {
    if (w->rank > FT_MAX_RANK)
        return ft_fail(error, FT_ERR_LIMIT, "weight '%.200s' has %d dimensions; at most %d are supported", w->name,
                       w->rank, FT_MAX_RANK);
    *elems = 1;
    for (int32_t i = 0; i < w->rank; i++) {
        if (w->dims[i] < 0 || w->dims[i] > FT_MAX_DIM)
            return ft_fail(error, FT_ERR_LIMIT, "weight '%.200s' has a dimension of %lld", w->name,
                           (long long)w->dims[i]);
        *elems = num_mul_sat(*elems, (uint64_t)w->dims[i]);
    }
    if (*elems > FT_MAX_ELEMS)
        return ft_fail(error, FT_ERR_LIMIT, "weight '%.200s' has more than %lld elements", w->name,
                       (long long)FT_MAX_ELEMS);
    uint64_t row = w->rank > 0 ? (uint64_t)w->dims[w->rank - 1] : 1;
    if (row % w->type->block_elems != 0)
        return ft_fail(error, FT_ERR_DAMAGED, "weight '%.200s': a row of %llu elements is not whole blocks of %s (%u)",
                       w->name, (unsigned long long)row, w->type->name, w->type->block_elems);
    return FT_OK;
}

ft_status weight_list_add(weight_list *list, const weight *w, ft_error *error) {
    weight made = *w;
    uint32_t found;
    FT_TRY(check_shape(w, &made.elems, error));
    if (list->count >= FT_MAX_OPS) return ft_fail(error, FT_ERR_LIMIT, "more than %d weights", FT_MAX_OPS);
    if (list->count == list->capacity && !grow(list)) return FT_NOMEM(error);
    if (!map_add(&list->names, w->name, list->count, &found)) return FT_NOMEM(error);
    if (found != list->count) return ft_fail(error, FT_ERR_DAMAGED, "two weights have the name '%.200s'", w->name);
    made.bytes = made.elems / w->type->block_elems * w->type->block_bytes;
    list->items[list->count++] = made;
    list->elems = num_add_sat(list->elems, made.elems);
    list->bytes = num_add_sat(list->bytes, made.bytes);
    return FT_OK;
}

weight *weight_list_find(const weight_list *list, const char *name) {
    uint32_t index;
    return map_get(&list->names, name, &index) ? &list->items[index] : NULL;
}

static int compare_offsets(const void *a, const void *b) {
    const weight *x = *(const weight *const *)a, *y = *(const weight *const *)b;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

ft_status weight_list_check(const weight_list *list, uint32_t first, uint64_t data_bytes, bool is_dense,
                            ft_error *error) {
    uint32_t count = list->count - first;
    const weight **sorted = ARENA_ARRAY(list->memory, const weight *, (size_t)count + 1);
    if (sorted == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < count; i++) sorted[i] = &list->items[first + i];
    qsort(sorted, count, sizeof *sorted, compare_offsets);
    uint64_t end = 0;
    for (uint32_t i = 0; i < count; i++) {
        const weight *w = sorted[i];
        if (w->offset > data_bytes || w->bytes > data_bytes - w->offset)
            return ft_fail(error, FT_ERR_DAMAGED,
                           "truncated: weight '%.200s' ends at byte %llu of the data, which has %llu", w->name,
                           (unsigned long long)num_add_sat(w->offset, w->bytes), (unsigned long long)data_bytes);
        if (w->bytes > 0 && w->offset < end)
            return ft_fail(error, FT_ERR_DAMAGED, "weights '%.200s' and '%.200s' overlap", sorted[i - 1]->name,
                           w->name);
        if (is_dense && w->offset != end)
            return ft_fail(error, FT_ERR_DAMAGED, "there is a gap of %llu bytes before weight '%.200s'",
                           (unsigned long long)(w->offset - end), w->name);
        end = w->offset + w->bytes;
    }
    if (is_dense && end != data_bytes)
        return ft_fail(error, FT_ERR_DAMAGED, "%llu bytes follow the last weight",
                       (unsigned long long)(data_bytes - end));
    return FT_OK;
}
