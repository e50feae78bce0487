/* optim.c - optimiser steps, one elementwise loop for each kind, and their saved state. */
#include "nn/optim.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/num.h"
#include "nn/math/loops.h"

enum { PIECE = 1 << 16 }; /* parameters per task of a thread */

struct optim {
    optim_options options;
    size_t count;
    uint64_t steps;
    float *first, *second; /* moments; SGD has no second, and no first without momentum; (count) each */
    optim_range *decayed;
    uint32_t decayed_count;
};

/* Header of the saved state. */
typedef struct state_head {
    uint64_t kind, count, moments, steps;
} state_head;

/* --- Options ------------------------------------------------------------------------------------------------- */

optim_options optim_options_default(optim_kind kind) {
    return (optim_options){
        .kind = kind, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = kind == OPTIM_ADAMW ? 0.01 : 0};
}

bool optim_find(const char *name, optim_kind *kind) {
    static const char *const names[] = {[OPTIM_SGD] = "sgd", [OPTIM_ADAM] = "adam", [OPTIM_ADAMW] = "adamw"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(name, names[i]) != 0) continue;
        *kind = (optim_kind)i;
        return true;
    }
    return false;
}

static bool is_below_one(double x) {
    return x >= 0 && x < 1;
}

static ft_status check_options(const optim_options *o, ft_error *error) {
    const char *wrong = !is_below_one(o->momentum)                              ? "momentum: 0 to below 1"
                        : o->is_nesterov && o->momentum == 0                    ? "nesterov needs a momentum"
                        : !is_below_one(o->beta1) || !is_below_one(o->beta2)    ? "betas: 0 to below 1"
                        : !(o->epsilon > 0) || !isfinite(o->epsilon)            ? "epsilon: above 0"
                        : !(o->weight_decay >= 0) || !isfinite(o->weight_decay) ? "weight decay: not negative"
                                                                                : NULL;
    return wrong == NULL ? FT_OK : ft_fail(error, FT_ERR_USAGE, "optimiser: %s", wrong);
}

static ft_status check_ranges(size_t count, const optim_range *ranges, uint32_t range_count, ft_error *error) {
    size_t end = 0;
    for (uint32_t i = 0; i < range_count; i++) {
        if (ranges[i].begin < end || ranges[i].end < ranges[i].begin || ranges[i].end > count)
            return ft_fail(error, FT_ERR_USAGE,
                           "optimiser: range %u of parameters with weight decay, %zu to %zu: not in order, or past the "
                           "last parameter",
                           i, ranges[i].begin, ranges[i].end);
        end = ranges[i].end;
    }
    return FT_OK;
}

/* --- Creation ------------------------------------------------------------------------------------------------ */

static bool has_first(const optim_options *o) {
    return o->kind != OPTIM_SGD || o->momentum > 0;
}

static ft_status allocate(optim *o, ft_error *error) {
    if (has_first(&o->options)) {
        o->first = calloc(o->count, sizeof *o->first);
        if (o->first == NULL) return FT_NOMEM(error);
    }
    if (o->options.kind != OPTIM_SGD) {
        o->second = calloc(o->count, sizeof *o->second);
        if (o->second == NULL) return FT_NOMEM(error);
    }
    o->decayed = calloc(o->decayed_count, sizeof *o->decayed);
    return o->decayed != NULL ? FT_OK : FT_NOMEM(error);
}

ft_status optim_new(const optim_options *options, size_t count, const optim_range *decayed, uint32_t decayed_count,
                    optim **result, ft_error *error) {
    const optim_range all = {.begin = 0, .end = count};
    if (decayed == NULL) {
        decayed = &all;
        decayed_count = 1;
    }
    FT_TRY(check_options(options, error));
    FT_TRY(check_ranges(count, decayed, decayed_count, error));
    if (count == 0) return ft_fail(error, FT_ERR_USAGE, "optimiser: no parameters");
    optim *o = calloc(1, sizeof *o);
    if (o == NULL) return FT_NOMEM(error);
    o->options = *options;
    o->count = count;
    o->decayed_count = decayed_count > 0 ? decayed_count : 1; /* an empty one, rather than none */
    ft_status status = allocate(o, error);
    if (status != FT_OK) {
        optim_free(o);
        return status;
    }
    if (decayed_count > 0) memcpy(o->decayed, decayed, decayed_count * sizeof *decayed);
    *result = o;
    return FT_OK;
}

void optim_free(optim *o) {
    if (o == NULL) return;
    free(o->first);
    free(o->second);
    free(o->decayed);
    free(o);
}

uint64_t optim_steps(const optim *o) {
    return o->steps;
}

/* --- Steps --------------------------------------------------------------------------------------------------- */

/* Constants of one step, the same for all parameters of a range. */
typedef struct step_constants {
    float rate; /* corrected for the bias of the first moment */
    float momentum;
    float beta1, rest1, beta2, rest2, epsilon;
    float root_scale;  /* corrects the bias of the root of the second moment */
    float to_gradient; /* weight decay added to the gradient */
    float keep;        /* factor of the parameter by decoupled weight decay */
} step_constants;

/* x, g, m, v: (count) values, gradients, first and second moments. */
static SIMD_CLONES void step_plain(const step_constants *k, size_t count, float *restrict x, const float *restrict g) {
    for (size_t i = 0; i < count; i++) x[i] -= k->rate * (g[i] + k->to_gradient * x[i]);
}

static SIMD_CLONES void step_momentum(const step_constants *k, size_t count, float *restrict x, const float *restrict g,
                                      float *restrict m) {
    for (size_t i = 0; i < count; i++) {
        m[i] = k->momentum * m[i] + (g[i] + k->to_gradient * x[i]);
        x[i] -= k->rate * m[i];
    }
}

