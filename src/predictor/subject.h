/* subject.h - a bound graph that predictions are made about, with what several predictors and devices need of it.
 *
 * Costs and kernels are computed when they are first asked for and then kept, so that a graph which is asked about for
 * four devices is costed once and fused once per runtime. Not for several threads at a time. */
#ifndef PREDICTOR_SUBJECT_H
#define PREDICTOR_SUBJECT_H

#include "foretell/cost.h"
#include "foretell/device.h"
#include "foretell/kernel.h"
#include "foretell/predictor.h"

enum { SUBJECT_MAX_RUNTIMES = 8 };

typedef struct subject {
    const ft_graph *bound;
    ft_query query; /* what is the same for all devices: dtype, mode, setting */
    bool has_cost;
    ft_cost cost;
    uint32_t runtime_count;
    struct {
        const ft_rules *rules; /* borrowed, the key */
        ft_kernels kernels;
    } runtimes[SUBJECT_MAX_RUNTIMES];
} subject;

void subject_init(subject *s, const ft_graph *bound, const ft_query *query);
void subject_free(subject *s);
ft_status subject_cost(subject *s, const ft_cost **cost, ft_error *error);
ft_status subject_kernels(subject *s, const ft_rules *rules, const ft_kernels **kernels, ft_error *error);

#endif
