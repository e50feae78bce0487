/* program.h - tensor programs: from the logs of a tuner to loop nests, and to what a predictor sees of them.
 *
 *     ft_program_log *log = NULL;
 *     ft_program *program = NULL;
 *     ft_program_record record;
 *     ft_program_features seen;
 *     ft_status status = ft_program_log_open("v100.jsonl.gz", &log, &error);
 *     if (!status) status = ft_program_new(&program, &error);
 *     while (!status && !(status = ft_program_log_next(log, &record, &error)) && record.line > 0) {
 *         status = ft_program_lower(program, log, &error);
 *         if (!status) status = ft_program_extract_features(program, &seen, &error);
 *     }
 *
 * A program is a workload (which tensors are computed from which) and the schedule steps of one record. Lowering makes
 * the loops that TVM would make of it: threads, vectors, unrolled loops, buffers and where they live. */
#ifndef FORETELL_PROGRAM_H
#define FORETELL_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "foretell/graph.h"

FT_C_BEGIN

/* --- Logs ---------------------------------------------------------------------------------------------------- */

/* Records of TVM's auto-scheduler (Ansor) or of AutoTVM, one JSON text a line; or programs that TVM printed
 * (docs/formats/tir.md). Plain or gzip, read line by line. */
typedef struct ft_program_log ft_program_log;

typedef struct ft_program_record {
    uint64_t line;        /* from 1; 0: the log is at its end */
    const char *workload; /* JSON: ["matmul_layer", 128, 256, 512]; of a printed program the name of its function */
    const char *fused;    /* epilogue: "", "_add", "_relu", "_add_relu" */
    const char *target;   /* as TVM writes it */
    double seconds;       /* mean of what was measured; NaN: the run failed or its time makes no sense */
    const char *time_missing_reason; /* NULL when there is a time */
    uint32_t step_count;
} ft_program_record;

/* Opens a log; which of the three it holds shows as it is read. Closing takes NULL. */
FT_API ft_status ft_program_log_open(const char *path, ft_program_log **log, ft_error *error);
FT_API void ft_program_log_close(ft_program_log *log);
/* The next record; what it points to lives until the next call. A line that is no record is an error that names file
 * and line; the next call goes on behind it. After FT_ERR_IO and FT_ERR_NOMEM, and when the file itself is damaged,
 * the next call says that the log is at its end. */
FT_API ft_status ft_program_log_next(ft_program_log *log, ft_program_record *record, ft_error *error);

/* The record that the log gave last as a model of one operator, about which predictors of programs can be asked
 * (ft_graph_bind, then ft_predictor_predict), and the name of its task, which takes FT_PROGRAM_TASK_SIZE bytes. */
enum { FT_PROGRAM_TASK_SIZE = 400 };
FT_API ft_status ft_program_graph(const ft_program_log *log, ft_graph **graph, char *task, ft_error *error);

/* --- Programs ------------------------------------------------------------------------------------------------ */

/* Holds one program at a time, in memory that is used again for the next. One per thread. */
typedef struct ft_program ft_program;

/* An empty one; ft_program_lower or ft_program_parse fills it. */
FT_API ft_status ft_program_new(ft_program **program, ft_error *error);
FT_API void ft_program_free(ft_program *program);
/* Makes it the program of the record that the log gave last. */
FT_API ft_status ft_program_lower(ft_program *program, const ft_program_log *log, ft_error *error);
/* The same schedule for a problem so small that it can be run: which lengths stay is drawn by the seed. */
FT_API ft_status ft_program_lower_small(ft_program *program, const ft_program_log *log, uint64_t seed, ft_error *error);

/* Makes it the next program that TVM printed into the text (docs/formats/tir.md). *used is where it ends, 0 when there
 * is none. Such a program can be shown and has features, but no workload. */
FT_API ft_status ft_program_parse(ft_program *program, const char *text, size_t size, size_t *used, ft_error *error);

/* Floating-point operations that the workload asks for; NaN of a program that was printed. */
FT_API double ft_program_flops(const ft_program *program);

/* --- What a predictor sees ----------------------------------------------------------------------------------- */

enum { FT_PROGRAM_FEATURES = 164, FT_PROGRAM_GPU_FEATURES = 65 };

/* The compact tree of the nest, and a vector for each store (docs/programs.md lists what is in it). */
typedef struct ft_program_features {
    uint32_t leaf_count;
    const float *leaves;     /* leaf_count x FT_PROGRAM_FEATURES */
    const float *gpu;        /* leaf_count x FT_PROGRAM_GPU_FEATURES: how a GPU meets the store */
    const int32_t *node_ids; /* of the leaves */
    const int32_t *tree;     /* nodes in pre-order, -1 where one ends */
    uint32_t tree_length;
} ft_program_features;

/* Lives until the program becomes another one. */
FT_API ft_status ft_program_extract_features(ft_program *program, ft_program_features *features, ft_error *error);
/* The name of a feature, those of `gpu` behind the others: "B0.bytes". `text` takes it. */
FT_API const char *ft_program_feature_name(uint32_t index, char text[32]);
/* What is added to the features of the leaf whose node is at `position` of the tree, ends counted. */
FT_API void ft_program_position_encoding(uint32_t position, float out[FT_PROGRAM_FEATURES]);

/* What is known of a device; 0: nothing. */
typedef struct ft_program_sheet {
    double clock_hz;
    double memory_bytes;
    double shared_bytes; /* that a block may use; of a processor its last cache */
    double l2_bytes, l1_bytes;
    double bandwidth_bytes_per_s;
    double peak_float32_flops;
} ft_program_sheet;

enum { FT_PROGRAM_DEVICE_FEATURES = 8 };
/* The device as numbers beside those of its programs. */
FT_API void ft_program_device_features(const ft_program_sheet *sheet, float out[FT_PROGRAM_DEVICE_FEATURES]);

/* --- Showing ------------------------------------------------------------------------------------------------- */

/* As TVM prints programs, with the shapes of the tensors before it. */
FT_API ft_status ft_program_write(ft_program *program, FILE *stream, ft_error *error);
FT_API ft_status ft_program_write_json(ft_program *program, FILE *stream, ft_error *error);
/* As CSV, a row for each store, which begins with `line`, that of the record; the names of the columns stand once,
 * before all programs. */
FT_API ft_status ft_program_write_feature_names(FILE *stream, ft_error *error);
FT_API ft_status ft_program_write_features(ft_program *program, uint64_t line, FILE *stream, ft_error *error);

/* A C file that runs loop nests (threads as loops) and the same work as plain loops, and compares: its exit status is 0
 * when all results are equal and each stage computed as often as it should. */
typedef struct ft_program_c_file ft_program_c_file;
FT_API ft_status ft_program_c_file_begin(FILE *stream, ft_program_c_file **proof, ft_error *error);
/* `label` names the program in what the C file prints. */
FT_API ft_status ft_program_c_file_add(ft_program_c_file *proof, ft_program *program, const char *label,
                                       ft_error *error);
/* Writes the rest, and frees it; NULL is fine. */
FT_API ft_status ft_program_c_file_end(ft_program_c_file *proof, ft_error *error);

FT_C_END

#endif
