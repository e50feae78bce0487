/* sage.c - settings of the family "perfsage", and the family.
 *
 * After Chai and others, PerfSAGE (2023); docs/perfsage.md lists the differences from the publication. */
#include "predictor/peers/sage.h"

#include "base/error.h"
#include "predictor/core/families.h"
#include "predictor/gnn/gnn_family.h"

#define NAME_OF(name, text) text,
static const char *const aggregator_names[] = {AGGREGATOR_LIST(NAME_OF)};
static const char *const scaling_names[] = {SAGE_SCALING_LIST(NAME_OF)};
#undef NAME_OF
static const char *const direction_names[] = {"successors", "predecessors", "both"};
static const char *const readout_names[] = {"sum", "parts"};

enum { MAX_EMBEDDING = 1024, MAX_INNER = 8192 };

static void set_defaults(gnn_options *shared, void *own) {
    shared->hidden = 128;
    shared->layers = 2;
    shared->batch = 64;
    shared->rate = 0.003;
    shared->loss = LOSS_LOG;
    shared->target = LABEL_RAW;
    shared->forget = 0.02;
    *(sage_options *)own = (sage_options){.aggregator = AGGREGATE_MEAN,
                                          .direction = SAGE_SUCCESSORS,
                                          .scaling = SAGE_LOG,
                                          .readout = SAGE_PARTS,
                                          .embedding = 32};
}

static void add_keys(void *own, config_list *list) {
    sage_options *o = own;
    config_add_choice(list, "aggregator", aggregator_names, 5, &o->aggregator);
    config_add_choice(list, "direction", direction_names, 3, &o->direction);
    config_add_choice(list, "scaling", scaling_names, 3, &o->scaling);
    config_add_choice(list, "readout", readout_names, 2, &o->readout);
    config_add_whole(list, "embedding", 1, MAX_EMBEDDING, &o->embedding);
    config_add_whole(list, "inner", 0, MAX_INNER, &o->inner);
    config_add_whole(list, "unit", 0, 1, &o->unit);
}

static ft_status check(const gnn_options *shared, const void *own, ft_error *error) {
    const sage_options *o = own;
    if (shared->loss == LOSS_LOG && o->readout != SAGE_PARTS)
        return ft_fail(error, FT_ERR_USAGE, "config: loss=log needs positive outputs; use readout=parts");
    if (shared->layers < 1 || shared->layers > SAGE_MAX_LAYERS)
        return ft_fail(error, FT_ERR_USAGE, "config: 'layers' is %g, but must be 1 to %d", shared->layers,
                       SAGE_MAX_LAYERS);
    if (o->direction == SAGE_BOTH && (uint32_t)shared->hidden % 2 != 0)
        return ft_fail(error, FT_ERR_USAGE, "config: 'hidden' must be even for direction=both");
    return FT_OK;
}

static gnn_widths widths(const void *own) {
    return sage_widths((sage_scaling)((const sage_options *)own)->scaling);
}

static ft_status extract(const void *own, const void *extractor, model_view *s, arena *memory, gnn_sample *sample,
                         ft_error *error) {
    (void)extractor;
    return sage_extract(s->bound, (sage_scaling)((const sage_options *)own)->scaling, memory, sample, error);
}

static const gnn_kind kind = {
    .name = "perfsage",
    .schema = "perfsage/1",
    .own_size = sizeof(sage_options),
    .defaults = set_defaults,
    .keys = add_keys,
    .check = check,
    .widths = widths,
    .extract = extract,
    .build = sage_build,
    .forward = sage_forward,
};

GNN_FAMILY(perfsage, kind, "perfsage", "perfsage/1",
           "PerfSAGE: GraphSAGE over operators and weights, summed over the nodes");
