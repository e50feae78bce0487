/* step_sequence.c - the family "step-sequence": the time of a tensor program from the steps of its schedule in the
 * tuning log, without lowering it to loops; after TLP. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/families.h"
#include "predictor/gnn/gnn_family.h"
#include "predictor/program/program_features.h"
#include "predictor/program/sequence_net.h"

#define SCHEMA "program-steps-1"

/* Features of a step: stage, iterator, its two other numbers, the number in its text, and length and first items of its
 * list. */
enum { LIST_ITEMS = 8, STEP_VALUES = 6 + LIST_ITEMS, FREQUENCIES = 4, STEP_MARKS = 2 * FREQUENCIES, ANNOTATIONS = 12 };
/* Kinds of steps; each annotation is a kind. */
enum { STEP_KINDS = ANSOR_KINDS + ANNOTATIONS };

static gnn_widths widths(const void *own) {
    return (gnn_widths){.column_values = sequence_column_values(own),
                        .kinds = STEP_KINDS,
                        .node_values = STEP_VALUES,
                        .node_marks = STEP_MARKS,
                        .global_values = PROGRAM_SIZES,
                        .global_marks = PROGRAM_FLAGS};
}

static float scaled(double number) {
    return (float)copysign(log2(1 + fabs(number)), number);
}

static uint32_t kind_of(const ansor_step *step) {
    if (step->kind != ANSOR_ANNOTATE) return step->kind;
    return ANSOR_KINDS + (step->annotation > 0 && step->annotation < ANNOTATIONS ? (uint32_t)step->annotation : 0);
}

/* "auto_unroll_max_step$512" */
static double number_in(const char *text) {
    const char *at = strchr(text, '$');
    return at != NULL ? strtod(at + 1, NULL) : 0;
}

static void extract_step(const ansor_step *step, float *values) {
    values[0] = scaled((double)step->stage);
    values[1] = scaled((double)step->iter);
    values[2] = scaled((double)step->extent);
    values[3] = scaled((double)step->parts);
    values[4] = scaled(number_in(step->text));
    values[5] = scaled(step->count);
    for (uint32_t i = 0; i < LIST_ITEMS && i < step->count; i++) values[6 + i] = scaled((double)step->list[i]);
}

static void encode_position(uint32_t position, float *marks) {
    for (uint32_t i = 0; i < FREQUENCIES; i++) {
        double angle = position / pow(100, (double)i / FREQUENCIES);
        marks[2 * i] = (float)sin(angle);
        marks[2 * i + 1] = (float)cos(angle);
    }
}

static ft_status extract(const void *own, const void *extractor, model_view *s, arena *memory, gnn_sample *sample,
                         ft_error *error) {
    const gnn_widths w = widths(own);
    program_source *source;
    (void)extractor;
    FT_TRY(program_source_new(s, memory, &source, error));
    const ansor_record *record = &source->record;
    assert(w.node_values == STEP_VALUES && w.node_marks == STEP_MARKS);
    if (!gnn_sample_open(sample, &w, record->step_count, 0, memory)) return FT_NOMEM(error);
    for (uint32_t i = 0; i < record->step_count; i++) {
        sample->kinds[i] = kind_of(&record->steps[i]);
        extract_step(&record->steps[i], sample->node_values + (size_t)i * STEP_VALUES);
        encode_position(i, sample->node_marks + (size_t)i * STEP_MARKS);
    }
    program_sizes(&source->work, sample->global_values);
    program_flags(&source->work, sample->global_marks);
    sample->known_ratio = 1;
    return FT_OK;
}

static const gnn_kind kind = {.name = "step-sequence",
                              .schema = SCHEMA,
                              .defaults = sequence_defaults,
                              .widths = widths,
                              .extract = extract,
                              .sheet = program_sheet,
                              SEQUENCE_NET};

GNN_FAMILY(step_sequence, kind, "step-sequence", SCHEMA,
           "tensor programs: a transformer over the steps of a schedule, like TLP");
