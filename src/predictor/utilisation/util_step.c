/* util_step.c - lists the kernels of a step. */
#include "predictor/utilisation/util_step.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/opdef.h"
#include "predictor/core/host.h"
#include "predictor/torch/torch_kernel.h"
#include "predictor/torch/torch_setting.h"

enum { KERNELS_OF_LOSS = 4, MAX_PER_KERNEL = 4 };

typedef struct lister {
    model_view *view;
    util_step *step;
    bool is_training, is_mixed;
    double bits;      /* of the numbers of products */
    bool has_product; /* the first product needs no gradient of its input */
    double last_elems;
} lister;

/* --- Settings ------------------------------------------------------------------------------------------------ */

static ft_status read_loader(lister *l, ft_error *error) {
    size_t length = 0;
    const char *value = text_setting(l->view->request.setting, "loader", &length);
    l->step->is_loader_open = value == NULL;
    l->step->has_loader = l->is_training; /* as in what was measured */
    if (value == NULL) return FT_OK;
    if (!text_has_word("inline none", value, length))
        return ft_fail(error, FT_ERR_USAGE, "the setting 'loader' is '%.*s', but 'inline' or 'none' is expected",
                       (int)(length < 40 ? length : 40), value);
    l->step->has_loader = value[0] == 'i';
    return FT_OK;
}

/* Bytes that an optimiser reads and writes for a parameter, as separate kernels over lists of tensors. */
static double optimizer_bytes(const lister *l) {
    static const double SGD = 12, MOMENTUM = 28, ADAM = 72;
    size_t length = 0;
    const char *value = text_setting(l->view->request.setting, "optimizer", &length);
    ft_optimizer optimizer = l->view->request.optimizer;
    char name[32];
    if (value != NULL && length < sizeof name) {
        memcpy(name, value, length);
        name[length] = '\0';
        ft_optimizer_parse(name, &optimizer);
    }
    return optimizer == FT_SGD ? SGD : optimizer == FT_MOMENTUM ? MOMENTUM : ADAM;
}

/* --- Kernels ------------------------------------------------------------------------------------------------- */

static util_kernel *add(lister *l, util_kind kind, util_phase phase, double launches) {
    util_kernel *k = &l->step->kernels[l->step->count++];
    *k = (util_kernel){.kind = kind, .phase = phase, .launches = launches, .bits = l->bits};
    if (phase != UTIL_UPDATE) l->step->launches += launches;
    return k;
}

static void add_loop(lister *l, util_kind kind, util_phase phase, double launches, double elems, double bytes) {
    static const double ELEMS_OF_THREAD = 4;
    util_kernel *k = add(l, kind, phase, launches);
    k->threads = elems / ELEMS_OF_THREAD;
    k->bytes = bytes;
}

/* Bytes of activations; under autocast some are 16 bits wide and some 32. */
static double bytes_of(const lister *l, const torch_kernel *k) {
    double narrow = l->bits / 8, wide = l->is_mixed ? 4 : narrow;
    return narrow * (k->read16 + k->write16) + wide * (k->read32 + k->write32);
}

static double written_elems(const torch_kernel *k) {
    double written = k->write16 + k->write32, read = k->read16 + k->read32;
    return fmax(written, k->reduced > 1 ? read / 8 : written);
}

static bool is_product(const torch_kernel *k) {
    bool is_kind = k->kind == TORCH_CONV || k->kind == TORCH_POINTWISE || k->kind == TORCH_GROUPED ||
                   k->kind == TORCH_LINEAR || k->kind == TORCH_MATMUL || k->kind == TORCH_ATTENTION ||
                   k->kind == TORCH_RECURRENT;
    return is_kind && k->macs > 0;
}

static bool is_norm(torch_kind kind) {
    return kind == TORCH_BATCH_NORM || kind == TORCH_LAYER_NORM || kind == TORCH_GROUP_NORM;
}

