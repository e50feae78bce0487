/* step_sequence.c - the family "step-sequence": the time of a tensor program from the steps of its schedule as they
 * stand in the log, without building its loops; in the manner of TLP. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/families.h"
#include "predictor/gnn/gnn_family.h"
#include "predictor/program/program_features.h"
#include "predictor/program/sequence_net.h"

#define SCHEMA "program-steps-1"

/* Of a step: the stage, the iterator, its two other numbers, a number in its text, how long its list is, and the first
 * of the list. */
enum { LIST_SEEN = 8, STEP_VALUES = 6 + LIST_SEEN, WAVES = 4, STEP_MARKS = 2 * WAVES, NOTES = 12 };
/* Kinds of steps; annotations are a kind each. */
enum { STEP_KINDS = ANSOR_KINDS + NOTES };

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
    return ANSOR_KINDS + (step->annotation > 0 && step->annotation < NOTES ? (uint32_t)step->annotation : 0);
}

/* "auto_unroll_max_step$512" */
static double number_in(const char *text) {
    const char *at = strchr(text, '$');
    return at != NULL ? strtod(at + 1, NULL) : 0;
}

static void see_step(const ansor_step *step, float *values) {
    values[0] = scaled((double)step->stage);
    values[1] = scaled((double)step->iter);
    values[2] = scaled((double)step->extent);
    values[3] = scaled((double)step->parts);
    values[4] = scaled(number_in(step->text));
    values[5] = scaled(step->count);
    for (uint32_t i = 0; i < LIST_SEEN && i < step->count; i++) values[6 + i] = scaled((double)step->list[i]);
}

static void see_place(uint32_t place, float *marks) {
    for (uint32_t i = 0; i < WAVES; i++) {
        double angle = place / pow(100, (double)i / WAVES);
        marks[2 * i] = (float)sin(angle);
        marks[2 * i + 1] = (float)cos(angle);
    }
}

static ft_status look(const void *own, const void *extractor, model_view *s, arena *memory, gnn_sample *sample,
                      ft_error *error) {
    const gnn_widths w = widths(own);
    program_source *view;
    (void)extractor;
    FT_TRY(program_source_new(s, memory, &view, error));
    const ansor_record *record = &view->record;
    if (!gnn_sample_open(sample, &w, record->step_count, 0, memory)) return FT_NOMEM(error);
    for (uint32_t i = 0; i < record->step_count; i++) {
        sample->kinds[i] = kind_of(&record->steps[i]);
        see_step(&record->steps[i], sample->node_values + (size_t)i * STEP_VALUES);
        see_place(i, sample->node_marks + (size_t)i * STEP_MARKS);
    }
    program_sizes(&view->work, sample->global_values);
    program_flags(&view->work, sample->global_marks);
    sample->known_ratio = 1;
    return FT_OK;
}

static const gnn_kind kind = {.name = "step-sequence",
                              .schema = SCHEMA,
                              .defaults = sequence_defaults,
                              .widths = widths,
                              .extract = look,
                              .sheet = program_sheet,
                              SEQUENCE_NET};

GNN_FAMILY(step_sequence, kind, "step-sequence", SCHEMA,
           "tensor programs: a transformer over the steps of a schedule, like TLP");
