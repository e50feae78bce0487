/* program.h - tensor programs: tuning logs are read, lowered to loop nests, and turned into features for predictors.
 *
 *     ft_program_log *log = NULL;
 *     ft_program *program = NULL;
 *     ft_program_record record;
 *     ft_program_features features;
 *     ft_status status = ft_program_log_open("v100.jsonl.gz", &log, &error);
 *     if (!status) status = ft_program_new(&program, &error);
 *     while (!status && !(status = ft_program_log_next(log, &record, &error)) && record.line > 0) {
 *         status = ft_program_lower(program, log, &error);
 *         if (!status) status = ft_program_extract_features(program, &features, &error);
 *     }
 *
 * A program is a workload (which tensors are computed from which) and the schedule steps of one record. Lowering builds
 * the loops that TVM would build: threads, vectors, unrolled loops, buffers and their memory scopes. */
#ifndef FORETELL_PROGRAM_H
#define FORETELL_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "foretell/graph.h"

FT_C_BEGIN

/* --- Logs ---------------------------------------------------------------------------------------------------- */

/* Records of TVM's auto-scheduler (Ansor) or of AutoTVM, one JSON text per line; or programs that TVM printed
 * (docs/formats/tir.md). Plain or gzip, read line by line. */
typedef struct ft_program_log ft_program_log;

typedef struct ft_program_record {
    uint64_t line;        /* from 1; 0: end of the log */
    const char *workload; /* JSON: ["matmul_layer", 128, 256, 512]; of a printed program the name of its function */
    const char *fused;    /* epilogue: "", "_add", "_relu", "_add_relu" */
    const char *target;   /* as TVM writes it */
    double seconds;       /* mean of the measured runs; NaN: the run failed or its time is not plausible */
    const char *time_missing_reason; /* why `seconds` is NaN; NULL when it is not */
    uint32_t step_count;
} ft_program_record;

/* Opens a log; the format is detected while reading. Closing accepts NULL. */
FT_API ft_status ft_program_log_open(const char *path, ft_program_log **log, ft_error *error);
FT_API void ft_program_log_close(ft_program_log *log);
/* Reads the next record; its pointers are valid until the next call. A line that is no record is an error that names
 * file and line; the next call continues with the line after it. After FT_ERR_IO and FT_ERR_NOMEM, and when the file
 * itself is damaged, the next call reports the end of the log. */
FT_API ft_status ft_program_log_next(ft_program_log *log, ft_program_record *record, ft_error *error);

/* The last record as a graph of one operator, for ft_graph_bind and a predictor of programs, and the name of its task
 * in `task`, a buffer of FT_PROGRAM_TASK_SIZE bytes. */
enum { FT_PROGRAM_TASK_SIZE = 400 };
FT_API ft_status ft_program_graph(const ft_program_log *log, ft_graph **graph, char *task, ft_error *error);

/* --- Programs ------------------------------------------------------------------------------------------------ */

/* Holds one program at a time and reuses its memory for the next. One per thread. */
typedef struct ft_program ft_program;

/* An empty program; ft_program_lower or ft_program_parse fills it. */
FT_API ft_status ft_program_new(ft_program **program, ft_error *error);
FT_API void ft_program_free(ft_program *program);
/* Lowers the last record of the log. */
FT_API ft_status ft_program_lower(ft_program *program, const ft_program_log *log, ft_error *error);
/* Lowers the same schedule for a problem so small that it can be run. The seed draws which loop lengths stay above
 * 1. */
FT_API ft_status ft_program_lower_small(ft_program *program, const ft_program_log *log, uint64_t seed, ft_error *error);

/* Reads the next program of a text that TVM printed (docs/formats/tir.md). *used is where it ends, 0 when there is
 * none. Such a program can be printed and has features, but no workload. */
FT_API ft_status ft_program_parse(ft_program *program, const char *text, size_t size, size_t *used, ft_error *error);

/* Floating-point operations of the workload; NaN for a program that was read from printed text. */
FT_API double ft_program_flops(const ft_program *program);

/* --- Features ------------------------------------------------------------------------------------------------ */

enum { FT_PROGRAM_FEATURES = 164, FT_PROGRAM_GPU_FEATURES = 65 };

/* The compact tree of the nest, and two feature vectors for each store (docs/programs.md lists them). */
typedef struct ft_program_features {
    uint32_t leaf_count;
    const float *leaves;     /* leaf_count x FT_PROGRAM_FEATURES */
    const float *gpu;        /* leaf_count x FT_PROGRAM_GPU_FEATURES */
    const int32_t *node_ids; /* nodes of the leaves */
    const int32_t *tree;     /* nodes in pre-order, -1 where one ends */
    uint32_t tree_length;
} ft_program_features;

/* The features are valid until the program is filled again. */
FT_API ft_status ft_program_extract_features(ft_program *program, ft_program_features *features, ft_error *error);
/* The name of a feature, for example "B0.bytes"; those of `gpu` follow the first FT_PROGRAM_FEATURES. Returns
 * `text`. */
FT_API const char *ft_program_feature_name(uint32_t index, char text[32]);
/* The encoding to add to the features of the leaf whose node is at `position` of `tree`, -1 entries counted. */
FT_API void ft_program_position_encoding(uint32_t position, float out[FT_PROGRAM_FEATURES]);

/* The data sheet of a device, as far as program features need it; 0: unknown. */
typedef struct ft_program_sheet {
    double clock_hz;
    double memory_bytes;
    double shared_bytes; /* per block; of a CPU the last-level cache */
    double l2_bytes, l1_bytes;
    double bandwidth_bytes_per_s;
    double peak_float32_flops;
} ft_program_sheet;

enum { FT_PROGRAM_DEVICE_FEATURES = 8 };
/* Features of a device, to go beside those of its programs. */
FT_API void ft_program_device_features(const ft_program_sheet *sheet, float out[FT_PROGRAM_DEVICE_FEATURES]);

/* --- Output -------------------------------------------------------------------------------------------------- */

/* In TVM's printed form, with the shapes of the tensors before it. */
FT_API ft_status ft_program_write(ft_program *program, FILE *stream, ft_error *error);
FT_API ft_status ft_program_write_json(ft_program *program, FILE *stream, ft_error *error);
/* CSV with one row per store; the first column is `line`, that of the record. Write the column names once, before all
 * programs. */
FT_API ft_status ft_program_write_feature_names(FILE *stream, ft_error *error);
FT_API ft_status ft_program_write_features(ft_program *program, uint64_t line, FILE *stream, ft_error *error);

/* A C file that checks lowering: it runs loop nests (threads as loops) and the same workloads as plain loops, and
 * compares. Its exit status is 0 when all results are equal and each stage computed as often as its definition
 * requires. */
typedef struct ft_program_c_file ft_program_c_file;
FT_API ft_status ft_program_c_file_begin(FILE *stream, ft_program_c_file **file, ft_error *error);
/* `label` names the program in the output of the C file. */
FT_API ft_status ft_program_c_file_add(ft_program_c_file *file, ft_program *program, const char *label,
                                       ft_error *error);
/* Writes the rest and frees the object; accepts NULL. */
FT_API ft_status ft_program_c_file_end(ft_program_c_file *file, ft_error *error);

FT_C_END

#endif
