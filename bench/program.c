/* program.c - how fast tuning logs become loops and features, on one core.
 *
 *     build/bench/program LOG... */
#include <stdio.h>
#include <time.h>

#include "foretell/program.h"

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

typedef enum depth { READ, LOWER, FEATURES } depth;

/* Records per second of reading alone, with lowering, with features; 0 when something fails. */
static double run(const char *path, depth depth, ft_error *error) {
    ft_program_log *log = NULL;
    ft_program *program = NULL;
    ft_program_record record;
    ft_program_features seen;
    double started = seconds(), count = 0;
    ft_status status = ft_program_log_open(path, &log, error);
    if (status == FT_OK) status = ft_program_new(&program, error);
    while (status == FT_OK && (status = ft_program_log_next(log, &record, error)) == FT_OK && record.line > 0) {
        if (depth >= LOWER) status = ft_program_lower(program, log, error);
        if (depth >= FEATURES && status == FT_OK) status = ft_program_see(program, &seen, error);
        count++;
    }
    ft_program_free(program);
    ft_program_log_close(log);
    return status == FT_OK ? count / (seconds() - started) : 0;
}

int main(int argc, char **argv) {
    static const char *const names[] = {"read", "lowered", "features"};
    ft_error error;
    printf("log,what,programs_per_s\n");
    for (int i = 1; i < argc; i++) {
        for (depth d = READ; d <= FEATURES; d++) {
            double rate = run(argv[i], d, &error);
            if (rate == 0) {
                fprintf(stderr, "%s\n", error.message);
                return 1;
            }
            printf("%s,%s,%.0f\n", argv[i], names[d], rate);
        }
    }
    return 0;
}
