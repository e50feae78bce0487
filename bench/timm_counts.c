/* timm_counts.c - parameters and MACs of real image models compared with published counts.
 *
 *     timm_counts FOLDER > bench/results/timm_counts.csv
 *
 * FOLDER holds benchmark.csv.gz (columns graph, gmacs, macts, param_m) and graphs/. A graph has many rows; the value
 * of most of them is used, since a few have attention kernels that the published counter leaves out.
 * That counter also counts normalisation, as 2 a batch-normalised element and 5 for the other norms: the row
 * "macs_norm" adds the same to our MACs, "macs" does not. Writes a summary, then the graphs that miss a target. */
#include <foretell/foretell.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { FIELD_MAX = 24, MAX_FIELDS = 32, METRICS = 4 };
enum { PARAMS, MACS, MACS_NORM, ACTS };
static const char *const metric_names[METRICS] = {"params", "macs", "macs_norm", "activations"};
static const double tolerances[METRICS] = {0.02, 0.05, 0.05, 0.05};
static const double targets[METRICS] = {0.90, 0.95, 0.95, 0};
static const double min_gmacs = 0.2; /* below, two decimals are too coarse */

typedef struct row {
    char *graph;
    char gmacs[FIELD_MAX], macts[FIELD_MAX], param_m[FIELD_MAX];
} row;

typedef struct rows {
    row *items;
    size_t count, capacity;
} rows;

typedef struct result {
    const char *graph;
    double ours[METRICS], theirs[METRICS]; /* theirs 0: not published */
} result;

static _Noreturn void stop(const char *what, const char *why) {
    fprintf(stderr, "timm_counts: %s: %s\n", what, why);
    exit(1);
}

/* --- Published counts ---------------------------------------------------------------------------------------- */

static int split(char *line, char **fields) {
    int count = 0;
    line[strcspn(line, "\r\n")] = '\0';
    while (line != NULL && count < MAX_FIELDS) fields[count++] = strsep(&line, ",");
    return count;
}

static int column(char **names, int count, const char *name) {
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0) return i;
    stop("no such column", name);
}

static void add_row(rows *all, char **fields, const int *at) {
    if (all->count == all->capacity) {
        all->capacity = all->capacity ? 2 * all->capacity : 4096;
        all->items = realloc(all->items, all->capacity * sizeof *all->items);
        if (all->items == NULL) stop("rows", "out of memory");
    }
    row *r = &all->items[all->count++];
    *r = (row){.graph = strdup(fields[at[0]])};
    if (r->graph == NULL) stop("rows", "out of memory");
    snprintf(r->gmacs, sizeof r->gmacs, "%s", fields[at[1]]);
    snprintf(r->macts, sizeof r->macts, "%s", fields[at[2]]);
    snprintf(r->param_m, sizeof r->param_m, "%s", fields[at[3]]);
}

static int by_graph(const void *a, const void *b) {
    return strcmp(((const row *)a)->graph, ((const row *)b)->graph);
}

static rows read_rows(const char *path) {
    rows all = {0};
    char line[4096], *fields[MAX_FIELDS];
    gzFile file = gzopen(path, "rb");
    if (file == NULL || gzgets(file, line, sizeof line) == NULL) stop(path, "cannot be read");
    int width = split(line, fields);
    int at[] = {column(fields, width, "graph"), column(fields, width, "gmacs"), column(fields, width, "macts"),
                column(fields, width, "param_m")};
    while (gzgets(file, line, sizeof line) != NULL)
        if (split(line, fields) == width && fields[at[0]][0] != '\0') add_row(&all, fields, at);
    gzclose(file);
    if (all.count == 0) stop(path, "names no graphs");
    qsort(all.items, all.count, sizeof *all.items, by_graph);
    return all;
}

/* The most frequent value of the rows of a graph; 0 when there is none. `offset`: of the field in a row. */
static double majority(const row *first, size_t count, size_t offset) {
    const char *best = NULL;
    size_t best_votes = 0;
    for (size_t i = 0; i < count; i++) {
        const char *value = (const char *)&first[i] + offset;
        size_t votes = 0;
        for (size_t k = 0; k < count; k++) votes += strcmp(value, (const char *)&first[k] + offset) == 0;
        if (value[0] == '\0' || votes <= best_votes) continue;
        best = value;
        best_votes = votes;
    }
    return best == NULL ? 0 : strtod(best, NULL);
}

/* --- Counts of foretell -------------------------------------------------------------------------------------- */

