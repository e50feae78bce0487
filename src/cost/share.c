#include "cost/share.h"

static double amount_of(const ft_work *work) {
    return (double)work->flops + (double)work->read_bytes + (double)work->write_bytes;
}

/* Forward, and both halves of the way back. */
static void add_op(const ft_op_cost *op, double *forward, double *backward) {
    *forward += amount_of(&op->forward);
    *backward += amount_of(&op->backward_data) + amount_of(&op->backward_weights);
}

double work_amount_of(const ft_cost *cost, const uint32_t *ops, uint32_t count) {
    double forward = 0, backward = 0;
    for (uint32_t i = 0; i < count; i++) add_op(&cost->ops[ops[i]], &forward, &backward);
    return forward + backward;
}

work_share work_share_of(const ft_cost *cost, const uint32_t *ops, uint32_t count) {
    double forward = 0, backward = 0, params = 0, all_params = (double)cost->total.params;
    for (uint32_t i = 0; i < count; i++) {
        add_op(&cost->ops[ops[i]], &forward, &backward);
        params += (double)cost->ops[ops[i]].params;
    }
    double update = all_params > 0 ? amount_of(&cost->optimizer) * params / all_params : 0;
    double sum = forward + backward + update;
    if (!(sum > 0)) return (work_share){.forward = 1};
    return (work_share){forward / sum, backward / sum, update / sum};
}
