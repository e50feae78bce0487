/* program.c - how fast tuning logs are read and become loops and features, on one core.
 *
 *     build/bench/program LOG...
 *
 * Prints "case,value,unit" lines: megabytes of JSON a second (gunzip is part of it), and programs a second from the
 * line to its loops and to its features. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/lines.h"
#include "foretell/program.h"
#include "read/ansor.h"

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
        if (has_features && status == FT_OK) status = ft_program_see(program, &seen, error);
        count++;
    }
    *rate = count / (seconds() - started);
    ft_program_free(program);
    ft_program_log_close(log);
    return status;
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *name = strrchr(argv[i], '/');
        double reading = 0, lowering = 0, features = 0;
        ft_error error = {.message = "out of memory"};
        ft_status status = run_reading(argv[i], &reading, &error);
        if (status == FT_OK) status = run_lowering(argv[i], false, &lowering, &error);
        if (status == FT_OK) status = run_lowering(argv[i], true, &features, &error);
        if (status != FT_OK) {
            fprintf(stderr, "%s\n", error.message);
            return 1;
        }
        name = name != NULL ? name + 1 : argv[i];
        printf("%s read,%.0f,MB/s\n%s loops,%.0f,programs/s\n%s features,%.0f,programs/s\n", name, reading, name,
               lowering, name, features);
    }
    return 0;
}