static double norm_count(const ft_graph *bound) {
    double count = 0;
    const ft_op *ops = ft_graph_ops(bound);
    for (uint32_t i = 0; i < ft_graph_op_count(bound); i++) {
        const char *name = ft_opdef_name(ops[i].def);
        if (ops[i].is_folded || strstr(name, "Normalization") == NULL) continue;
        double factor = strcmp(name, "BatchNormalization") == 0 ? 2 : 5;
        count += factor * (double)ft_tensor_elems(bound, &ft_graph_tensors(bound)[ops[i].outputs[0]]);
    }
    return count;
}

static void count_ours(const char *path, double *ours) {
    ft_error error;
    ft_graph *model = NULL, *bound = NULL;
    ft_cost cost = {0};
    ft_cost_options options = ft_cost_options_default();
    ft_status status = ft_graph_read(path, &model, &error);
    if (!status) status = ft_graph_bind(model, NULL, &bound, &error);
    if (!status) status = ft_cost_compute(bound, &options, &cost, &error);
    if (status) stop(path, error.message);
    ours[PARAMS] = (double)cost.total.params / 1e6;
    ours[MACS] = (double)cost.total.forward.macs / 1e9;
    ours[MACS_NORM] = ours[MACS] + norm_count(bound) / 1e9;
    ours[ACTS] = (double)cost.conv_matmul_outputs / 1e6;
    ft_cost_free(&cost);
    ft_graph_free(bound);
    ft_graph_free(model);
}

static result compare(const char *folder, const row *first, size_t count) {
    result r = {.graph = first->graph};
    char path[4096];
    snprintf(path, sizeof path, "%s/graphs/%s", folder, first->graph);
    count_ours(path, r.ours);
    r.theirs[PARAMS] = majority(first, count, offsetof(row, param_m));
    r.theirs[MACS] = r.theirs[MACS_NORM] = majority(first, count, offsetof(row, gmacs));
    r.theirs[ACTS] = majority(first, count, offsetof(row, macts));
    return r;
}

/* --- Output -------------------------------------------------------------------------------------------------- */

static bool is_counted(const result *r, int metric) {
    return r->theirs[metric] > 0 && (metric == PARAMS || r->theirs[MACS] > min_gmacs);
}

static double error_of(const result *r, int metric) {
    return r->ours[metric] / r->theirs[metric] - 1;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool summarise(const result *results, size_t count, int metric) {
    double *errors = calloc(count, sizeof *errors);
    if (errors == NULL) stop("summary", "out of memory");
    size_t n = 0, within = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_counted(&results[i], metric)) continue;
        errors[n] = fabs(error_of(&results[i], metric));
        within += errors[n++] <= tolerances[metric];
    }
    qsort(errors, n, sizeof *errors, by_value);
    double share = n > 0 ? (double)within / (double)n : 0;
    printf("%s,%zu,%g,%.4f,%g", metric_names[metric], n, tolerances[metric], share, targets[metric]);
    static const double quantiles[] = {0.5, 0.75, 0.9, 0.95, 0.99, 1};
    for (size_t q = 0; q < sizeof quantiles / sizeof quantiles[0]; q++)
        printf(",%.4f", n > 0 ? errors[(size_t)(quantiles[q] * (double)(n - 1))] : 0);
    printf("\n");
    free(errors);
    return share >= targets[metric];
}

static void list_misses(const result *results, size_t count, int metric) {
    for (size_t i = 0; i < count; i++) {
        const result *r = &results[i];
        if (!is_counted(r, metric) || fabs(error_of(r, metric)) <= tolerances[metric]) continue;
        printf("%s,%s,%.4f,%.4f,%+.4f\n", metric_names[metric], r->graph, r->ours[metric], r->theirs[metric],
               error_of(r, metric));
    }
}

int main(int argc, char **argv) {
    if (argc != 2) stop("usage", "timm_counts FOLDER");
    char path[4096];
    snprintf(path, sizeof path, "%s/benchmark.csv.gz", argv[1]);
    rows all = read_rows(path);
    result *results = calloc(all.count + 1, sizeof *results);
    if (results == NULL) stop("results", "out of memory");
    size_t count = 0;
    for (size_t i = 0, next; i < all.count; i = next) {
        for (next = i + 1; next < all.count && strcmp(all.items[next].graph, all.items[i].graph) == 0;) next++;
        results[count++] = compare(argv[1], &all.items[i], next - i);
    }
    bool is_met = true;
    printf("metric,graphs,tolerance,share_within,target,p50,p75,p90,p95,p99,max\n");
    for (int metric = 0; metric < METRICS; metric++) is_met = summarise(results, count, metric) && is_met;
    printf("\nmetric,graph,ours,theirs,relative_error\n");
    list_misses(results, count, PARAMS);
    list_misses(results, count, MACS_NORM);
    for (size_t i = 0; i < all.count; i++) free(all.items[i].graph);
    free(all.items);
    free(results);
    return is_met ? 0 : 1;
}
