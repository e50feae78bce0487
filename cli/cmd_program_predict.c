/* cmd_program_predict.c - `foretell program predict`: times of the programs of tuning logs, ranked by task. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "cmd_program.h"
#include "predict_options.h"
#include "program_walk.h"

/* A program that waits for its prediction: programs are predicted in groups. */
typedef struct pending {
    ft_program_result item;
    char task[FT_PROGRAM_TASK_SIZE];
} pending;

typedef struct predicting {
    const program_predict_options *options;
    ft_predictor_set *set;
    const ft_predictor *predictor;
    const char *device; /* of the current log */
    ft_device *sheet;   /* of a device that a file describes; NULL: none */
    ft_program_result *items;
    char **tasks; /* of the items; each has its own */
    uint32_t count, capacity;
    pending waiting[PROGRAM_WALK_ASIDE];
    ft_graph *graphs[PROGRAM_WALK_ASIDE], *bound[PROGRAM_WALK_ASIDE]; /* of those that are waiting */
    uint32_t waiting_count;
} predicting;

/* --- Predicting -------------------------------------------------------------------------------------------------- */

static ft_status keep(predicting *p, const ft_program_result *item, const char *task, ft_error *error) {
    if (p->count == p->capacity) {
        uint32_t larger = p->capacity == 0 ? 1024 : p->capacity * 2;
        ft_program_result *items = realloc(p->items, larger * sizeof *items);
        if (items != NULL) p->items = items;
        char **tasks = realloc(p->tasks, larger * sizeof *tasks);
        if (tasks != NULL) p->tasks = tasks;
        if (items == NULL || tasks == NULL) {
            snprintf(error->message, sizeof error->message, "out of memory");
            return FT_ERR_NOMEM;
        }
        p->capacity = larger;
    }
    char *name = strdup(task);
    if (name == NULL) {
        snprintf(error->message, sizeof error->message, "out of memory");
        return FT_ERR_NOMEM;
    }
    p->tasks[p->count] = name;
    p->items[p->count] = *item;
    p->items[p->count++].task = name;
    return FT_OK;
}

/* Messages of predictors lack the line of the program: it is added. */
static void name_line(const char *path, uint64_t line, ft_error *error) {
    ft_error what = *error;
    snprintf(error->message, sizeof error->message, "%s:%llu: %.200s", path, (unsigned long long)line, what.message);
}

static ft_status keep_prediction(predicting *p, pending *about, ft_result *prediction, ft_error *error) {
    const ft_metric_result *time = &prediction->metrics[0];
    about->item.time_us = time->value;
    about->item.time_lo_us = time->lo;
    about->item.time_hi_us = time->hi;
    ft_result_free(prediction);
    return keep(p, &about->item, about->task, error);
}

static void free_waiting(predicting *p) {
    for (uint32_t i = 0; i < p->waiting_count; i++) {
        ft_graph_free(p->bound[i]);
        ft_graph_free(p->graphs[i]);
    }
    p->waiting_count = 0;
}

/* Predicts the waiting programs. */
static ft_status predict_waiting(void *user, program_walk *w) {
    predicting *p = user;
    ft_result results[PROGRAM_WALK_ASIDE];
    ft_error errors[PROGRAM_WALK_ASIDE];
    ft_status status = FT_OK;
    ft_predictor_predict_many(p->predictor, (const ft_graph *const *)p->bound, p->waiting_count,
                              &(ft_request){.device = p->device, .sheet = p->sheet}, results, errors);
    for (uint32_t i = 0; i < p->waiting_count; i++) {
        pending *about = &p->waiting[i];
        bool is_predicted = errors[i].status == FT_OK;
        if (status == FT_OK && is_predicted)
            errors[i].status = keep_prediction(p, about, &results[i], &errors[i]);
        else if (is_predicted)
            ft_result_free(&results[i]);
        else
            name_line(about->item.file, about->item.line, &errors[i]);
        if (status == FT_OK && errors[i].status != FT_OK) status = program_walk_fail(w, errors[i].status, &errors[i]);
    }
    free_waiting(p);
    return status;
}

