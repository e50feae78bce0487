/* extrapolation.c - collects statistics of the training and the evaluated models, and writes the folder of plots and
 * tables. */
#include "learn/evaluate/extrapolation.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/csv.h"
#include "base/error.h"
#include "base/outfile.h"
#include "learn/evaluate/select.h"

enum { MAX_PATH = 4096 };

/* --- Statistics ---------------------------------------------------------------------------------------------- */

static bool show_progress(void *user, double done_ratio, const char *what) {
    const ft_extrapolation_options *options = user;
    return options->progress(options->user, (uint64_t)(1000 * done_ratio), 1000, what);
}

/* Collects the statistics of the evaluated models. */
static ft_status collect_evaluated(extrapolation *x, pool *threads, const fit_context *context, ft_error *error) {
    const ft_evaluation *e = x->evaluation;
    uint32_t records = ft_dataset_record_count(x->data);
    fit_row *rows = calloc((size_t)e->case_count + 1, sizeof *rows);
    double *operators = calloc((size_t)e->case_count + 1, sizeof *operators);
    x->operators = calloc((size_t)records + 1, sizeof *x->operators);
    ft_status status = rows == NULL || operators == NULL || x->operators == NULL ? FT_NOMEM(error) : FT_OK;
    for (uint32_t i = 0; status == FT_OK && i < e->case_count; i++)
        rows[i] = (fit_row){.record = e->cases[i].record,
                            .graph = ft_dataset_records(x->data)[e->cases[i].record].graph,
                            .label = e->cases[i].measured};
    if (status == FT_OK)
        status = dataset_stats_collect(&x->here, x->data, (fit_rows){rows, e->case_count}, threads, context, operators,
                                       error);
    for (uint32_t i = 0; status == FT_OK && i < records; i++) x->operators[i] = NAN;
    for (uint32_t i = 0; status == FT_OK && i < e->case_count; i++) x->operators[rows[i].record] = operators[i];
    free(rows);
    free(operators);
    return status;
}

/* Collects the statistics of the training models: single operators only when the family learns from them. */
static ft_status collect_known(extrapolation *x, selection *s, pool *threads, const fit_context *context,
                               ft_error *error) {
    const family *f = predictor_family(s->predictor);
    const ft_record *records = ft_dataset_records(x->trained);
    bool has_operators = family_can(f, FAMILY_OPERATORS);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->count; i++)
        if (has_operators || strcmp(records[s->rows[i].record].part, "support") != 0) s->rows[kept++] = s->rows[i];
    s->count = kept;
    x->known_rows = s->rows;
    x->known_row_count = kept;
    return dataset_stats_collect(&x->known, x->trained, (fit_rows){s->rows, s->count}, threads, context, NULL, error);
}

/* --- Tables -------------------------------------------------------------------------------------------------- */

static ft_status write_table(const char *folder, const char *name, buf *text, ft_error *error) {
    char path[MAX_PATH];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    ft_status status = text->failed ? FT_NOMEM(error) : outfile_write(path, text->data, text->length, error);
    buf_free(text);
    return status;
}

static ft_status write_cases(const extrapolation *x, const char *folder, ft_error *error) {
    buf text = {0};
    buf_text(&text, "name,family,device,operators,measured,predicted,error_percent\n");
    for (uint32_t i = 0; i < x->evaluation->case_count; i++) {
        const ft_case *c = &x->evaluation->cases[i];
        const char *const cells[] = {c->name, c->family, c->device};
        for (int k = 0; k < 3; k++) {
            csv_cell(&text, cells[k]);
            buf_char(&text, ',');
        }
        buf_format(&text, "%.0f,%.9g,%.9g,%.6g\n", x->operators[c->record], c->measured, c->predicted,
                   figure_signed_error(c));
    }
    return write_table(folder, "cases.csv", &text, error);
}

