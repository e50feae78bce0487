/* task_median.c - the family "task-median": every program of a task is predicted by the median of the task, whatever
 * its schedule; an unknown task by the median over all tasks. A baseline: a predictor that is not better has learned
 * nothing about schedules. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/families.h"
#include "predictor/core/family_common.h"
#include "predictor/core/scan.h"
#include "predictor/program/program_features.h"

/* params: {"tasks": {TASK: [median by device, null where the device has no program of it]}, "all": [...]} */
typedef struct median_model {
    json_t *params;
} median_model;

enum { MAX_TASK = 512 };

static const double MAX_MEDIAN_US = 1e18;

static ft_status task_of(model_view *s, arena *memory, char task[static MAX_TASK], ft_error *error) {
    program_source *source;
    FT_TRY(program_source_new(s, memory, &source, error));
    int length = snprintf(task, MAX_TASK, "%s%s", source->record.workload, source->record.fused);
    if (length > 0 && length < MAX_TASK) return FT_OK;
    return ft_fail(error, FT_ERR_LIMIT, "the key of the workload is longer than 511 bytes");
}

/* --- Fitting ------------------------------------------------------------------------------------------------- */

typedef struct gathering {
    const fit_set *set;
    json_t *tasks; /* arrays of labels by device */
} gathering;

static ft_status visit(void *user, const scan_item *item, model_view *s, uint32_t worker, buf *found, ft_error *error) {
    char task[MAX_TASK];
    (void)user;
    (void)item;
    (void)worker;
    FT_TRY(task_of(s, &s->memory, task, error));
    buf_text(found, task);
    return FT_OK;
}

/* The list of labels of a task on a device. */
static json_t *labels_of(json_t *tasks, const char *task, uint32_t device, uint32_t device_count) {
    json_t *lists = json_object_get(tasks, task);
    if (lists == NULL) {
        lists = json_array();
        for (uint32_t i = 0; i < device_count; i++) lists = json_list_with(lists, json_array());
        if (!json_put(tasks, task, lists)) return NULL;
    }
    return json_array_get(lists, device);
}

static ft_status gather(void *user, const scan_item *item, const buf *found, ft_error *error) {
    gathering *g = user;
    for (uint32_t i = 0; i < item->row_count; i++) {
        const fit_row *row = &g->set->train.items[item->rows[i]];
        json_t *own = labels_of(g->tasks, found->data, row->device, g->set->device_count);
        json_t *all = labels_of(g->tasks, "", row->device, g->set->device_count);
        if (!json_add(own, json_real(row->label)) || !json_add(all, json_real(row->label))) return FT_NOMEM(error);
    }
    return FT_OK;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A new number, or null for an empty list; NULL when out of memory. */
static json_t *median_of(const json_t *numbers) {
    assert(json_is_array(numbers));
    size_t count = json_array_size(numbers);
    if (count == 0) return json_null();
    double *values = calloc(count, sizeof *values);
    if (values == NULL) return NULL;
    for (size_t i = 0; i < count; i++) values[i] = json_real_value(json_array_get(numbers, i));
    qsort(values, count, sizeof *values, by_size);
    double median = (values[(count - 1) / 2] + values[count / 2]) / 2;
    free(values);
    return json_real(median);
}

static ft_status replace_by_medians(json_t *tasks, ft_error *error) {
    const char *task;
    json_t *lists;
    json_object_foreach(tasks, task, lists) {
        for (size_t i = 0; i < json_array_size(lists); i++) {
            if (!json_replace(lists, i, median_of(json_array_get(lists, i)))) return FT_NOMEM(error);
        }
    }
    return FT_OK;
}

static void free_model(void *model) {
    median_model *m = model;
    if (m == NULL) return;
    json_decref(m->params);
    free(m);
}

static ft_status fit(const fit_set *set, const fit_context *context, void **out, ft_error *error) {
    FT_TRY(fit_set_check(set, error));
    median_model *m = calloc(1, sizeof *m);
    json_t *tasks = json_object();
    if (m != NULL) m->params = json_pack("{s:o}", "tasks", tasks);
    if (m == NULL || m->params == NULL) {
        free_model(m);
        return FT_NOMEM(error);
    }
    gathering g = {.set = set, .tasks = tasks};
    scan_job job = {.threads = context->threads,
                    .visit = visit,
                    .gather = gather,
                    .user = &g,
                    .context = context,
                    .to = 1,
                    .what = "reading programs"};
    ft_status status = scan_once(set->data, set->train, &job, error);
    if (status == FT_OK) status = replace_by_medians(tasks, error);
    if (status == FT_OK)
        *out = m;
    else
        free_model(m);
    return status;
}

/* --- Saving, loading, predicting ----------------------------------------------------------------------------- */

static ft_status save(const void *model, json_t **params, float_block *block, ft_error *error) {
    const median_model *m = model;
    (void)block;
    *params = json_clone(m->params);
    return *params != NULL ? FT_OK : FT_NOMEM(error);
}

static bool is_valid_task(const json_t *medians, uint32_t device_count) {
    if (!json_is_array(medians) || json_array_size(medians) != device_count) return false;
    for (uint32_t i = 0; i < device_count; i++) {
        const json_t *median = json_array_get(medians, i);
        double value = json_is_number(median) ? json_number_value(median) : 1;
        if (!(json_is_null(median) || json_is_number(median)) || !(value > 0 && value <= MAX_MEDIAN_US)) return false;
    }
    return true;
}

static ft_status load(const json_t *params, const float *block, size_t count, const char *const *devices,
                      uint32_t device_count, void **out, ft_error *error) {
    const char *task;
    json_t *medians, *tasks = json_object_get(params, "tasks");
    (void)block;
    (void)devices;
    if (count != 0) return ft_fail(error, FT_ERR_DAMAGED, "has %zu numbers where none are expected", count);
    if (!json_is_object(tasks) || json_object_get(tasks, "") == NULL)
        return ft_fail(error, FT_ERR_DAMAGED, "has no tasks");
    json_object_foreach(tasks, task, medians) {
        if (!is_valid_task(medians, device_count))
            return ft_fail(error, FT_ERR_DAMAGED, "task '%.80s' has no median for each of %u devices", task,
                           device_count);
    }
    median_model *m = calloc(1, sizeof *m);
    if (m == NULL) return FT_NOMEM(error);
    m->params = json_clone(params);
    if (m->params == NULL) {
        free_model(m);
        return FT_NOMEM(error);
    }
    *out = m;
    return FT_OK;
}

static ft_status predict(const void *model, const predict_input *in, model_output *out, ft_error *error) {
    const median_model *m = model;
    char task[MAX_TASK];
    FT_TRY(task_of(in->view, in->memory, task, error));
    const json_t *tasks = json_object_get(m->params, "tasks");
    const json_t *own = json_array_get(json_object_get(tasks, task), in->target->index);
    const json_t *all = json_array_get(json_object_get(tasks, ""), in->target->index);
    bool is_known = json_is_number(own);
    if (!is_known && !json_is_number(all))
        return ft_fail(error, FT_ERR_UNSUPPORTED, "the predictor was not trained on programs of this device");
    *out = (model_output){.value = json_number_value(is_known ? own : all),
                          .spread = is_known ? 1 : 10,
                          .coverage_ratio = is_known,
                          .provenance = FT_LEARNED};
    return FT_OK;
}

const family family_task_median = {
    .name = "task-median",
    .text = "tensor programs: the median of the task, whatever the schedule; a baseline",
    .schema = "program-tasks-1",
    .fit = fit,
    .save = save,
    .load = load,
    .predict = predict,
    .free = free_model,
};
