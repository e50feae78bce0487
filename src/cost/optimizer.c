/* optimizer.c - one optimiser step: FLOPs and bytes per parameter, and the state kept between steps.
 *
 * Every optimiser here is elementwise, so a step costs a constant factor per parameter. Mixed precision keeps float32
 * master weights and moments: the step reads the gradient in the type of the activations, updates the master, and
 * writes the working copy. docs/cost.md derives the factors. */
#include "cost/work.h"

#include <string.h>

typedef struct step_factors {
    uint32_t flops;   /* per parameter */
    uint32_t moments; /* values kept per parameter */
} step_factors;

static step_factors factors_of(ft_optimizer optimizer) {
    switch (optimizer) {
    case FT_SGD:
        return (step_factors){2, 0}; /* p -= lr g */
    case FT_MOMENTUM:
        return (step_factors){4, 1}; /* v = mu v + g; p -= lr v */
    case FT_ADAM:
        return (step_factors){14, 2}; /* m: 3, v: 4, two bias corrections: 2, root, eps, divide, lr, subtract */
    case FT_ADAMW:
        return (step_factors){16, 2}; /* the same, and p -= lr lambda p with lr lambda known */
    }
    return (step_factors){0, 0};
}

uint64_t work_optimizer_bytes(const ft_cost_options *options, ft_dtype dtype, uint64_t elems) {
    uint64_t moments = num_mul_sat(elems, factors_of(options->optimizer).moments);
    if (!options->is_mixed) return dtype_bytes(dtype, moments);
    return dtype_bytes(FT_FLOAT32, num_add_sat(moments, elems));
}

ft_work work_optimizer(const ft_cost_options *options, ft_dtype dtype, uint64_t elems) {
    step_factors r = factors_of(options->optimizer);
    ft_dtype held = options->is_mixed ? FT_FLOAT32 : dtype;
    uint64_t state = dtype_bytes(held, num_mul_sat(elems, 1 + r.moments));               /* weights and moments */
    uint64_t small = dtype_bytes(dtype, elems);                                          /* gradient, or working copy */
    ft_work work = {.flops = num_mul_sat(elems, r.flops + (options->is_mixed ? 2 : 0))}; /* mixed: two casts */
    work.read_bytes = num_add_sat(state, small);
    work.write_bytes = options->is_mixed ? num_add_sat(state, small) : state;
    return work;
}

const char *ft_optimizer_name(ft_optimizer optimizer) {
    switch (optimizer) {
#define OPTIMIZER_NAME(name, text)                                                                                     \
    case name:                                                                                                         \
        return text;
        FT_OPTIMIZER_LIST(OPTIMIZER_NAME)
#undef OPTIMIZER_NAME
    }
    return "unknown";
}

bool ft_optimizer_parse(const char *text, ft_optimizer *optimizer) {
    if (text == NULL || optimizer == NULL) return false;
    static const struct {
        const char *text;
        ft_optimizer value;
    } names[] = {
#define OPTIMIZER_ENTRY(name, text) {text, name},
        FT_OPTIMIZER_LIST(OPTIMIZER_ENTRY)
#undef OPTIMIZER_ENTRY
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i].text, text) != 0) continue;
        *optimizer = names[i].value;
        return true;
    }
    return false;
}
