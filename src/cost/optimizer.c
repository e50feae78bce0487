/* optimizer.c - one optimiser step: FLOPs and bytes per parameter, and the state kept between steps.
 *
 * Nearly every optimiser here is elementwise, so a step costs a constant factor per parameter. Mixed precision keeps
 * float32 master weights and moments: the step reads the gradient in the type of the activations, updates the master,
 * and writes the working copy. Moments of 8 bits have a float32 scale for each block; those that are paged are in host
 * memory. docs/cost.md derives the factors. */
#include "cost/work.h"

#include <string.h>

typedef struct step_factors {
    uint32_t flops;   /* per parameter */
    uint32_t moments; /* values kept per parameter */
} step_factors;

enum { MOMENT_BLOCK = 256, MIN_SMALL_ELEMS = 4096 }; /* of 8-bit moments; smaller tensors have float32 moments */

static step_factors factors_of(ft_optimizer optimizer) {
    switch (optimizer) {
    case FT_SGD:
        return (step_factors){2, 0}; /* p -= lr g */
    case FT_MOMENTUM:
        return (step_factors){4, 1}; /* v = mu v + g; p -= lr v */
    case FT_ADAM:
        return (step_factors){14, 2}; /* m: 3, v: 4, two bias corrections: 2, root, eps, divide, lr, subtract */
    case FT_ADAMW:
    case FT_ADAMW_PAGED:
        return (step_factors){16, 2}; /* the same, and p -= lr lambda p with lr lambda known */
    case FT_ADAMW_8BIT:
    case FT_ADAMW_8BIT_PAGED:
        return (step_factors){24, 2}; /* both moments are unpacked, scaled and packed again */
    case FT_LION:
        return (step_factors){9, 1}; /* mix: 3, sign, decay: 2, lr, moment: 3 less the shared product */
    case FT_ADAFACTOR:
        return (step_factors){12, 0}; /* squares, sums of rows and columns, outer product, root, divide, lr, subtract */
    case FT_MUON:
        return (step_factors){5, 1}; /* elementwise part */
    }
    return (step_factors){0, 0};
}

static bool is_eight_bit(ft_optimizer optimizer) {
    return optimizer == FT_ADAMW_8BIT || optimizer == FT_ADAMW_8BIT_PAGED;
}

static bool is_paged(ft_optimizer optimizer) {
    return optimizer == FT_ADAMW_PAGED || optimizer == FT_ADAMW_8BIT_PAGED;
}

/* Bytes of the moments of `elems` elements of a parameter, without master weights. */
static uint64_t moment_bytes(const ft_cost_options *options, ft_dtype dtype, const ft_tensor *t, uint64_t elems) {
    uint32_t moments = factors_of(options->optimizer).moments;
    ft_dtype held = options->is_mixed ? FT_FLOAT32 : dtype;
    bool is_matrix = t != NULL && t->rank >= 2;
    if (is_paged(options->optimizer)) return 0;
    if (is_eight_bit(options->optimizer) && elems >= MIN_SMALL_ELEMS) {
        uint64_t block = num_add_sat(elems, num_mul_sat(num_div_up(elems, MOMENT_BLOCK), 4));
        return num_mul_sat(block, moments);
    }
    if (options->optimizer == FT_MUON && !is_matrix) moments = 2; /* vectors have those of Adam */
    if (options->optimizer == FT_ADAFACTOR) {
        if (!is_matrix) return dtype_bytes(held, elems);
        uint64_t columns = (uint64_t)t->dims[t->rank - 1], rows = columns > 0 ? num_div_up(elems, columns) : 0;
        uint64_t height = (uint64_t)t->dims[t->rank - 2], blocks = height > 0 ? num_div_up(rows, height) : 0;
        return dtype_bytes(held, num_add_sat(rows, num_mul_sat(blocks, columns)));
    }
    return dtype_bytes(held, num_mul_sat(elems, moments));
}

uint64_t work_master_bytes(const ft_cost_options *options, uint64_t elems) {
    return options->is_mixed ? dtype_bytes(FT_FLOAT32, elems) : 0;
}

uint64_t work_optimizer_bytes(const ft_cost_options *options, ft_dtype dtype, const ft_tensor *t, uint64_t elems) {
    return num_add_sat(moment_bytes(options, dtype, t, elems), work_master_bytes(options, elems));
}

ft_work work_optimizer(const ft_cost_options *options, ft_dtype dtype, uint64_t elems) {
    step_factors r = factors_of(options->optimizer);
    ft_dtype held = options->is_mixed ? FT_FLOAT32 : dtype;
    uint64_t state = dtype_bytes(held, num_mul_sat(elems, 1 + r.moments));               /* weights and moments */
    uint64_t small = dtype_bytes(dtype, elems);                                          /* gradient, or working copy */
    ft_work work = {.flops = num_mul_sat(elems, r.flops + (options->is_mixed ? 2 : 0))}; /* mixed: two casts */
    if (is_eight_bit(options->optimizer)) state = num_add_sat(dtype_bytes(held, elems), num_mul_sat(elems, r.moments));
    work.read_bytes = num_add_sat(state, small);
    work.write_bytes = options->is_mixed ? num_add_sat(state, small) : state;
    return work;
}

/* --- Names --------------------------------------------------------------------------------------------------- */

#define NAME_CASE(name, text)                                                                                          \
    case name:                                                                                                         \
        return text;
#define NAME_ENTRY(name, text) {text, (int)(name)},

typedef struct named {
    const char *text;
    int value;
} named;

static const named optimizers[] = {FT_OPTIMIZER_LIST(NAME_ENTRY){NULL, 0}};
static const named shardings[] = {FT_SHARDING_LIST(NAME_ENTRY){"fsdp", FT_SHARD_WEIGHTS}, {NULL, 0}};
static const named recomputes[] = {FT_RECOMPUTE_LIST(NAME_ENTRY){NULL, 0}};

static bool find_name(const named *names, const char *text, int *value) {
    for (; names->text != NULL; names++) {
        if (strcmp(names->text, text) != 0) continue;
        *value = names->value;
        return true;
    }
    return false;
}

const char *ft_optimizer_name(ft_optimizer optimizer) {
    switch (optimizer) { FT_OPTIMIZER_LIST(NAME_CASE) }
    return "unknown";
}

const char *ft_sharding_name(ft_sharding sharding) {
    switch (sharding) { FT_SHARDING_LIST(NAME_CASE) }
    return "unknown";
}

const char *ft_recompute_name(ft_recompute recompute) {
    switch (recompute) { FT_RECOMPUTE_LIST(NAME_CASE) }
    return "unknown";
}

bool ft_optimizer_parse(const char *text, ft_optimizer *optimizer) {
    int value;
    if (text == NULL || optimizer == NULL || !find_name(optimizers, text, &value)) return false;
    *optimizer = (ft_optimizer)value;
    return true;
}

bool ft_sharding_parse(const char *text, ft_sharding *sharding) {
    int value;
    if (text == NULL || sharding == NULL || !find_name(shardings, text, &value)) return false;
    *sharding = (ft_sharding)value;
    return true;
}

bool ft_recompute_parse(const char *text, ft_recompute *recompute) {
    int value;
    if (text == NULL || recompute == NULL || !find_name(recomputes, text, &value)) return false;
    *recompute = (ft_recompute)value;
    return true;
}
