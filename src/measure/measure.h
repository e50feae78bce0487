/* measure.h - shared by the parts of measuring: clocks, the series of timed runs, the nodes of a profile. */
#ifndef MEASURE_MEASURE_H
#define MEASURE_MEASURE_H

#include <stdbool.h>
#include <time.h>

#include "base/arena.h"
#include "foretell/measure.h"

double clock_us(clockid_t clock);
/* Cores that this process may use. */
uint32_t machine_cores(void);

/* --- Runs (runs.c) ----------------------------------------------------------------------------------------------- */

enum { RUNS_MAX = 100000, RUNS_MIN = 6, RUNS_PROFILED = 25 };

/* Times of runs, in the order in which they ran. */
typedef struct run_series {
    double *wall_us, *cpu_us; /* room for RUNS_MAX each */
    uint32_t count;
} run_series;

/* Whether the minimum of the first two thirds is within 1 % of that of all: more runs would not lower it. */
bool runs_are_steady(const double *us, uint32_t count);
double runs_minimum(const double *us, uint32_t count);
/* Sorts them. */
double runs_median(double *us, uint32_t count);

/* Fills times, runs and noise of a measurement; sorts the series. */
void runs_summarize(run_series *runs, ft_measurement *m);

/* --- Nodes (profile.c) ------------------------------------------------------------------------------------------- */

/* Reads the file of the runtime's profiler: the minimum over all runs for each node. */
ft_status profile_read(const char *path, arena *memory, const ft_measured_node **nodes, uint32_t *count,
                       ft_error *error);
/* The same from memory; messages use `name` as the file name. */
ft_status profile_parse(const char *text, size_t size, const char *name, arena *memory, const ft_measured_node **nodes,
                        uint32_t *count, ft_error *error);

/* --- In the process that runs the model (child.c) ---------------------------------------------------------------- */

/* What the process writes into memory that it shares with the one that waits. */
typedef struct child_result {
    ft_status status;
    ft_error error;
    bool is_begun; /* the runtime was loaded */
    ft_measurement measurement;
    char profile[FT_RUNTIME_PATH_SIZE]; /* file of the profile; "": none */
} child_result;

typedef struct child_job {
    const char *path;
    const ft_graph *bound;
    const ft_measure_options *options; /* with the path of the runtime */
    const char *profile_prefix;        /* NULL: no profile */
    child_result *result;
} child_job;

void child_run(const child_job *job);

#endif