static util_kernel *add_matrix(lister *l, util_kind kind, util_phase phase, const torch_kernel *k) {
    util_kernel *made = add(l, kind, phase, k->launches);
    made->groups = fmax(k->groups, 1);
    made->is_conv = k->kind == TORCH_CONV || k->kind == TORCH_POINTWISE || k->kind == TORCH_GROUPED;
    made->bytes = bytes_of(l, k) + k->weights * l->bits / 8;
    return made;
}

/* The forward product is rows x depth times depth x columns; its gradients are the same with the sizes exchanged. */
static void add_product(lister *l, const torch_kernel *k) {
    static const double ROWS_OF_BLOCK = 32, TILE = 128;
    /* Fused attention has no sizes of a product: its scores are computed in tiles. */
    double depth = k->depth > 0 ? k->depth : TILE, columns = k->columns > 0 ? k->columns : TILE;
    double groups = fmax(k->groups, 1), rows = fmax(k->macs / (k->launches * groups * depth * columns), 1);
    util_kernel *made = add_matrix(l, UTIL_PRODUCT, UTIL_FORWARD, k);
    made->rows = rows, made->columns = columns, made->depth = depth;
    if (l->is_training) {
        made = add_matrix(l, UTIL_WEIGHT_GRADIENT, UTIL_BACKWARD, k);
        made->rows = depth, made->columns = columns, made->depth = rows;
        if (l->has_product) {
            made = add_matrix(l, UTIL_DATA_GRADIENT, UTIL_BACKWARD, k);
            made->rows = rows, made->columns = depth, made->depth = columns;
        }
        double elems = k->write16 + k->write32;
        if (k->kind == TORCH_LINEAR)
            add_loop(l, UTIL_BIAS_GRADIENT, UTIL_BACKWARD, k->launches, elems / ROWS_OF_BLOCK, 4 * elems);
    }
    l->has_product = true;
}

static void add_kernel(lister *l, const torch_kernel *k) {
    static const double BACKWARD_LOOP = 1.5, BACKWARD_NORM = 5.0 / 3, NORM_PASSES = 1.5;
    if (k->launches <= 0) return;
    double bytes = bytes_of(l, k) + k->weights * l->bits / 8, elems = written_elems(k);
    if (elems > 0) l->last_elems = elems;
    if (is_product(k)) {
        add_product(l, k);
    } else if (is_norm(k->kind)) {
        /* A norm of vectors has a block per channel; one of maps or tokens has one per row as well. */
        double blocks = fmax(k->out_channels, elems / 4096);
        util_kernel *made = add(l, UTIL_NORM, UTIL_FORWARD, k->launches);
        made->bytes = NORM_PASSES * bytes;
        made->threads = 512 * blocks;
        if (!l->is_training) return;
        made = add(l, UTIL_NORM, UTIL_BACKWARD, k->launches);
        made->bytes = NORM_PASSES * BACKWARD_NORM * bytes;
        made->threads = 512 * blocks;
    } else {
        add_loop(l, UTIL_LOOP, UTIL_FORWARD, k->launches, elems, bytes);
        if (l->is_training) add_loop(l, UTIL_LOOP, UTIL_BACKWARD, k->launches, elems, BACKWARD_LOOP * bytes);
    }
}

/* Dropout is a view in inference, and two kernels in training. */
static void add_dropouts(lister *l) {
    const ft_graph *g = l->view->bound;
    static const double BYTES = 9; /* read, written, and a byte of mask */
    for (uint32_t i = 0; i < g->op_count; i++) {
        const ft_op *op = &g->ops[i];
        const ft_tensor *in = op_input(g, op, 0);
        if ((op->def->flags & OP_TRAIN_ONLY) == 0 || op->is_folded || in == NULL) continue;
        double elems = (double)tensor_elems(g, in), repeats = (double)op->repeats;
        add_loop(l, UTIL_DROPOUT, UTIL_FORWARD, repeats, elems, BYTES * elems);
        add_loop(l, UTIL_DROPOUT, UTIL_BACKWARD, repeats, elems, BYTES * elems);
    }
}

static uint32_t count_dropouts(const ft_graph *g) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < g->op_count; i++) count += (g->ops[i].def->flags & OP_TRAIN_ONLY) != 0;
    return count;
}