static SIMD_CLONES void step_nesterov(const step_constants *k, size_t count, float *restrict x, const float *restrict g,
                                      float *restrict m) {
    for (size_t i = 0; i < count; i++) {
        float gradient = g[i] + k->to_gradient * x[i];
        m[i] = k->momentum * m[i] + gradient;
        x[i] -= k->rate * (gradient + k->momentum * m[i]);
    }
}

static SIMD_CLONES void step_adam(const step_constants *k, size_t count, float *restrict x, const float *restrict g,
                                  float *restrict m, float *restrict v) {
    for (size_t i = 0; i < count; i++) {
        float gradient = g[i] + k->to_gradient * x[i];
        m[i] = k->beta1 * m[i] + k->rest1 * gradient;
        v[i] = k->beta2 * v[i] + k->rest2 * gradient * gradient;
        x[i] = k->keep * x[i] - k->rate * m[i] / (sqrtf(v[i]) * k->root_scale + k->epsilon);
    }
}

static step_constants make_constants(const optim *o, double rate, bool has_decay) {
    const optim_options *p = &o->options;
    bool is_adam = p->kind != OPTIM_SGD;
    double bias1 = 1 - pow(p->beta1, (double)o->steps), bias2 = 1 - pow(p->beta2, (double)o->steps);
    double decay = has_decay ? p->weight_decay : 0;
    return (step_constants){.rate = (float)(is_adam ? rate / bias1 : rate),
                            .momentum = (float)p->momentum,
                            .beta1 = (float)p->beta1,
                            .rest1 = (float)(1 - p->beta1),
                            .beta2 = (float)p->beta2,
                            .rest2 = (float)(1 - p->beta2),
                            .epsilon = (float)p->epsilon,
                            .root_scale = (float)(1 / sqrt(bias2)),
                            .to_gradient = p->kind == OPTIM_ADAMW ? 0 : (float)decay,
                            .keep = p->kind == OPTIM_ADAMW ? (float)(1 - rate * decay) : 1};
}

typedef struct step_call {
    const optim *o;
    float *values;
    const float *gradients;
    step_constants decay_constants, plain_constants;
} step_call;

static void step_range(const step_call *s, const step_constants *k, size_t begin, size_t end) {
    assert(begin < end && end <= s->o->count);
    const optim *o = s->o;
    float *x = s->values + begin;
    const float *g = s->gradients + begin;
    size_t count = end - begin;
    if (o->options.kind != OPTIM_SGD)
        step_adam(k, count, x, g, o->first + begin, o->second + begin);
    else if (o->first == NULL)
        step_plain(k, count, x, g);
    else if (o->options.is_nesterov)
        step_nesterov(k, count, x, g, o->first + begin);
    else
        step_momentum(k, count, x, g, o->first + begin);
}

static size_t min_size(size_t a, size_t b) {
    return a < b ? a : b;
}

/* A piece of the parameters, cut where ranges of weight decay begin and end. */
static void step_piece(void *user, uint32_t part, uint32_t worker) {
    const step_call *s = user;
    const optim *o = s->o;
    size_t at = (size_t)part * PIECE, end = min_size(at + PIECE, o->count);
    (void)worker;
    for (uint32_t i = 0; i < o->decayed_count && at < end; i++) {
        const optim_range *range = &o->decayed[i];
        if (range->end <= at) continue;
        size_t begin = min_size(range->begin, end), stop = min_size(range->end, end);
        if (begin > at) step_range(s, &s->plain_constants, at, begin);
        at = at > begin ? at : begin;
        if (stop > at) step_range(s, &s->decay_constants, at, stop);
        at = at > stop ? at : stop;
    }
    if (at < end) step_range(s, &s->plain_constants, at, end);
}

void optim_step(optim *o, float *values, const float *gradients, double rate, pool *threads) {
    o->steps++;
    step_call s = {.o = o,
                   .values = values,
                   .gradients = gradients,
                   .decay_constants = make_constants(o, rate, true),
                   .plain_constants = make_constants(o, rate, false)};
    pool_run(threads, (uint32_t)num_div_up(o->count, PIECE), step_piece, &s);
}

/* --- State --------------------------------------------------------------------------------------------------- */

static state_head head_of(const optim *o) {
    return (state_head){.kind = o->options.kind,
                        .count = o->count,
                        .moments = (o->first != NULL) + (o->second != NULL),
                        .steps = o->steps};
}

size_t optim_state_size(const optim *o) {
    return sizeof(state_head) + head_of(o).moments * o->count * sizeof(float);
}

void optim_save(const optim *o, void *state) {
    state_head head = head_of(o);
    size_t size = o->count * sizeof(float);
    char *out = state;
    memcpy(out, &head, sizeof head);
    if (o->first != NULL) memcpy(out + sizeof head, o->first, size);
    if (o->second != NULL) memcpy(out + sizeof head + size, o->second, size);
}

ft_status optim_load(optim *o, const void *state, size_t size, ft_error *error) {
    state_head head, own = head_of(o);
    const char *in = state;
    size_t block = o->count * sizeof(float);
    if (size != optim_state_size(o))
        return ft_fail(error, FT_ERR_DAMAGED, "the state of the optimiser has %zu bytes, but %zu are expected", size,
                       optim_state_size(o));
    memcpy(&head, in, sizeof head);
    if (head.kind != own.kind || head.count != own.count || head.moments != own.moments)
        return ft_fail(error, FT_ERR_DAMAGED, "the state of the optimiser is of another kind or number of parameters");
    o->steps = head.steps;
    if (o->first != NULL) memcpy(o->first, in + sizeof head, block);
    if (o->second != NULL) memcpy(o->second, in + sizeof head + block, block);
    return FT_OK;
}