static void write_feature(buf *text, uint32_t feature, const char *side, const log_histogram *s,
                          const log_histogram *known) {
    static const double shares[] = {0, 0.05, 0.25, 0.5, 0.75, 0.95, 1};
    buf_format(text, "%s,%s,%llu", stats_feature_key(feature), side, (unsigned long long)s->count);
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++)
        if (s->count > 0)
            buf_format(text, ",%.6g", log_histogram_quantile(s, shares[i]));
        else
            buf_char(text, ',');
    double outside = known != NULL ? 100 * log_histogram_outside(s, known) : NAN;
    if (isnan(outside))
        buf_text(text, ",\n");
    else
        buf_format(text, ",%.6g\n", outside);
}

static ft_status write_features(const extrapolation *x, const char *folder, ft_error *error) {
    buf text = {0};
    bool is_known = extrapolation_is_known(x);
    buf_text(&text, "feature,models,n,least,q05,q25,median,q75,q95,most,outside_percent\n");
    for (uint32_t i = 0; i < STATS_FEATURES; i++) {
        if (is_known) write_feature(&text, i, "trained", &x->known.features[i], NULL);
        write_feature(&text, i, "evaluated", &x->here.features[i], is_known ? &x->known.features[i] : NULL);
    }
    return write_table(folder, "features.csv", &text, error);
}

/* --- Folder -------------------------------------------------------------------------------------------------- */

typedef ft_status drawing(const extrapolation *x, const char *title, const char *path, ft_error *error);

static ft_status draw_both(const extrapolation *x, drawing *draw, const char *title, const char *folder,
                           const char *name, ft_error *error) {
    static const char *const ends[] = {"svg", "png"};
    for (int i = 0; i < 2; i++) {
        char path[MAX_PATH];
        snprintf(path, sizeof path, "%s/%s.%s", folder, name, ends[i]);
        FT_TRY(draw(x, title, path, error));
    }
    return FT_OK;
}

static ft_status fill_folder(const extrapolation *x, const char *title, const char *folder, ft_error *error) {
    if (strlen(folder) + 32 > MAX_PATH) return ft_fail(error, FT_ERR_USAGE, "%s: the path is too long", folder);
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return ft_fail_file(error, folder, "cannot create the folder", errno);
    FT_TRY(draw_both(x, extrapolation_draw_operators, title, folder, "operators", error));
    FT_TRY(draw_both(x, extrapolation_draw_measured, title, folder, "measured", error));
    FT_TRY(draw_both(x, extrapolation_draw_features, title, folder, "features", error));
    FT_TRY(write_cases(x, folder, error));
    return write_features(x, folder, error);
}

ft_status ft_extrapolation_plot(const ft_predictor *predictor, const ft_dataset *data, const ft_evaluation *evaluation,
                                const ft_extrapolation_options *options, const char *title, const char *folder,
                                ft_error *error) {
    FT_REQUIRE(error, predictor, data, evaluation, options, title, folder);
    if (evaluation->case_count == 0) return ft_fail(error, FT_ERR_USAGE, "%s: no records to plot", folder);
    const fit_context context = {.user = (void *)(uintptr_t)options, .progress = show_progress};
    const fit_context *reported = options->progress != NULL ? &context : NULL;
    extrapolation x = {.evaluation = evaluation, .data = data, .trained = options->trained};
    const ft_evaluate_options wanted = {
        .metric = evaluation->metric, .split = options->trained_split, .part = FT_PART_TRAIN};
    selection known = {0};
    pool *threads = NULL;
    ft_status status = pool_new(options->threads, &threads, error);
    if (status == FT_OK && x.trained != NULL) status = selection_make(predictor, x.trained, &wanted, &known, error);
    if (status == FT_OK && x.trained != NULL) status = collect_known(&x, &known, threads, reported, error);
    if (status == FT_OK) status = collect_evaluated(&x, threads, reported, error);
    if (status == FT_OK) status = fill_folder(&x, title, folder, error);
    dataset_stats_free(&x.known);
    dataset_stats_free(&x.here);
    free(x.operators);
    selection_free(&known);
    pool_free(threads);
    return status;
}