/* Loss and optimiser. */
static void add_end(lister *l, const ft_cost *cost) {
    static const double LAUNCHES = 12, ELEMS_OF_THREAD = 2;
    double params = (double)cost->total.params, elems = l->last_elems;
    for (int i = 0; i < KERNELS_OF_LOSS; i++)
        add_loop(l, UTIL_LOOP, i < KERNELS_OF_LOSS / 2 ? UTIL_FORWARD : UTIL_BACKWARD, 1, elems, 8 * elems);
    util_kernel *k = add(l, UTIL_OPTIMIZER, UTIL_UPDATE, LAUNCHES);
    k->bytes = optimizer_bytes(l) * params;
    k->threads = params / ELEMS_OF_THREAD;
    k->bits = 32;
}

static void count_inputs(lister *l) {
    const ft_graph *g = l->view->bound;
    for (uint32_t i = 0; i < g->inputs.count; i++)
        l->step->input_elems += (double)tensor_elems(g, &g->tensors[g->inputs.items[i]]);
    for (uint32_t i = 0; i < g->tensor_count; i++)
        l->step->tensors += g->tensors[i].role == FT_CONSTANT && g->tensors[i].use_count > 0 &&
                            dtype_info_of(g->tensors[i].dtype).is_float;
}

/* Types of 4 to 16 bits have matrix units of their own; all others run as float32. */
static double bits_of(ft_dtype dtype) {
    unsigned bits = dtype == FT_DTYPE_UNKNOWN ? 32 : ft_dtype_bits(dtype);
    return bits == 4 || bits == 8 || bits == 16 ? bits : 32;
}

/* The same launches as those of the time of the step (core/host.h), so that a GPU that waits is not called busy. */
static ft_status find_host(util_step *step, const model_view *s, const torch_setting *setting, uint32_t kernels,
                           ft_error *error) {
    host_request request;
    host_launches launches;
    FT_TRY(host_request_parse(s->request.setting, &request, error));
    host_runtime runtime = setting->is_compiled == TORCH_YES ? HOST_COMPILED : HOST_EAGER;
    FT_TRY(host_launches_of(&request, runtime, s->request.mode, setting->is_mixed == TORCH_YES, &launches, error));
    step->host_us = host_total_us(&launches, kernels);
    step->is_host_given = request.is_given;
    return FT_OK;
}

double util_step_stretch(const util_step *step, double kernels_us, double step_us) {
    return fmax(1, (step_us + fmax(step->host_us - kernels_us, 0)) / fmax(step_us, 1e-9));
}

ft_status util_step_make(model_view *s, const ft_rules *rules, util_step *step, ft_error *error) {
    const ft_cost *cost;
    torch_kernel *kernels;
    uint32_t count;
    torch_setting setting;
    *step = (util_step){.samples = (double)ft_graph_batch(s->bound)};
    lister l = {.view = s, .step = step, .is_training = s->request.mode == FT_TRAIN};
    FT_TRY(torch_setting_parse(s->request.setting, s->request.mode, s->request.dtype, &setting, error));
    FT_TRY(read_loader(&l, error));
    l.bits = bits_of(s->request.dtype);
    l.is_mixed = l.bits == 16 && setting.is_mixed == TORCH_YES;
    FT_TRY(model_view_cost(s, &cost, error));
    FT_TRY(torch_kernels_of(s, rules, &s->memory, &kernels, &count, error));
    size_t room = (size_t)count * MAX_PER_KERNEL + 2 * (size_t)count_dropouts(s->bound) + KERNELS_OF_LOSS + 1;
    step->kernels = ARENA_ARRAY(&s->memory, util_kernel, room);
    if (step->kernels == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < count; i++) add_kernel(&l, &kernels[i]);
    FT_TRY(find_host(step, s, &setting, count, error));
    if (l.is_training) add_dropouts(&l);
    if (l.is_training) add_end(&l, cost);
    count_inputs(&l);
    return FT_OK;
}
