/* totals_gbt.c - the family "totals-gbt": boosted trees on the totals of a graph (totals_gbt.h). */
#include "predictor/baseline/totals_gbt.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "graph/fuse.h"
#include "graph/geometry.h"
#include "predictor/baseline/gbt.h"
#include "predictor/core/families.h"
#include "predictor/core/family_common.h"

/* Kinds by the name that fusion rules have for an operator; one without a name here goes by its class. The first two
 * are also divided by the size of their kernel. */
static const char *const named[] = {"conv",   "dwconv", "fc",      "matmul",  "bn",  "relu",    "add",       "mul",
                                    "concat", "split",  "maxpool", "avgpool", "gap", "reshape", "transpose", "sigmoid"};

enum { NAMED = sizeof named / sizeof named[0], OTHER = TOTALS_KINDS - 1 };

static const ft_op_class classes[] = {FT_CLASS_CONV,   FT_CLASS_MATMUL, FT_CLASS_ATTENTION,  FT_CLASS_RECURRENT,
                                      FT_CLASS_NORM,   FT_CLASS_POOL,   FT_CLASS_ACTIVATION, FT_CLASS_ELEMENTWISE,
                                      FT_CLASS_REDUCE, FT_CLASS_MOVE};

_Static_assert(NAMED + sizeof classes / sizeof classes[0] == OTHER, "kinds are named, of a class, or other");

static uint32_t kind_of(const ft_graph *graph, const ft_op *op) {
    char buffer[KERNEL_NAME_BYTES];
    const char *name = kernel_name_of(graph, op, buffer);
    for (uint32_t i = 0; i < NAMED; i++) {
        if (strcmp(name, named[i]) == 0) return i;
    }
    ft_op_class class_of = ft_opdef_class(op->def);
    for (uint32_t i = NAMED; i < OTHER; i++) {
        if (classes[i - NAMED] == class_of) return i;
    }
    return OTHER;
}

/* The index of a kernel size among 1, 3, 5, 7 and all others. */
static uint32_t size_class(const ft_graph *graph, const ft_op *op) {
    conv_geometry g;
    if (!conv_geometry_of(graph, op, &g) || g.kernel[0] % 2 == 0 || g.kernel[0] > 7) return TOTALS_SIZES - 1;
    assert(g.kernel[0] >= 1);
    return (uint32_t)(g.kernel[0] / 2);
}

static void add_op(const ft_graph *graph, const ft_op *op, const ft_op_cost *cost, double *row) {
    total_work work = op_work_of(cost);
    uint32_t kind = kind_of(graph, op);
    double *of_kind = row + (size_t)kind * TOTALS_PER_KIND;
    of_kind[0] += (double)op->repeats;
    of_kind[1] += work.flops;
    of_kind[2] += work.bytes;
    of_kind[3] += (double)cost->params;
    if (kind > 1) return;
    double *of_size = row + TOTALS_KINDS * TOTALS_PER_KIND + 2 * (kind * TOTALS_SIZES + size_class(graph, op));
    of_size[0] += (double)op->repeats;
    of_size[1] += work.flops;
}

static void add_sums(const ft_graph *graph, const ft_cost *cost, double *row) {
    total_work work = total_work_of(cost);
    double *sums = row + (TOTALS_COUNT - TOTALS_SUMS);
    sums[0] = work.flops;
    sums[1] = work.bytes;
    sums[2] = (double)cost->total.params;
    sums[3] = (double)cost->total.forward.macs;
    sums[4] = (double)cost->total.activation_elems;
    sums[5] = (double)cost->weight_bytes;
    sums[6] = (double)cost->conv_matmul_outputs;
    sums[7] = (double)ft_graph_batch(graph);
}

ft_status totals_extract(model_view *s, float row[TOTALS_COUNT], ft_error *error) {
    const ft_cost *cost;
    FT_TRY(model_view_cost(s, &cost, error));
    const ft_op *ops = ft_graph_ops(s->bound);
    double sums[TOTALS_COUNT] = {0};
    for (uint32_t i = 0; i < cost->op_count; i++) {
        if (!ops[i].is_folded) add_op(s->bound, &ops[i], &cost->ops[i], sums);
    }
    add_sums(s->bound, cost, sums);
    for (size_t i = 0; i < TOTALS_COUNT; i++) row[i] = (float)sums[i];
    return FT_OK;
}

static ft_status extract(void *extractor, model_view *s, arena *memory, float *row, double *coverage_ratio,
                         ft_error *error) {
    (void)extractor;
    (void)memory;
    FT_TRY(totals_extract(s, row, error));
    *coverage_ratio = s->cost.coverage_ratio;
    return FT_OK;
}

static const gbt_rows totals = {.columns = TOTALS_COUNT, .extract = extract};

GBT_FAMILY(totals_gbt, totals, "totals-gbt", TOTALS_SCHEMA,
           "boosted trees on totals of the graph, for models like those it was trained on");
