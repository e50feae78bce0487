/* subject.h - a bound graph that predictions are made about, with what several predictors and devices need of it.
 *
 * Costs and kernels are computed when they are first asked for and then kept, so that a graph which is asked about for
 * four devices is costed once and fused once per runtime. Not for several threads at a time. */
#ifndef PREDICTOR_SUBJECT_H
#define PREDICTOR_SUBJECT_H

#include "base/arena.h"
#include "foretell/cost.h"
#include "foretell/device.h"
#include "foretell/kernel.h"
#include "foretell/predictor.h"

enum { SUBJECT_MAX_RUNTIMES = 16, SUBJECT_MAX_KEPT = 16 };

typedef struct subject subject;

struct subject {
    const ft_graph *bound;
    ft_query query; /* what is the same for all devices: dtype, mode, setting */
    bool has_cost;
    ft_cost cost;
    subject *twin; /* another subject of the same shapes, whose kernels are also those of this one; may be NULL */
    uint32_t runtime_count;
    struct {
        const ft_rules *rules; /* borrowed, the key */
        ft_kernels kernels;
    } runtimes[SUBJECT_MAX_RUNTIMES];
    arena memory; /* of what is kept */
    uint32_t kept_count;
    struct {
        const void *key;
        void *data;
    } kept[SUBJECT_MAX_KEPT];
};

void subject_init(subject *s, const ft_graph *bound, const ft_query *query);
void subject_free(subject *s);
ft_status subject_cost(subject *s, const ft_cost **cost, ft_error *error);
ft_status subject_kernels(subject *s, const ft_rules *rules, const ft_kernels **kernels, ft_error *error);

/* Who keeps what is the same for all batches and types: the twin, or the subject itself. */
subject *subject_owner(subject *s);
/* What a family worked out of a subject for one device and wants to find again for the next. The key is an address
 * that is the family's own; data is from s->memory. NULL when nothing is kept. */
void *subject_kept(const subject *s, const void *key);
/* Does nothing when there is no room: whoever looks must be ready not to find. */
void subject_keep(subject *s, const void *key, void *data);

#endif
