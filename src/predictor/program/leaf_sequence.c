/* leaf_sequence.c - the family "leaf-sequence": the time of a tensor program from the stores of its loop nest, each
 * with its features and its position in the compact tree, by a transformer encoder; after CDMPP. One network serves
 * programs of any number of stores. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "predictor/core/families.h"
#include "predictor/gnn/gnn_family.h"
#include "predictor/program/program_demand.h"
#include "predictor/program/program_features.h"
#include "predictor/program/sequence_net.h"
#include "program/feature.h"

#define SCHEMA "program-leaves-9"

/* Selected features of a store, each meaningful for any task. All features were neither more accurate, on known or
 * other tasks, nor as fast (docs/programs.md). Amounts are per trip of the store, so that they do not depend on the
 * size of the task. */
typedef struct selected_feature {
    uint16_t feature;
    bool is_amount;
} selected_feature;

enum { GPU = FT_PROGRAM_FEATURES };
static const selected_feature selected[] = {
    {LEAF_INT_ADD, true},
    {LEAF_INT_MUL, true},
    {LEAF_INT_DIV, true},
    {LEAF_INT_CMP, true},
    {LEAF_LOGIC, true},
    {LEAF_SELECT, true},
    {LEAF_VECTOR, false},
    {LEAF_UNROLL, false},
    {GPU + GPU_THREADS, false},
    {GPU + GPU_WARP_FILL, false},
    {GPU + GPU_VTHREADS, false},
    {GPU + GPU_SHARED_BYTES, false},
    {GPU + GPU_LOCAL_BYTES, false},
    {GPU + GPU_THREAD_TRIPS, false},
    {GPU + GPU_UNROLL_ROOM, false},
    {GPU + GPU_GUARDS, false},
    {GPU + GPU_IS_UPDATE, false},
    {GPU + GPU_IS_START, false},
    {GPU + GPU_GLOBAL_READ_REQUESTS, true},
    {GPU + GPU_GLOBAL_READ_KEPT, true},
    {GPU + GPU_GLOBAL_READ_REPEATS, false},
    {GPU + GPU_SHARED_READ_KEPT, true},
    {GPU + GPU_SHARED_READ_REPEATS, false},
    {GPU + GPU_GLOBAL_WRITE_REQUESTS, true},
    {GPU + GPU_GLOBAL_WRITE_REPEATS, false},
    {GPU + GPU_SHARED_WRITE_REQUESTS, true},
    {GPU + GPU_SHARED_WRITE_REPEATS, false},
    {GPU + GPU_ROUNDS, false},
    {GPU + GPU_ROUND_TRIPS, false},
    {GPU + GPU_UNROLLED_LOADS, false},
    {GPU + GPU_UNROLLED_REGISTERS, false},
    {GPU + GPU_UNROLLED_TRIPS, false},
    {GPU + GPU_UNROLLED_LEFT, false},
    {GPU + GPU_UNROLLED_BODY, false},
    {GPU + GPU_UNROLLED_CODE, false},
    {GPU + GPU_UNROLLED_SPILLING, false},
    {GPU + GPU_UNROLLED_SPILLS, false},
    {GPU + GPU_WAVE_SECTORS, true},
    {GPU + GPU_WAVE_SECTORS + 1, true},
    {GPU + GPU_WAVE_SECTORS + 2, true},
    {GPU + GPU_WAVE_SECTORS + 3, true},
    {GPU + GPU_MERGED_MIN, false},
    {GPU + GPU_MERGED_MAX, false},
    {GPU + GPU_MERGED_WRITE, false},
    {GPU + GPU_WINDOW_CYCLES, false},
    {GPU + GPU_WINDOW_CYCLES + 1, false},
    {GPU + GPU_WINDOW_CYCLES + 2, false},
    {GPU + GPU_WINDOW_CYCLES + 3, false},
    {GPU + GPU_WINDOW_CYCLES + 4, false},
    {GPU + GPU_UNROLLED_CYCLES, false},
};

enum { FREQUENCIES = 8, LEAF_MARKS = 2 * FREQUENCIES };
_Static_assert(sizeof selected / sizeof selected[0] == LEAF_SEQUENCE_VALUES,
               "LEAF_SEQUENCE_VALUES does not match the list");

/* The mean of three networks ranks programs better than one; more would be too slow. The learning rate is constant and
 * the result is the moving average of the weights, which predicts unseen tasks better than a falling rate. */
