/* program.c - speed of reading tuning logs, lowering programs, extracting features and predicting, on one core.
 *
 *     build/bench/program LOG...
 *     build/bench/program predict PREDICTOR PROGRAMS LOG...
 *
 * Prints "case,value,unit" lines: megabytes of JSON a second (with gunzip), and programs a second from the line to
 * its loops and to its features; or from the line to its predicted time, for the first PROGRAMS. The value is the
 * fastest of three runs, which other load disturbs least. */
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

enum { ROUNDS = 3, GROUP = 64 }; /* programs a call, as in `foretell program predict` */

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

/* Programs a second, from the line to loops or features. */
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

/* Programs that are predicted in one call. */
typedef struct program_group {
    ft_graph *graphs[GROUP], *bound[GROUP];
    uint32_t count;
} program_group;

/* Predicts them, and frees them. */
static ft_status predict(const ft_predictor *predictor, program_group *q, double *sum, ft_error *error) {
    ft_result results[GROUP];
    ft_error errors[GROUP];
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

static ft_status add(program_group *q, const ft_program_log *log, ft_error *error) {
    char task[FT_PROGRAM_TASK_SIZE];
    uint32_t i = q->count;
    FT_TRY(ft_program_graph(log, &q->graphs[i], task, error));
    FT_TRY(ft_graph_bind(q->graphs[i], &(ft_binding){.batch = 1}, &q->bound[i], error));
    q->count++;
    return FT_OK;
}

/* Programs a second, from the line to the result. `sum` is that of the times, so that two builds can be compared. */
static ft_status run_predicting(const char *predictor_path, const char *path, uint32_t group_size, double max_count,
                                double *rate, double *sum, ft_error *error) {
    ft_program_log *log = NULL;
    ft_predictor *predictor = NULL;
    ft_program_record record = {.line = 1};
    program_group waiting = {.count = 0};
    double count = 0;
    ft_status status = ft_predictor_open(predictor_path, &predictor, error);
    if (status == FT_OK) status = ft_program_log_open(path, &log, error);
    double started = seconds();
    while (status == FT_OK && count < max_count && record.line > 0) {
        status = ft_program_log_next(log, &record, error);
        if (status == FT_OK && record.line > 0) {
            status = add(&waiting, log, error);
            count++;
        }
        bool is_last = count >= max_count || record.line == 0;
        if (status == FT_OK && (waiting.count == group_size || is_last))
            status = predict(predictor, &waiting, sum, error);
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

static ft_status bench_predicting(int argc, char **argv, ft_error *error) {
    double max_count = 0;
    if (!text_double(argv[3], strlen(argv[3]), &max_count))
        return ft_fail(error, FT_ERR_USAGE, "'%s' is not a number of programs", argv[3]);
    for (int i = 4; i < argc; i++) {
        double grouped = 0, alone = 0, sum = 0, sum_alone = 0;
        for (int round = 0; round < ROUNDS; round++) {
            double rate;
            sum = sum_alone = 0;
            FT_TRY(run_predicting(argv[2], argv[i], GROUP, max_count, &rate, &sum, error));
            grouped = fmax(grouped, rate);
            FT_TRY(run_predicting(argv[2], argv[i], 1, max_count, &rate, &sum_alone, error));
            alone = fmax(alone, rate);
        }
        printf("%s predictions,%.0f,programs/s\n%s predictions one by one,%.0f,programs/s\n", name_of(argv[i]), grouped,
               name_of(argv[i]), alone);
        fprintf(stderr, "sums of the results %.17g, %.17g us\n", sum, sum_alone);
    }
    return FT_OK;
}

static ft_status bench_reading(int argc, char **argv, ft_error *error) {
    for (int i = 1; i < argc; i++) {
        const char *name = name_of(argv[i]);
        double reading = 0, lowering = 0, features = 0;
        for (int round = 0; round < ROUNDS; round++) {
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
    ft_status status = argc > 4 && strcmp(argv[1], "predict") == 0 ? bench_predicting(argc, argv, &error)
                                                                   : bench_reading(argc, argv, &error);
    if (status != FT_OK) fprintf(stderr, "%s\n", error.message);
    return status != FT_OK;
}
