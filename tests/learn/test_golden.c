/* Files of this and of earlier versions (tests/golden/VERSION, made by scripts/make-golden): data sets and predictors
 * of all families open, and predict what they predicted when they were written.
 *
 * GOLDEN_WRITE=1 writes expected.csv into a folder that has none. */
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "foretell/dataset.h"
#include "foretell/learn.h"

enum { PATH_BYTES = 600, EVERY = 5, MIN_FILES = 20 };

static const char root[] = "tests/golden", head[] = "file,metric,record,device,value,lo,hi\n";
static const double TOLERANCE = 1e-6;

/* A predicted case, as a line of expected.csv. */
typedef struct golden_case {
    char file[300], metric[64], device[64];
    unsigned record;
    double value, lo, hi;
} golden_case;

/* The cases of a folder are read from `expected`, or written to it. */
typedef struct golden_folder {
    char path[PATH_BYTES];
    FILE *expected;
    bool is_written;
    uint32_t files, cases;
} golden_folder;

static bool is_near(double a, double b) {
    return (isnan(a) && isnan(b)) || fabs(a - b) <= TOLERANCE * fabs(b);
}

static void compare(golden_folder *g, const golden_case *found) {
    golden_case e = {.file = ""};
    int fields = fscanf(g->expected, " %299[^,],%63[^,],%u,%63[^,],%lf,%lf,%lf", e.file, e.metric, &e.record, e.device,
                        &e.value, &e.lo, &e.hi);
    if (fields != 7) fail_msg("%s: expected.csv ends before %s, record %u", g->path, found->file, found->record);
    if (strcmp(e.file, found->file) != 0 || strcmp(e.metric, found->metric) != 0 || e.record != found->record ||
        strcmp(e.device, found->device) != 0)
        fail_msg("%s: record %u of %s (%s on %s) is predicted instead of record %u of %s (%s on %s)", g->path,
                 found->record, found->file, found->metric, found->device, e.record, e.file, e.metric, e.device);
    if (!is_near(found->value, e.value) || !is_near(found->lo, e.lo) || !is_near(found->hi, e.hi))
        fail_msg("%s: %s predicts %.9g (%.9g to %.9g) for record %u, and once predicted %.9g (%.9g to %.9g)", g->path,
                 e.file, found->value, found->lo, found->hi, e.record, e.value, e.lo, e.hi);
}

/* Some cases of each metric are enough. */
static void check_cases(golden_folder *g, const char *file, const ft_evaluation *found) {
    for (; found != NULL; found = found->next) {
        for (uint32_t i = 0; i < found->case_count; i += EVERY) {
            const ft_case *c = &found->cases[i];
            golden_case made = {.record = c->record, .value = c->predicted, .lo = c->lo, .hi = c->hi};
            snprintf(made.file, sizeof made.file, "%s", file);
            snprintf(made.metric, sizeof made.metric, "%s", found->metric);
            snprintf(made.device, sizeof made.device, "%s", c->device);
            if (g->is_written)
                fprintf(g->expected, "%s,%s,%u,%s,%.9g,%.9g,%.9g\n", made.file, made.metric, made.record, made.device,
                        made.value, made.lo, made.hi);
            else
                compare(g, &made);
            g->cases++;
        }
    }
}

/* DATA-FAMILY.ftm predicts the records of DATA. */
static void check_file(golden_folder *g, const char *file) {
    char path[PATH_BYTES + 300], data_path[PATH_BYTES + 300];
    ft_predictor *predictor;
    ft_dataset *data;
    ft_evaluation found;
    ft_error error;
    snprintf(path, sizeof path, "%s/%s", g->path, file);
    snprintf(data_path, sizeof data_path, "%s/%.*s", g->path, (int)strcspn(file, "-"), file);
    if (ft_dataset_open(data_path, &data, &error) != FT_OK) fail_msg("%s", error.message);
    if (ft_dataset_check(data_path, NULL, NULL, &error) != FT_OK) fail_msg("%s: %s", data_path, error.message);
    if (ft_predictor_open(path, &predictor, &error) != FT_OK) fail_msg("%s", error.message);
    const ft_evaluate_options options = {.threads = 1};
    if (ft_evaluate(predictor, data, &options, &found, &error) != FT_OK) fail_msg("%s: %s", path, error.message);
    check_cases(g, file, &found);
    g->files++;
    ft_evaluation_free(&found);
    ft_predictor_free(predictor);
    ft_dataset_free(data);
}

static void open_expected(golden_folder *g) {
    char path[PATH_BYTES + 300], line[sizeof head];
    snprintf(path, sizeof path, "%s/expected.csv", g->path);
    g->is_written = access(path, F_OK) != 0 && getenv("GOLDEN_WRITE") != NULL;
    g->expected = fopen(path, g->is_written ? "w" : "r");
    if (g->expected == NULL) fail_msg("%s: cannot be opened", path);
    if (g->is_written)
        fputs(head, g->expected);
    else
        assert_string_equal(fgets(line, sizeof line, g->expected), head);
}

static int by_name(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void check_folder(golden_folder *g) {
    struct dirent **names;
    int count = scandir(g->path, &names, NULL, by_name), rest;
    assert_true(count > 0);
    open_expected(g);
    for (int i = 0; i < count; i++) {
        const char *dot = strrchr(names[i]->d_name, '.');
        if (dot != NULL && strcmp(dot, ".ftm") == 0) check_file(g, names[i]->d_name);
        free(names[i]);
    }
    free(names);
    while ((rest = fgetc(g->expected)) == '\n') continue;
    assert_true(g->is_written || rest == EOF); /* all were predicted */
    assert_int_equal(fclose(g->expected), 0);
    assert_true(g->files >= MIN_FILES && g->cases > g->files);
}

static void files_of_all_versions_predict_what_they_did(void **state) {
    (void)state;
    struct dirent **names;
    int count = scandir(root, &names, NULL, by_name), folders = 0;
    assert_true(count > 0);
    for (int i = 0; i < count; i++) {
        golden_folder g = {.files = 0};
        snprintf(g.path, sizeof g.path, "%s/%s", root, names[i]->d_name);
        if (names[i]->d_name[0] != '.') {
            check_folder(&g);
            folders++;
        }
        free(names[i]);
    }
    free(names);
    assert_true(folders >= 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(files_of_all_versions_predict_what_they_did)};
    return cmocka_run_group_tests_name("learn/golden", tests, NULL, NULL);
}
