/* import_trace.c - import of recorded traces of PyTorch's profiler: a file, or a folder of them.
 *
 * Kernels belong to the outermost operator around their launch for which trace_operator.c has a rule; their times add
 * up to that of the call. Calls of equal operators are one record, with the median of their times. A step is a record,
 * too: of the graph of the operators of its forward pass. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "data/kernels/trace_operator.h"

static const char *const metrics[KERNEL_ALL_METRICS] = {"time_us",         "time_std_us",    "power_w",
                                                        "occupancy_ratio", "kernel_time_us", "busy_ratio"};

/* Calls of equal operators. */
typedef struct call_group {
    kernel_row row;
    double *times;
    uint32_t count, capacity;
    double occupied_us, occupancy_us;
} call_group;

typedef struct trace_reader {
    kernel_reader *r;
    const ft_trace *t;
    arena memory; /* of the current trace */
    trace_order order;
    const uint32_t *steps;
    uint32_t step_count;
    double *call_us, *occupied_us, *occupancy_us; /* by event: sums over the kernels of a call */
    int32_t *call_device;
    arena texts; /* of groups */
    map index;
    call_group *groups;
    uint32_t group_count, group_capacity;
} trace_reader;

/* --- Calls --------------------------------------------------------------------------------------------------- */

/* The outermost operator around a kernel that has a rule; FT_NONE: none. */
static uint32_t find_call(const ft_trace *t, const trace_event *kernel) {
    uint32_t found = FT_NONE;
    if (kernel->parent == FT_NONE) return FT_NONE;
    for (uint32_t at = t->events[kernel->parent].parent; at != FT_NONE; at = t->events[at].parent)
        if (trace_operator_is_known(t->names[t->events[at].name])) found = at;
    return found;
}

static ft_status add_kernel(trace_reader *x, const trace_event *kernel) {
    const trace_event *op = trace_operator_of(x->t, kernel);
    uint32_t call = find_call(x->t, kernel);
    if (op == NULL) return kernel_skip(x->r, "a kernel that no operator launched");
    if (call == FT_NONE)
        return kernel_skip(x->r, op->shapes.length == 0 ? "the shapes of an operator are not recorded"
                                                        : "a kernel of an operator without a rule");
    double us = (double)kernel->duration_ns / 1e3;
    x->call_us[call] += us;
    x->call_device[call] = kernel->device;
    if (isnan(kernel->occupancy)) return FT_OK;
    x->occupied_us[call] += us * kernel->occupancy;
    x->occupancy_us[call] += us;
    return FT_OK;
}

static const char *device_of(const ft_trace *t, int32_t number) {
    return number >= 0 && number < TRACE_MAX_DEVICES && t->devices[number] != NULL ? t->devices[number] : "(no name)";
}

/* --- Groups -------------------------------------------------------------------------------------------------- */

static call_group *find_group(trace_reader *x, const kernel_row *row) {
    char key[3 * MAX_CELL + 300];
    uint32_t at;
    snprintf(key, sizeof key, "%.64s\n%.100s\n%.100s\n%d %lld\n%s\n%s", row->op, row->name, row->device,
             (int)row->dtype, (long long)row->batch, row->inputs, row->attributes);
    if (map_get(&x->index, key, &at)) return &x->groups[at];
    if (x->group_count == x->group_capacity) {
        uint32_t larger = x->group_capacity == 0 ? 64 : x->group_capacity * 2;
        call_group *groups = realloc(x->groups, larger * sizeof *groups);
        if (groups == NULL) return NULL;
        x->groups = groups;
        x->group_capacity = larger;
    }
    const char *kept = arena_string(&x->texts, key, strlen(key));
    char *device = arena_string(&x->texts, row->device, strlen(row->device));
    if (kept == NULL || device == NULL || !map_set(&x->index, kept, x->group_count)) return NULL;
    x->groups[x->group_count] = (call_group){.row = *row};
    x->groups[x->group_count].row.device = device;
    return &x->groups[x->group_count++];
}

static bool group_add(call_group *g, double us) {
    if (g->count == g->capacity) {
        uint32_t larger = g->capacity == 0 ? 8 : g->capacity * 2;
        double *times = realloc(g->times, larger * sizeof *times);
        if (times == NULL) return false;
        g->times = times;
        g->capacity = larger;
    }
    g->times[g->count++] = us;
    return true;
}

