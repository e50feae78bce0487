/* sequence.c - times the network of leaf-sequence at its default size: a training step, and one program.
 *
 *     sequence train THREADS STEPS    a step on a batch of 256 programs, MSE, Adam
 *     sequence infer STEPS            a forward pass on one program
 *     sequence dump FILE              batch, parameters and outputs, for torch_sequence.py
 *
 * Prints the lines of network.h. bench/sequence_turns runs it and PyTorch alternately. */
#include <string.h>

#include "network.h"
#include "predictor/program/program_features.h"
#include "predictor/program/program_sheet.h"
#include "predictor/program/sequence_net.h"

enum { DEVICES = 3 };

/* The number of features of leaf-sequence: leaf_sequence.c. */
static const gnn_widths widths = {.column_values = PROGRAM_SHEET_VALUES,
                                  .node_values = LEAF_SEQUENCE_VALUES,
                                  .node_marks = 16,
                                  .global_values = PROGRAM_SIZES,
                                  .global_marks = PROGRAM_FLAGS};
static float sheets[DEVICES * PROGRAM_SHEET_VALUES];

/* As in the tuning logs: nine programs of ten have five stores, one has three. */
static void make_sample(rng *r, arena *memory, gnn_sample *s) {
    uint32_t stores = rng_below(r, 10) > 0 ? 5 : 3;
    if (!gnn_sample_open(s, &widths, stores, 0, memory)) abort();
    fill(r, (size_t)stores * widths.node_values, s->node_values);
    fill(r, (size_t)stores * widths.node_marks, s->node_marks);
    fill(r, widths.global_values, s->global_values);
    fill(r, widths.global_marks, s->global_marks);
}

static const timed_kind kind = {.sample = "program",
                                .samples = 256,
                                .build = sequence_build,
                                .forward = sequence_forward,
                                .make = make_sample,
                                .column_values = sheets};

int main(int argc, char **argv) {
    sequence_options own;
    gnn_plan plan = {.own = &own, .widths = widths, .outputs = DEVICES};
    network n;
    rng r;
    rng_init(&r, 3, 3);
    fill(&r, sizeof sheets / sizeof sheets[0], sheets);
    sequence_defaults(&plan.shared, &own);
    network_init(&n, &kind, &plan);
    return network_run(&n, argc, argv, "usage: sequence train THREADS STEPS | infer STEPS | dump FILE\n");
}