static ft_status predict_record(void *user, const char *path, const ft_program_log *log,
                                const ft_program_record *record, ft_error *error) {
    predicting *p = user;
    pending *next = &p->waiting[p->waiting_count];
    ft_graph *graph = NULL;
    next->item = (ft_program_result){
        .file = path, .line = record->line, .device = p->device, .measured_us = record->seconds * 1e6};
    ft_status status = ft_program_graph(log, &graph, next->task, error);
    if (status == FT_OK) {
        status = ft_graph_bind(graph, &(ft_binding){.batch = 1}, &p->bound[p->waiting_count], error);
        if (status != FT_OK) name_line(path, record->line, error);
    }
    if (status == FT_OK)
        p->graphs[p->waiting_count++] = graph;
    else
        ft_graph_free(graph);
    return status;
}

/* --- Ranks --------------------------------------------------------------------------------------------------- */

static int by_place_and_time(const void *a, const void *b) {
    const ft_program_result *x = *(const ft_program_result *const *)a, *y = *(const ft_program_result *const *)b;
    int order = strcmp(x->task, y->task);
    if (order == 0) order = strcmp(x->device, y->device);
    if (order != 0) return order;
    if (x->time_us != y->time_us) return x->time_us < y->time_us ? -1 : 1;
    return (x > y) - (x < y);
}

static bool is_same_place(const ft_program_result *a, const ft_program_result *b) {
    return strcmp(a->task, b->task) == 0 && strcmp(a->device, b->device) == 0;
}

/* The programs of a task that are kept so far. */
typedef struct picks {
    uint32_t count;
    double time_us; /* of the last */
} picks;

static bool is_kept(const program_predict_options *o, const ft_program_result *item, const picks *before) {
    if (o->pick == 0) return o->top == 0 || item->rank <= o->top;
    return before->count < o->pick && (before->count == 0 || ft_task_is_apart(before->time_us, item->time_us));
}

/* Numbers the programs of each task on a device; with --rank, --top or --pick they are also put into that order, and
 * cut. */
static ft_status rank(predicting *p) {
    const program_predict_options *o = p->options;
    picks of_task = {0};
    ft_program_result **sorted = calloc((size_t)p->count + 1, sizeof *sorted);
    ft_program_result *ordered = calloc((size_t)p->count + 1, sizeof *ordered);
    if (sorted == NULL || ordered == NULL) {
        free(sorted);
        free(ordered);
        return cli_fail(FT_ERR_NOMEM, "out of memory");
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < p->count; i++) sorted[i] = &p->items[i];
    qsort(sorted, p->count, sizeof *sorted, by_place_and_time);
    for (uint32_t i = 0; i < p->count; i++) {
        bool is_first = i == 0 || !is_same_place(sorted[i], sorted[i - 1]);
        sorted[i]->rank = is_first ? 1 : sorted[i - 1]->rank + 1;
        if (is_first) of_task = (picks){0};
        if (!is_kept(o, sorted[i], &of_task)) continue;
        of_task = (picks){.count = of_task.count + 1, .time_us = sorted[i]->time_us};
        ordered[kept++] = *sorted[i];
    }
    free(sorted);
    if (o->is_ranked || o->top > 0 || o->pick > 0) {
        free(p->items);
        p->items = ordered;
        p->count = kept;
    } else {
        free(ordered);
    }
    return FT_OK;
}

/* --- The action ---------------------------------------------------------------------------------------------- */

static ft_status open_predictor(predicting *p) {
    const program_predict_options *o = p->options;
    ft_error error;
    ft_status status = ft_predictor_set_open_programs(&o->predictor, o->predictor != NULL, &p->set, &error);
    if (status != FT_OK) return cli_fail(status, "%s", error.message);
    p->predictor = ft_predictor_set_at(p->set, 0);
    return FT_OK;
}

/* "gpu"; "" for a device without a data sheet. */
static void kind_of(const char *device, char kind[static 16]) {
    ft_device *sheet = NULL;
    ft_error error;
    bool is_open = ft_device_open(device, &sheet, &error) == FT_OK;
    snprintf(kind, 16, "%s", is_open ? ft_device_kind(sheet) : "");
    ft_device_free(sheet);
}

