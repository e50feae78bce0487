/* program_features.h - inputs of predictors for tensor programs: the tuning record, parsed from the text of the graph,
 * the workload as numbers, a pool of scratch memory, and indices of the features of a store. */
#ifndef PREDICTOR_PROGRAM_FEATURES_H
#define PREDICTOR_PROGRAM_FEATURES_H

#include "foretell/program.h"
#include "predictor/core/model_view.h"
#include "program/program.h"

typedef struct program_source {
    ansor_record record;
    workload work;
} program_source;

/* Reads the record and workload of a program; FT_ERR_UNSUPPORTED for a model that is no tensor program. The struct is
 * large: the first function fills one of a pool, the second allocates one in the arena. */
ft_status program_source_read(const model_view *s, program_source *source, ft_error *error);
ft_status program_source_new(const model_view *s, arena *memory, program_source **source, ft_error *error);

/* Lowers the program of a model view to a loop nest, from a record (read into `source`) or from TVM's printed form. */
ft_status program_read_nest(const model_view *s, program_source *source, ft_program *program, ft_error *error);

/* Features of the workload: logarithms of its sizes, and flags. */
enum { PROGRAM_SIZES = 18, PROGRAM_FLAGS = WORKLOAD_KINDS + 4 };
void program_sizes(const workload *w, float sizes[static PROGRAM_SIZES]);
void program_flags(const workload *w, float flags[static PROGRAM_FLAGS]);

/* --- Pool ----------------------------------------------------------------------------------------------------
 *
 * Scratch memory for feature extraction, with large tables that are reused; as many as threads extract at a time. */

typedef struct program_scratch {
    ft_program *program;
    program_source source;
} program_scratch;

typedef struct program_pool program_pool;

ft_status program_pool_new(program_pool **pool, ft_error *error);
void program_pool_free(program_pool *pool);
ft_status program_pool_take(program_pool *pool, program_scratch **scratch, ft_error *error);
void program_pool_return(program_pool *pool, program_scratch *scratch);

/* --- Indices of features -------------------------------------------------------------------------------------
 *
 * Features of a store that predictors select; docs/programs.md lists the 164, feature_gpu.c names the GPU features. */

/* Of the 164. */
enum {
    LEAF_FLOAT_ADD = 1,
    LEAF_FLOAT_MUL,
    LEAF_FLOAT_DIV,
    LEAF_FLOAT_CMP,
    LEAF_FLOAT_MATH,
    LEAF_INT_ADD = 8,
    LEAF_INT_MUL,
    LEAF_INT_DIV,
    LEAF_INT_CMP,
    LEAF_LOGIC = 14,
    LEAF_SELECT,
    LEAF_VECTOR = 18,
    LEAF_TRIPS = 161,
    LEAF_UNROLL = 163
};

/* Of the GPU features. */
enum {
    GPU_BLOCKS,
    GPU_THREADS,
    GPU_WARP_FILL,
    GPU_VTHREADS,
    GPU_SHARED_BYTES,
    GPU_LOCAL_BYTES,
    GPU_THREAD_TRIPS,
    GPU_UNROLL_ROOM,
    GPU_GUARDS,
    GPU_IS_UPDATE,
    GPU_IS_START,
    GPU_GLOBAL_READS,
    GPU_GLOBAL_READ_REQUESTS,
    GPU_GLOBAL_READ_KEPT,
    GPU_GLOBAL_READ_REPEATS,
    GPU_SHARED_READS,
    GPU_SHARED_READ_REQUESTS,
    GPU_SHARED_READ_KEPT,
    GPU_SHARED_READ_REPEATS,
    GPU_GLOBAL_WRITES = 23,
    GPU_GLOBAL_WRITE_REQUESTS,
    GPU_GLOBAL_WRITE_REPEATS = 26,
    GPU_SHARED_WRITES,
    GPU_SHARED_WRITE_REQUESTS,
    GPU_SHARED_WRITE_REPEATS = 30,
    GPU_WINDOW_LOADS, /* five */
    GPU_ROUNDS = 41,
    GPU_ROUND_TRIPS,
    GPU_GLOBAL_UNIQUE,
    GPU_UNROLLED_LOADS,
    GPU_UNROLLED_REGISTERS,
    GPU_UNROLLED_TRIPS,
    GPU_UNROLLED_LEFT,
    GPU_UNROLLED_BODY,
    GPU_UNROLLED_CODE,
    GPU_UNROLLED_SPILLING,
    GPU_UNROLLED_SPILLS, /* per UNROLL_SPILL_TRIPS trips */
    GPU_WAVE_SECTORS,    /* four */
    GPU_MERGED_MIN = 56,
    GPU_MERGED_MAX,
    GPU_MERGED_WRITE,
    GPU_WINDOW_CYCLES, /* five */
    GPU_UNROLLED_CYCLES = 64
};
_Static_assert(GPU_UNROLLED_CYCLES == FT_PROGRAM_GPU_FEATURES - 1, "an index is beyond the last feature");

#endif
