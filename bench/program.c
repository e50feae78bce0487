/* program.c - how fast tuning logs are read and become loops and features, on one core.
 *
 *     build/bench/program LOG...
 *     build/bench/program ask PREDICTOR PROGRAMS LOG...
 *
 * Prints "case,value,unit" lines: megabytes of JSON a second (gunzip is part of it), and programs a second from the
 * line to its loops and to its features; or from the line to what a predictor says of it, for the first so many. Each
 * is done three times, and the fastest is told: what else runs on a shared machine only ever slows it down. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/lines.h"
#include "base/text.h"
#include "foretell/predictor.h"
#include "foretell/program.h"
#include "read/ansor.h"

enum { TURNS = 3, TOGETHER = 64 }; /* programs together: as `foretell program predict` asks */

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Megabytes of records a second. */
static ft_status run_reading(const char *path, double *rate, ft_error *error) {
    ansor_record *record = malloc(sizeof *record);
    lines text;
    const char *line = "";
    size_t length, bytes = 0;
    double started = seconds();
    ft_status status = record != NULL ? lines_open(path, &text, error) : FT_ERR_NOMEM;
    if (status != FT_OK) {
        free(record);
        return status;
    }
    while (status == FT_OK && (status = lines_next(&text, &line, &length, error)) == FT_OK && line != NULL) {
        bool is_record;
        status = ansor_read(line, length, record, &is_record, error);
        bytes += length + 1;
    }
    *rate = (double)bytes * 1e-6 / (seconds() - started);
    lines_close(&text);
    free(record);
    return status;
}

/* Programs a second, from the line on. */
static ft_status run_lowering(const char *path, bool has_features, double *rate, ft_error *error) {
    ft_program_log *log = NULL;
    ft_program *program = NULL;
    ft_program_record record;
    ft_program_features seen;
    double started = seconds(), count = 0;
    ft_status status = ft_program_log_open(path, &log, error);
    if (status == FT_OK) status = ft_program_new(&program, error);
    while (status == FT_OK && (status = ft_program_log_next(log, &record, error)) == FT_OK && record.line > 0) {
        status = ft_program_lower(program, log, error);
        if (has_features && status == FT_OK) status = ft_program_extract_features(program, &seen, error);
        count++;
    }
    *rate = count / (seconds() - started);
    ft_program_free(program);
    ft_program_log_close(log);
    return status;
}

/* Programs that are asked about together. */
typedef struct questions {
    ft_graph *graphs[TOGETHER], *bound[TOGETHER];
    uint32_t count;
} questions;

/* Asks them, and gives them back. */
static ft_status ask(const ft_predictor *predictor, questions *q, double *sum, ft_error *error) {
    ft_result results[TOGETHER];
    ft_error errors[TOGETHER];
    ft_request request = {.device = ft_predictor_device(predictor, 0)};
    ft_status status =
        ft_predictor_predict_many(predictor, (const ft_graph *const *)q->bound, q->count, &request, results, errors);
    for (uint32_t i = 0; i < q->count; i++) {
        if (errors[i].status != FT_OK) {
            *error = errors[i];
        } else {
            *sum += results[i].metrics[0].value;
            ft_result_free(&results[i]);
        }
        ft_graph_free(q->bound[i]);
        ft_graph_free(q->graphs[i]);
    }
    q->count = 0;
    return status;
}

static ft_status add(questions *q, const ft_program_log *log, ft_error *error) {
    char task[FT_PROGRAM_TASK_SIZE];
    uint32_t i = q->count;
    FT_TRY(ft_program_graph(log, &q->graphs[i], task, error));
    FT_TRY(ft_graph_bind(q->graphs[i], &(ft_binding){.batch = 1}, &q->bound[i], error));
    q->count++;
    return FT_OK;
}

/* Programs a second, from the line to the answer. `sum` is of the results, so that two builds can be compared. */
static ft_status run_asking(const char *predictor_path, const char *path, uint32_t together, double most, double *rate,
                            double *sum, ft_error *error) {
    ft_program_log *log = NULL;
    ft_predictor *predictor = NULL;
    ft_program_record record = {.line = 1};
    questions waiting = {.count = 0};
    double count = 0;
    ft_status status = ft_predictor_open(predictor_path, &predictor, error);
    if (status == FT_OK) status = ft_program_log_open(path, &log, error);
    double started = seconds();
    while (status == FT_OK && count < most && record.line > 0) {
        status = ft_program_log_next(log, &record, error);
        if (status == FT_OK && record.line > 0) {
            status = add(&waiting, log, error);
            count++;
        }
        bool is_last = count >= most || record.line == 0;
        if (status == FT_OK && (waiting.count == together || is_last)) status = ask(predictor, &waiting, sum, error);
    }
    *rate = count / (seconds() - started);
    ft_program_log_close(log);
    ft_predictor_free(predictor);
    return status;
}

static const char *name_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static ft_status bench_asking(int argc, char **argv, ft_error *error) {
    double most = 0;
    if (!text_double(argv[3], strlen(argv[3]), &most))
        return ft_fail(error, FT_ERR_USAGE, "'%s' is not a number of programs", argv[3]);
    for (int i = 4; i < argc; i++) {
        double together = 0, alone = 0, sum = 0, sum_alone = 0;
        for (int turn = 0; turn < TURNS; turn++) {
            double rate;
            sum = sum_alone = 0;
            FT_TRY(run_asking(argv[2], argv[i], TOGETHER, most, &rate, &sum, error));
            together = fmax(together, rate);
            FT_TRY(run_asking(argv[2], argv[i], 1, most, &rate, &sum_alone, error));
            alone = fmax(alone, rate);
        }
        printf("%s predictions,%.0f,programs/s\n%s predictions one by one,%.0f,programs/s\n", name_of(argv[i]),
               together, name_of(argv[i]), alone);
        fprintf(stderr, "sums of the results %.17g, %.17g us\n", sum, sum_alone);
    }
    return FT_OK;
}

static ft_status bench_reading(int argc, char **argv, ft_error *error) {
    for (int i = 1; i < argc; i++) {
        const char *name = name_of(argv[i]);
        double reading = 0, lowering = 0, features = 0;
        for (int turn = 0; turn < TURNS; turn++) {
            double rate = 0;
            FT_TRY(run_reading(argv[i], &rate, error));
            reading = fmax(reading, rate);
            FT_TRY(run_lowering(argv[i], false, &rate, error));
            lowering = fmax(lowering, rate);
            FT_TRY(run_lowering(argv[i], true, &rate, error));
            features = fmax(features, rate);
        }
        printf("%s read,%.0f,MB/s\n%s loops,%.0f,programs/s\n%s features,%.0f,programs/s\n", name, reading, name,
               lowering, name, features);
    }
    return FT_OK;
}

int main(int argc, char **argv) {
    ft_error error = {.message = "out of memory"};
    ft_status status =
        argc > 4 && strcmp(argv[1], "ask") == 0 ? bench_asking(argc, argv, &error) : bench_reading(argc, argv, &error);
    if (status != FT_OK) fprintf(stderr, "%s\n", error.message);
    return status != FT_OK;
}