static ft_status add_call(trace_reader *x, uint32_t event) {
    kernel_row row = kernel_row_new();
    const char *why;
    if (!(x->call_us[event] > 0)) return FT_OK;
    row.device = device_of(x->t, x->call_device[event]);
    row.family = "trace-operators";
    kernel_setting(&row, "amp=no;compile=no");
    if (!trace_operator_read(x->t, &x->order, event, &row, &why)) return kernel_skip(x->r, why);
    call_group *g = find_group(x, &row);
    if (g == NULL || !group_add(g, x->call_us[event])) return FT_NOMEM(x->r->job->error);
    g->occupied_us += x->occupied_us[event];
    g->occupancy_us += x->occupancy_us[event];
    return FT_OK;
}

static int by_value(const void *a, const void *b) {
    const double *p = a, *q = b;
    return (*p > *q) - (*p < *q);
}

/* The median, and the deviation from the mean; NaN for fewer than two. Sorts the values. */
static double spread_of(double *values, uint32_t count, double *deviation) {
    double sum = 0, squares = 0;
    qsort(values, count, sizeof *values, by_value);
    for (uint32_t i = 0; i < count; i++) sum += values[i];
    for (uint32_t i = 0; i < count; i++) squares += (values[i] - sum / count) * (values[i] - sum / count);
    *deviation = count > 1 && squares > 0 ? sqrt(squares / (count - 1)) : NAN;
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

static ft_status write_groups(trace_reader *x) {
    x->r->path = x->r->job->source;
    for (uint32_t i = 0; i < x->group_count; i++) {
        call_group *g = &x->groups[i];
        g->row.time_us = spread_of(g->times, g->count, &g->row.time_std_us);
        if (g->occupied_us > 0) g->row.occupancy_ratio = g->occupied_us / g->occupancy_us;
        FT_TRY(kernel_add(x->r, &g->row));
    }
    return FT_OK;
}

/* --- Steps --------------------------------------------------------------------------------------------------- */

/* Whether an operator runs inside a backward pass: older profilers name the functions of autograd only
 * ("AddmmBackward"), newer ones also what runs them. */
static bool is_backward(const ft_trace *t, const trace_event *op) {
    for (; op != NULL; op = op->parent != FT_NONE ? &t->events[op->parent] : NULL) {
        const char *name = t->names[op->name];
        if (strncmp(name, "autograd::engine", 16) == 0) return true;
        if (strstr(name, "Backward") != NULL && strncmp(name, "aten::", 6) != 0) return true;
    }
    return false;
}

/* Whether an operator belongs to the forward pass: on the thread of the step, in no backward pass, in no optimiser. */
static bool is_forward(const ft_trace *t, const trace_event *step, const trace_event *op) {
    if (op->lane != step->lane || is_backward(t, op)) return false;
    for (uint32_t at = op->parent; at != FT_NONE; at = t->events[at].parent)
        if (strncmp(t->names[t->events[at].name], "Optimizer.", 10) == 0) return false;
    return true;
}

typedef struct step_parts {
    operator_text *texts;
    uint32_t count;
    int64_t batch; /* first dimension of the first operator */
    ft_dtype dtype;
} step_parts;

/* An operator as text, with the batch as a number: that of a step is the same for all of its operators. */
static bool add_part(trace_reader *x, step_parts *parts, const kernel_row *row) {
    char inputs[2 * MAX_CELL] = "";
    size_t used = 0;
    for (const char *c = row->inputs; *c != '\0' && used + 24 < sizeof inputs; c++) {
        bool is_batch = *c == 'N' && (c == row->inputs || strchr(";x", c[-1]) != NULL);
        used += is_batch ? (size_t)snprintf(inputs + used, 24, "%lld", (long long)row->batch) : 1;
        if (!is_batch) inputs[used - 1] = *c;
    }
    operator_text *text = &parts->texts[parts->count];
    text->op = row->op;
    text->inputs = arena_string(&x->memory, inputs, used);
    text->attributes = arena_string(&x->memory, row->attributes, strlen(row->attributes));
    if (text->inputs == NULL || text->attributes == NULL) return false;
    if (parts->count++ == 0) {
        parts->batch = row->batch;
        parts->dtype = row->dtype;
    }
    return true;
}

static ft_status collect_parts(trace_reader *x, uint32_t step, step_parts *parts) {
    *parts = (step_parts){.texts = ARENA_ARRAY(&x->memory, operator_text, (size_t)x->order.count + 1)};
    if (parts->texts == NULL) return FT_NOMEM(x->r->job->error);
    for (uint32_t i = 0; i < x->order.count; i++) {
        const trace_event *op = &x->t->events[x->order.events[i]];
        kernel_row row = kernel_row_new();
        const char *why;
        if (!(x->call_us[x->order.events[i]] > 0) || !is_forward(x->t, &x->t->events[x->steps[step]], op) ||
            trace_step_of(x->t, x->steps, x->step_count, op) != step)
            continue;
        if (!trace_operator_read(x->t, &x->order, x->order.events[i], &row, &why)) continue; /* reported before */
        if (!add_part(x, parts, &row)) return FT_NOMEM(x->r->job->error);
    }
    return FT_OK;
}

/* Sum of kernels a step, their share of it, and whether a backward pass ran. */
typedef struct step_totals {
    double kernel_us, step_us;
    int32_t device;
    bool is_training;
} step_totals;

static step_totals sum_steps(const trace_reader *x) {
    step_totals sum = {.device = -1};
    for (uint32_t i = 0; i < x->step_count; i++) sum.step_us += (double)x->t->events[x->steps[i]].duration_ns / 1e3;
    for (uint32_t i = 0; i < x->t->count; i++) {
        const trace_event *e = &x->t->events[i];
        if (e->kind != TRACE_KERNEL || trace_step_of(x->t, x->steps, x->step_count, e) == FT_NONE) continue;
        sum.kernel_us += (double)e->duration_ns / 1e3;
        sum.device = e->device;
        sum.is_training = sum.is_training || is_backward(x->t, trace_operator_of(x->t, e));
    }
    return sum;
}

static ft_status add_step_record(trace_reader *x, const step_parts *parts) {
    kernel_row row = kernel_row_new();
    ft_graph *graph;
    ft_error why;
    uint32_t index;
    ft_status status = operator_texts_graph(parts->texts, parts->count, &graph, &why);
    if (status == FT_ERR_NOMEM) return FT_NOMEM(x->r->job->error);
    if (status != FT_OK) return kernel_skip(x->r, "the operators of a step make no graph");
    x->r->job->result->models++;
    status = builder_add_graph(x->r->builder, graph, &index, x->r->job->error);
    ft_graph_free(graph);
    double *times = ARENA_ARRAY(&x->memory, double, (size_t)x->step_count + 1);
    if (status != FT_OK || times == NULL) return status != FT_OK ? status : FT_NOMEM(x->r->job->error);
    for (uint32_t i = 0; i < x->step_count; i++) times[i] = (double)x->t->events[x->steps[i]].duration_ns / 1e3;
    step_totals sum = sum_steps(x);
    const char *slash = strrchr(x->r->path, '/');
    row.name = slash != NULL ? slash + 1 : x->r->path;
    row.family = "trace-steps";
    row.device = device_of(x->t, sum.device);
    row.batch = parts->batch;
    row.dtype = parts->dtype;
    row.mode = sum.is_training ? FT_TRAIN : FT_INFER;
    row.time_us = spread_of(times, x->step_count, &row.time_std_us);
    row.kernel_time_us = sum.kernel_us / x->step_count;
    if (sum.kernel_us < sum.step_us) row.busy_ratio = sum.kernel_us / sum.step_us;
    kernel_setting(&row, "amp=no;compile=no;profiler=yes");
    return kernel_add_record(x->r, &row, index);
}

/* The step with the most operators stands for all. */
static ft_status add_steps(trace_reader *x) {
    step_parts most = {0};
    for (uint32_t i = 0; i < x->step_count && i < 3; i++) {
        step_parts parts;
        FT_TRY(collect_parts(x, i, &parts));
        if (parts.count > most.count) most = parts;
    }
    return most.count > 0 ? add_step_record(x, &most) : FT_OK;
}

/* --- Files --------------------------------------------------------------------------------------------------- */

static ft_status read_events(trace_reader *x) {
    size_t count = (size_t)x->t->count + 1;
    x->call_us = ARENA_ARRAY(&x->memory, double, count);
    x->occupied_us = ARENA_ARRAY(&x->memory, double, count);
    x->occupancy_us = ARENA_ARRAY(&x->memory, double, count);
    x->call_device = ARENA_ARRAY(&x->memory, int32_t, count);
    if (x->call_us == NULL || x->occupied_us == NULL || x->occupancy_us == NULL || x->call_device == NULL)
        return FT_NOMEM(x->r->job->error);
    FT_TRY(trace_order_make(x->t, &x->memory, &x->order, x->r->job->error));
    FT_TRY(trace_steps(x->t, &x->memory, &x->steps, &x->step_count, x->r->job->error));
    for (uint32_t i = 0; i < x->t->count; i++)
        if (x->t->events[i].kind == TRACE_KERNEL) FT_TRY(add_kernel(x, &x->t->events[i]));
    for (uint32_t i = 0; i < x->order.count; i++) FT_TRY(add_call(x, x->order.events[i]));
    return add_steps(x);
}

static ft_status read_trace(trace_reader *x, const char *path) {
    ft_trace *t;
    ft_error why;
    x->r->path = path;
    FT_TRY(import_progress(x->r->job, ++x->r->lines, 0, path));
    ft_status status = ft_trace_open(path, &t, &why);
    if (status != FT_OK) {
        FT_TRY(import_may_skip(x->r->job, path, status, &why));
        return import_skip(x->r->job, why.message, "the file cannot be read as a trace");
    }
    x->t = t;
    arena_init(&x->memory, UINT64_MAX);
    status = read_events(x);
    arena_free(&x->memory);
    ft_trace_free(t);
    return status;
}

static bool is_trace(const char *name) {
    const char *dot = strstr(name, ".json");
    return dot != NULL && (strcmp(dot + strlen(dot) - 5, ".json") == 0 || strcmp(dot + strlen(dot) - 3, ".gz") == 0);
}

static ft_status read_folder(trace_reader *x, const char *folder) {
    name_list names;
    struct stat info;
    FT_TRY(name_list_read(folder, &names, x->r->job->error));
    ft_status status = FT_OK;
    for (uint32_t i = 0; status == FT_OK && i < names.count; i++) {
        const char *path = arena_format(&x->texts, "%s/%s", folder, names.names[i]);
        if (path == NULL)
            status = FT_NOMEM(x->r->job->error);
        else if (is_trace(names.names[i]) && stat(path, &info) == 0 && S_ISREG(info.st_mode))
            status = read_trace(x, path);
    }
    name_list_free(&names);
    return status;
}

static ft_status run(trace_reader *x) {
    struct stat info;
    import_job *job = x->r->job;
    bool is_folder = stat(job->source, &info) == 0 && S_ISDIR(info.st_mode);
    FT_TRY(builder_new(job->folder, metrics, KERNEL_ALL_METRICS, &x->r->builder, job->error));
    if (is_folder) {
        FT_TRY(read_folder(x, job->source));
    } else {
        ft_trace *t; /* the one file must be a trace */
        FT_TRY(ft_trace_open(job->source, &t, job->error));
        ft_trace_free(t);
        FT_TRY(read_trace(x, job->source));
    }
    FT_TRY(write_groups(x));
    return import_finish(job, x->r->builder);
}

static ft_status import_trace(import_job *job) {
    trace_reader x = {.r = kernel_reader_new(job)};
    if (x.r == NULL) return FT_NOMEM(job->error);
    arena_init(&x.texts, UINT64_MAX);
    map_init(&x.index, &x.texts);
    ft_status status = run(&x);
    for (uint32_t i = 0; i < x.group_count; i++) free(x.groups[i].times);
    free(x.groups);
    arena_free(&x.texts);
    kernel_reader_free(x.r);
    return status;
}

const importer trace_importer = {"trace", "traces of PyTorch's profiler: operators with their kernel times, and steps",
                                 import_trace};
