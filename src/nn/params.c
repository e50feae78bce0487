/* params.c - parameters: registration, layout in one block, initial values; and blocks of floats. */
#include "nn/params.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/error.h"
#include "base/num.h"
#include "base/rng.h"
#include "nn/math/loops.h"

enum { NAME_BYTES = 128, PIECE = 1024, LINE = 64 };

void params_init(params *p) {
    *p = (params){0};
    arena_init(&p->memory, UINT64_C(64) << 20);
}

void params_free(params *p) {
    if (p == NULL) return;
    free(p->values);
    free(p->items);
    arena_free(&p->memory);
    *p = (params){0};
}

static bool make_room(params *p) {
    if (p->count < p->capacity) return true;
    uint32_t capacity = p->capacity == 0 ? 32 : p->capacity * 2;
    param *items = realloc(p->items, capacity * sizeof *items);
    if (items == NULL) return false;
    p->items = items;
    p->capacity = capacity;
    return true;
}

static param_id add(params *p, param item, const char *format, va_list args) {
    assert(p->values == NULL);
    char name[NAME_BYTES];
    int length = vsnprintf(name, sizeof name, format, args);
    assert(length > 0 && length < NAME_BYTES && params_find(p, name) == NULL);
    item.name = arena_string(&p->memory, name, (size_t)length);
    if (item.name == NULL || !make_room(p)) {
        p->has_failed = true;
        return 0;
    }
    p->items[p->count] = item;
    return p->count++;
}

param_id params_add(params *p, uint32_t rows, uint32_t cols, param_init init, const char *format, ...) {
    va_list args;
    va_start(args, format);
    param_id id = add(p, (param){.rows = rows, .cols = cols, .init = init}, format, args);
    va_end(args);
    return id;
}

param_id params_add_state(params *p, uint32_t rows, uint32_t cols, param_init init, const char *format, ...) {
    va_list args;
    va_start(args, format);
    param_id id = add(p, (param){.rows = rows, .cols = cols, .init = init, .is_state = true}, format, args);
    va_end(args);
    return id;
}

/* Assigns offsets to the trained matrices, or to state, from *offset on. */
static bool lay_out(params *p, bool is_state, size_t *offset) {
    for (uint32_t i = 0; i < p->count; i++) {
        param *item = &p->items[i];
        if (item->is_state != is_state) continue;
        item->offset = *offset;
        size_t size;
        if (!num_mul_size(item->rows, item->cols, &size) || !num_add_size(*offset, size, offset)) return false;
    }
    return true;
}

/* values: rows x cols of the item */
static void initialize(const param *item, float *values, uint64_t seed) {
    size_t count = (size_t)item->rows * item->cols;
    rng r;
    rng_init(&r, seed, XXH3_64bits(item->name, strlen(item->name)));
    double bound = item->init == PARAM_XAVIER ? sqrt(6.0 / ((double)item->rows + item->cols)) : sqrt(1.0 / item->rows);
    for (size_t i = 0; i < count; i++) {
        switch (item->init) {
        case PARAM_ZEROS:
        case PARAM_ONES:
            values[i] = item->init == PARAM_ONES;
            break;
        case PARAM_FAN_IN:
        case PARAM_XAVIER:
            values[i] = (float)(bound * (2 * rng_uniform(&r) - 1));
            break;
        case PARAM_NORMAL:
            values[i] = (float)rng_normal(&r);
            break;
        }
    }
}

void params_initialize(params *p, uint64_t seed) {
    for (uint32_t i = 0; i < p->count; i++) initialize(&p->items[i], params_values(p, i), seed);
}

ft_status params_finish(params *p, uint64_t seed, ft_error *error) {
    assert(p->values == NULL);
    if (p->has_failed) return FT_NOMEM(error);
    if (!lay_out(p, false, &p->total_count)) return FT_NOMEM(error);
    p->trained_count = p->total_count;
    if (!lay_out(p, true, &p->total_count)) return FT_NOMEM(error);
    p->values = block_new(p->total_count);
    if (p->values == NULL) return FT_NOMEM(error);
    if (seed != PARAMS_ZEROED)
        params_initialize(p, seed);
    else
        memset(p->values, 0, p->total_count * sizeof *p->values);
    return FT_OK;
}

const param *params_find(const params *p, const char *name) {
    for (uint32_t i = 0; i < p->count; i++)
        if (strcmp(p->items[i].name, name) == 0) return &p->items[i];
    return NULL;
}

/* --- Blocks -------------------------------------------------------------------------------------------------- */

float *block_new(size_t count) {
    if (count > (SIZE_MAX - LINE) / sizeof(float)) return NULL;
    size_t bytes = (count * sizeof(float) + LINE) / LINE * LINE;
    return aligned_alloc(LINE, bytes);
}

double block_norm(const float *x, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i += PIECE) sum += loop_dot(count - i < PIECE ? count - i : PIECE, x + i, x + i);
    return sqrt(sum);
}

double block_clip(float *x, size_t count, double limit) {
    double norm = block_norm(x, count);
    if (limit > 0 && norm > limit && isfinite(norm)) loop_scale(count, (float)(limit / norm), x, x);
    return norm;
}

SIMD_CLONES void block_average(float *restrict average, const float *restrict x, size_t count, double decay) {
    float rest = (float)(1 - decay);
    for (size_t i = 0; i < count; i++) average[i] += rest * (x[i] - average[i]);
}