static void defaults(gnn_options *shared, void *own) {
    sequence_defaults(shared, own);
    shared->members = 3;
    shared->delta = 0.01;
    shared->offset_share = 0.75;
    shared->schedule = SCHEDULE_CONSTANT;
    shared->average = 0.9995;
    shared->optimizer = OPTIM_ADAMW;
    shared->weight_decay = 0.05;
}

static gnn_widths widths(const void *own) {
    uint32_t sheet = sequence_column_values(own), demands = sheet > 0 ? PROGRAM_DEMANDS : 0;
    return (gnn_widths){.column_values = sheet > 0 ? sheet + PROGRAM_LIMIT_VALUES : 0,
                        .node_values = LEAF_SEQUENCE_VALUES,
                        .node_marks = LEAF_MARKS,
                        .global_values = PROGRAM_SIZES,
                        .global_marks = PROGRAM_FLAGS + demands,
                        .demand_marks = demands};
}

static ft_status open(const void *own, void **extractor, ft_error *error) {
    program_pool *pool;
    (void)own;
    FT_TRY(program_pool_new(&pool, error));
    *extractor = pool;
    return FT_OK;
}

static void close(void *extractor) {
    program_pool_free(extractor);
}

/* An amount per trip is a difference of logarithms, clamped from below; 0 has the lowest value. */
static void extract_store(const float *leaf, const float *gpu, float *values) {
    static const float MIN_LOG = -12;
    for (uint32_t i = 0; i < LEAF_SEQUENCE_VALUES; i++) {
        uint32_t feature = selected[i].feature;
        float value = feature < GPU ? leaf[feature] : gpu[feature - GPU];
        if (selected[i].is_amount) value = value > 0 ? fmaxf(MIN_LOG, value - leaf[LEAF_TRIPS]) : MIN_LOG;
        values[i] = value;
    }
}

/* Positional encoding of each leaf by its position in the tree, ends of loops counted. */
static void encode_positions(const ft_program_features *f, float *marks) {
    assert(f->leaf_count <= f->tree_length);
    for (uint32_t leaf = 0, at = 0; leaf < f->leaf_count; leaf++) {
        while (at < f->tree_length && f->tree[at] != f->node_ids[leaf]) at++;
        for (uint32_t i = 0; i < LEAF_MARKS; i++)
            marks[(size_t)leaf * LEAF_MARKS + i] =
                feature_position_value(at, i / 2 * (FT_PROGRAM_FEATURES / FREQUENCIES / 2 * 2) + i % 2);
    }
}

static ft_status extract_record(const gnn_widths *w, program_scratch *scratch, const model_view *s, arena *memory,
                                gnn_sample *sample, ft_error *error) {
    const program_source *source = &scratch->source;
    ft_program_features f;
    FT_TRY(program_source_read(s, &scratch->source, error));
    FT_TRY(program_lower_record(scratch->program, &source->record, error));
    FT_TRY(ft_program_extract_features(scratch->program, &f, error));
    if (!gnn_sample_open(sample, w, f.leaf_count, 0, memory)) return FT_NOMEM(error);
    for (size_t i = 0; i < f.leaf_count; i++)
        extract_store(f.leaves + i * FT_PROGRAM_FEATURES, f.gpu + i * FT_PROGRAM_GPU_FEATURES,
                      sample->node_values + i * LEAF_SEQUENCE_VALUES);
    encode_positions(&f, sample->node_marks);
    program_sizes(&source->work, sample->global_values);
    program_flags(&source->work, sample->global_marks);
    if (w->demand_marks > 0) program_demand(&f, sample->global_marks + PROGRAM_FLAGS);
    sample->known_ratio = 1;
    return FT_OK;
}

static ft_status extract(const void *own, const void *extractor, model_view *s, arena *memory, gnn_sample *sample,
                         ft_error *error) {
    program_pool *pool = (program_pool *)extractor; /* it has a lock */
    program_scratch *scratch;
    const gnn_widths w = widths(own);
    FT_TRY(program_pool_take(pool, &scratch, error));
    ft_status status = extract_record(&w, scratch, s, memory, sample, error);
    program_pool_return(pool, scratch);
    return status;
}

static const gnn_kind kind = {.name = "leaf-sequence",
                              .schema = SCHEMA,
                              .defaults = defaults,
                              .widths = widths,
                              .open = open,
                              .close = close,
                              .extract = extract,
                              .sheet = program_sheet_limits,
                              SEQUENCE_NET};

GNN_FAMILY(leaf_sequence, kind, "leaf-sequence", SCHEMA,
           "tensor programs: a transformer over the stores of a loop nest, like CDMPP");