/* Programs for one kind of devices do not run on another, whatever a data sheet suggests. */
static bool is_of_a_known_kind(const predicting *p) {
    char own[16], known[16];
    kind_of(p->device, own);
    if (p->sheet != NULL) snprintf(own, sizeof own, "%s", ft_device_kind(p->sheet));
    for (uint32_t i = 0; i < ft_predictor_device_count(p->predictor); i++) {
        kind_of(ft_predictor_device(p->predictor, i), known);
        if (strcmp(own, known) == 0) return true;
    }
    return false;
}

static bool is_trained_on(const predicting *p, const char *device) {
    for (uint32_t i = 0; i < ft_predictor_device_count(p->predictor); i++)
        if (strcmp(ft_predictor_device(p->predictor, i), device) == 0) return true;
    return false;
}

/* An unknown device is reported once, not for every line. */
static ft_status check_device(const predicting *p) {
    bool is_own = is_trained_on(p, p->device), has_sheet = p->sheet != NULL && ft_predictor_reads_sheets(p->predictor);
    const char *first = ft_predictor_device(p->predictor, 0);
    uint32_t others = ft_predictor_device_count(p->predictor) - 1;
    if (is_own) return FT_OK;
    if ((has_sheet || ft_predictor_knows(p->predictor, p->device)) && is_of_a_known_kind(p)) return FT_OK;
    return cli_fail(FT_ERR_USAGE, "the predictor does not cover programs on '%s'; it was trained on %s%s", p->device,
                    first, others > 0 ? " and others of its kind" : "");
}

/* The canonical name. */
static const char *proper_name(const predicting *p, const char *device) {
    if (device != NULL && is_trained_on(p, device)) return device;
    const char *name = device != NULL ? ft_device_canonical(device) : NULL;
    if (device != NULL && name == NULL) name = ft_device_match(device);
    return name != NULL ? name : device;
}

/* A device that a file describes. */
static ft_status open_sheet(predicting *p) {
    if (p->sheet != NULL) return FT_OK; /* of the log before */
    ft_error error;
    if (ft_device_open_file(p->options->device, &p->sheet, &error) != FT_OK)
        return cli_fail(error.status, "%s", error.message);
    p->device = ft_device_name(p->sheet);
    return FT_OK;
}

static ft_status choose_device(predicting *p, const char *log) {
    const program_predict_options *o = p->options;
    if (o->device != NULL && ft_device_is_file(o->device)) return open_sheet(p);
    p->device = proper_name(p, o->device);
    if (p->device == NULL && ft_predictor_device_count(p->predictor) == 1)
        p->device = ft_predictor_device(p->predictor, 0);
    if (p->device != NULL) return FT_OK;
    p->device = ft_device_of_file(log);
    if (p->device == NULL)
        return cli_fail(FT_ERR_USAGE, "%s: no device: give it with --device, as %s", log,
                        ft_predictor_device(p->predictor, 0));
    if (!o->is_quiet) cli_note("%s: predicted for %s, by the name of the log", log, p->device);
    return FT_OK;
}

ft_status program_predict(const program_predict_options *options, const output *out) {
    predicting p = {.options = options};
    ft_error error;
    program_walk w = {.visit = predict_record,
                      .flush = predict_waiting,
                      .user = &p,
                      .out = out,
                      .every = options->every,
                      .is_strict = options->is_strict,
                      .is_quiet = options->is_quiet};
    ft_status status = open_predictor(&p);
    for (uint32_t i = 0; i < options->log_count && status == FT_OK; i++) {
        status = choose_device(&p, options->logs[i]);
        if (status == FT_OK) status = check_device(&p);
        if (status == FT_OK) status = program_walk_log(&w, options->logs[i]);
    }
    uint32_t made = p.count;
    if (status == FT_OK) status = rank(&p);
    if (status == FT_OK && made == 0) status = cli_fail(FT_ERR_FORMAT, "no program in the log can be predicted");
    if (status == FT_OK) {
        status = ft_report_programs(out->stream, options->style, p.items, p.count, &error);
        if (status != FT_OK) output_fail(out, status, NULL, &error);
    }
    if (status == FT_OK) status = program_walk_end(&w);
    for (uint32_t i = 0; i < made; i++) free(p.tasks[i]);
    free(p.tasks);
    free(p.items);
    free_waiting(&p);
    ft_predictor_set_free(p.set);
    ft_device_free(p.sheet);
    return status;
}
