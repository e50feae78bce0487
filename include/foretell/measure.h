/* measure.h - measuring models on this machine.
 *
 *     ft_measure_options options = ft_measure_options_default();
 *     ft_measurement m;
 *     if (ft_graph_bind(graph, &binding, &bound, &error) == FT_OK &&
 *         ft_measure_model("resnet50.onnx", bound, &options, &m, &error) == FT_OK)
 *         printf("%.1f us\n", m.time_us);
 *     ft_measurement_free(&m);
 *
 * Models run in ONNX Runtime, whose shared library is loaded at run time, in a process of their own: a runtime that
 * crashes or runs out of memory ends a measurement, not the caller. docs/measure.md explains how is measured, and how
 * noise is recognised. The table that ft_measurements_csv_row writes is one that `ft_import` reads as "table". */
#ifndef FORETELL_MEASURE_H
#define FORETELL_MEASURE_H

#include <stdio.h>

#include "foretell/graph.h"
#include "foretell/inspect.h"

FT_C_BEGIN

/* --- The machine ---------------------------------------------------------------------------------------------- */

typedef struct ft_machine {
    uint32_t cores;    /* that this process may use */
    double free_cores; /* how many of them were free while threads spun on all: 1.4 of 2 */
} ft_machine;

/* Spins on all cores for `seconds` (0: 0.2) and reports how much processor time there was. */
FT_API ft_status ft_machine_probe(double seconds, ft_machine *machine, ft_error *error);

/* --- Speed of the machine ------------------------------------------------------------------------------------- */

enum { FT_SPEED_POINTS = 15 };

/* Bandwidth at a size of the data, which all threads share in parts of their own. */
typedef struct ft_speed_point {
    uint64_t bytes;
    double read_bytes_per_s, write_bytes_per_s, copy_bytes_per_s; /* a copy counts what is read and what is written */
} ft_speed_point;

typedef struct ft_machine_speed {
    uint32_t threads, count;
    ft_speed_point points[FT_SPEED_POINTS];        /* by size, each twice the one before */
    double peak_float32_flops, peak_float64_flops; /* multiply-adds in registers count two */
    double l2_bytes, cache_bytes; /* of a core, and of the last level, as the system reports; NaN: not */
    const char *instructions;     /* vectors that were used: "AVX-512"; static */
} ft_machine_speed;

/* Measures bandwidth by working-set size and peak rates with so many threads, in about `seconds`. */
FT_API ft_status ft_machine_speed_measure(uint32_t threads, double seconds, ft_machine_speed *speed, ft_error *error);
/* As table, JSON or CSV. */
FT_API ft_status ft_report_machine_speed(FILE *stream, const ft_style *style, const ft_machine_speed *speed,
                                         ft_error *error);
/* The data sheet of this machine as a device (docs/devices.md): only what was measured or what the system reports. */
FT_API ft_status ft_machine_speed_sheet(FILE *stream, const char *name, const ft_machine_speed *speed, ft_error *error);

/* --- Models --------------------------------------------------------------------------------------------------- */

enum { FT_RUNTIME_PATH_SIZE = 4096 };

/* The path of ONNX Runtime's library: `where`, a file or a folder (as npm installs onnxruntime-node); NULL: the
 * variable FORETELL_ORT, then build/node_modules and node_modules of the working folder, then the system's.
 * FT_ERR_UNSUPPORTED, with a message that lists where it was searched, where there is none. */
FT_API ft_status ft_runtime_find(const char *where, char path[FT_RUNTIME_PATH_SIZE], ft_error *error);

typedef struct ft_measure_options {
    const char *runtime; /* path of the library, from ft_runtime_find; NULL: found by it */
    uint32_t threads;    /* that the runtime computes with, at least 1 */
    double seconds;      /* budget of a model at a batch, without loading and warm-up */
    bool has_layers;     /* measure the runtime's nodes, too */
    uint64_t seed;       /* of the random inputs */
} ft_measure_options;

FT_API ft_measure_options ft_measure_options_default(void);

/* A node of the graph as the runtime runs it, after its fusions. */
typedef struct ft_measured_node {
    const char *name, *op;
    double time_us; /* minimum of the profiled runs */
} ft_measured_node;

/* X(ID, text) */
#define FT_NOISE_LIST(X)                                                                                               \
    X(FT_NOISE_NONE, "")                                                                                               \
    X(FT_NOISE_UNSTEADY, "the minimum still fell when the time was over")                                              \
    X(FT_NOISE_WAITING, "even the fastest run waited for a core")                                                      \
    X(FT_NOISE_NAN, "outputs have NaN or infinite values")

typedef enum ft_noise {
#define FT_NOISE_ENUM(id, text) id,
    FT_NOISE_LIST(FT_NOISE_ENUM)
#undef FT_NOISE_ENUM
} ft_noise;

FT_API const char *ft_noise_text(ft_noise noise);

typedef struct ft_measurement {
    int64_t batch;
    uint32_t threads;
    uint32_t runs;                  /* timed ones */
    double time_us, time_median_us; /* wall time of a run: minimum and median */
    double cpu_us, cpu_median_us;   /* processor time of a run, all threads */
    double resident_bytes;          /* peak of the process that ran it, with the runtime's library */
    double load_us;                 /* of reading and optimising the model */
    ft_noise noise;                 /* whether the measurement is to be trusted, and if not, why */
    const ft_measured_node *nodes;  /* in the order in which they ran first; NULL without has_layers */
    uint32_t node_count;
    void *memory; /* of the nodes */
} ft_measurement;

/* Runs a model with random inputs: warm-up, then until the minimum has not fallen by 1 % over the last third of the
 * runs, or the budget ends. `bound` is the graph of the file at `path`, which has its weights in or beside it. A model
 * that the runtime refuses is FT_ERR_UNSUPPORTED; one that does not fit into memory FT_ERR_NOMEM. */
FT_API ft_status ft_measure_model(const char *path, const ft_graph *bound, const ft_measure_options *options,
                                  ft_measurement *measurement, ft_error *error);
FT_API void ft_measurement_free(ft_measurement *measurement);

/* --- Tables --------------------------------------------------------------------------------------------------- */

/* A measurement with its name: a row of a table. */
typedef struct ft_measured_row {
    const char *model; /* path, relative to the table or absolute */
    const char *device, *runtime, *shape;
    ft_measurement measurement;
} ft_measured_row;

/* The headings of the CSV table, a line. */
FT_API const char *ft_measurements_csv_head(void);
/* A row as a line, written by one call and flushed, so that a table of an interrupted process has whole lines. */
FT_API ft_status ft_measurements_csv_row(FILE *stream, const ft_measured_row *row, ft_error *error);
/* All rows as table, JSON or CSV; nodes are in table and JSON. */
FT_API ft_status ft_report_measurements(FILE *stream, const ft_style *style, const ft_machine *machine,
                                        const ft_measured_row *rows, uint32_t count, ft_error *error);

FT_C_END

#endif
