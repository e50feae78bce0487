/* gnn_train.c - training of one graph network in steps of whole graphs.
 *
 * The graphs of a step are divided into parts of some hundred nodes, each joined into a batch by the thread that
 * computes it. The contents of steps and parts depend on the seed and the graphs alone, so the result is the same for
 * any number of threads. */
#include "predictor/gnn/gnn_train.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

enum {
    PART_NODES = 768, /* of a part, about: the activations should fit the cache */
    MAX_PARTS = 64,   /* of a step */
    SHARDS = 4,
    CHECK_GRAPHS = 256 /* graphs validated at a time, at most */
};
static const uint32_t ALL_TASKS = UINT32_MAX;

static const uint64_t PART_LIMIT = (uint64_t)1 << 30; /* memory of one part */

/* A part of a step or of a check: some graphs, joined. */
typedef struct part {
    arena memory;
    gnn_batch batch;
    const uint32_t *graphs;
    uint32_t count;
    float *targets, *mask; /* count x columns */
    tensor **hidden;       /* input of the last layer; NULL: not needed */
} part;

struct gnn_training {
    const gnn_inputs *in;
    const gnn_kind *kind;
    const gnn_plan *plan;
    const gnn_net *net;
    descent descent;
    uint32_t *order;
    uint32_t order_epoch; /* epoch of `order`; UINT32_MAX: none */
    uint32_t batch, steps_per_epoch;
    uint32_t *sizes; /* nodes of the graphs of a step */
    uint32_t label_count;
    uint32_t *task_of; /* per column; a task is a metric in a mode */
    uint32_t task_count;
    gnn_domains domains;
    gnn_offsets offsets;
    part parts[MAX_PARTS];
};

/* --- Group offsets ------------------------------------------------------------------------------------------- */

/* Learning rate of a label on the offset of its group, and the maximum over all labels of a step; errors are clamped,
 * in deviations of all labels, since single measurements are often much slower. */
static const double OFFSET_RATE = 0.05, OFFSET_STEP_RATE = 0.5, MAX_OFFSET_ERROR = 0.2;

static size_t cell_of(const gnn_data *data, uint32_t graph, uint32_t column) {
    return (size_t)data->group_of[graph] * data->column_count + column;
}

void gnn_offsets_count(const gnn_offsets *o, const gnn_data *data, const uint32_t *graphs, uint32_t count) {
    memset(o->counts, 0, (size_t)data->group_count * data->column_count * sizeof *o->counts);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t c = 0; c < data->column_count; c++)
            o->counts[cell_of(data, graphs[i], c)] += !isnan(data->labels[(size_t)graphs[i] * data->column_count + c]);
}

void gnn_subtract_group_offset(const gnn_offsets *o, tape *t, const gnn_data *data, const gnn_targets *of,
                               const tensor *predicted) {
    tensor *offsets = tape_param(t, o->values);
    float *change = tape_grad(t, offsets); /* of state: what is added to it */
    if (change == NULL) return;
    assert(o->share > 0 && o->share < 1);
    double decay = (1 - o->share) / o->share;
    for (uint32_t i = 0; i < of->count * data->column_count; i++) {
        if (of->mask[i] == 0) continue;
        size_t cell = cell_of(data, of->graphs[i / data->column_count], i % data->column_count);
        of->targets[i] -= offsets->data[cell];
        double off =
            fmin(MAX_OFFSET_ERROR, fmax(-MAX_OFFSET_ERROR, (double)of->targets[i] - (double)predicted->data[i]));
        double rate = fmin(OFFSET_RATE, OFFSET_STEP_RATE / o->counts[cell]);
        change[cell] += (float)(rate * (off - decay * (double)offsets->data[cell]));
    }
}

/* --- Parts --------------------------------------------------------------------------------------------------- */

/* The sample of a graph, scaled. */
static bool make_sample(const gnn_inputs *in, uint32_t number, arena *memory, gnn_sample *s) {
    const gnn_data *data = in->data;
    const gnn_widths *w = &data->widths;
    const gnn_graph *g = &data->graphs[number];
    if (!gnn_sample_open(s, w, g->nodes, g->edges, memory)) return false;
    for (size_t i = 0; i < g->nodes; i++) {
        uint32_t row = data->node_row[g->first_node + i];
        s->kinds[i] = in->kinds[row];
        if (w->node_values > 0)
            memcpy(s->node_values + i * w->node_values, in->nodes + (size_t)row * w->node_values,
                   w->node_values * sizeof(float));
        if (w->node_marks > 0)
            memcpy(s->node_marks + i * w->node_marks,
                   data->marks.rows + data->mark_row[g->first_node + i] * data->marks.size, data->marks.size);
    }
    if (g->edges > 0) {
        memcpy(s->from, data->from + g->first_edge, g->edges * sizeof *s->from);
        memcpy(s->to, data->to + g->first_edge, g->edges * sizeof *s->to);
    }
    for (size_t i = 0; w->edge_values > 0 && i < g->edges; i++)
        memcpy(s->edge_values + i * w->edge_values,
               in->edges + (size_t)data->edge_row[g->first_edge + i] * w->edge_values, w->edge_values * sizeof(float));
    const float *global = in->globals + number * ((size_t)w->global_values + w->global_marks);
    if (w->global_values > 0) memcpy(s->global_values, global, w->global_values * sizeof(float));
    if (w->global_marks > 0) memcpy(s->global_marks, global + w->global_values, w->global_marks * sizeof(float));
    return true;
}

static bool fill_part(const gnn_inputs *in, part *p) {
    uint32_t columns = in->data->column_count;
    arena_free(&p->memory);
    arena_init(&p->memory, PART_LIMIT);
    gnn_sample *samples = ARENA_ARRAY(&p->memory, gnn_sample, (size_t)p->count + 1);
    const gnn_sample **list = ARENA_ARRAY(&p->memory, const gnn_sample *, (size_t)p->count + 1);
    p->targets = ARENA_ARRAY(&p->memory, float, (size_t)p->count *columns + 1);
    p->mask = ARENA_ARRAY(&p->memory, float, (size_t)p->count *columns + 1);
    if (samples == NULL || list == NULL || p->targets == NULL || p->mask == NULL) return false;
    for (uint32_t i = 0; i < p->count; i++) {
        if (!make_sample(in, p->graphs[i], &p->memory, &samples[i])) return false;
        list[i] = &samples[i];
        memcpy(p->targets + (size_t)i * columns, in->targets + (size_t)p->graphs[i] * columns, columns * sizeof(float));
    }
    for (size_t i = 0; i < (size_t)p->count * columns; i++) p->mask[i] = !isnan(p->targets[i]);
    if (!gnn_batch_join(&p->batch, &in->data->widths, list, p->count, &p->memory)) return false;
    p->batch.columns = columns;
    p->batch.hidden = p->hidden;
    p->batch.column_values = gnn_column_values(in->data->columns, columns, in->data->widths.column_values, &p->memory);
    return p->batch.column_values != NULL;
}

/* Hides the kinds of some nodes. */
static void hide_kinds(part *p, double share, rng *random) {
    uint32_t *kinds = (uint32_t *)(uintptr_t)p->batch.kinds; /* allocated in the arena of the part */
    for (uint32_t i = 0; share > 0 && i < p->batch.nodes; i++)
        if (rng_uniform(random) < share) kinds[i] = 0;
}

/* Outputs for a part in training, with the mask of one task or (ALL_TASKS) of all; NULL: the tape has failed. */
static tensor *train_forward(gnn_training *t, tape *tp, uint32_t number, uint32_t task) {
    uint32_t columns = t->in->data->column_count;
    part *p = &t->parts[number];
    if (!fill_part(t->in, p)) {
        tp->has_failed = true;
        return NULL;
    }
    for (size_t i = 0; task != ALL_TASKS && i < (size_t)p->count * columns; i++)
        if (t->task_of[i % columns] != task) p->mask[i] = 0;
    hide_kinds(p, t->plan->shared.forget, &tp->random);
    tensor *predicted = t->kind->forward(t->net, tp, &p->batch);
    if (t->offsets.share > 0 && predicted != NULL)
        gnn_subtract_group_offset(&t->offsets, tp, t->in->data,
                                  &(gnn_targets){p->graphs, p->count, p->mask, p->targets}, predicted);
    return predicted;
}

static tensor *loss_of(const gnn_training *t, tape *tp, tensor *predicted, const part *p) {
    const gnn_options *o = &t->plan->shared;
    loss_options options = {.kind = (loss_kind)o->loss, .delta = (float)o->delta, .mask = p->mask};
    double divisor = t->label_count > 0 ? t->label_count : 1;
    if (options.kind == LOSS_HUBER) divisor *= o->delta;
    options.scale = (float)(1 / divisor);
    return nn_loss(tp, predicted, p->targets, &options);
}

/* Hidden rows of the labels of old devices, or of new ones. */
static tensor *rows_of(const gnn_training *t, tape *tp, const part *p, tensor *hidden, bool is_new) {
    uint32_t columns = t->in->data->column_count, count = 0;
    uint32_t *rows = tape_alloc(tp, (size_t)p->count * columns + 1, sizeof *rows);
    for (uint32_t i = 0; rows != NULL && i < p->count * columns; i++)
        if (p->mask[i] > 0 && (i % columns >= t->domains.new_column) == is_new) rows[count++] = i;
    return count > 1 ? nn_gather(tp, hidden, rows, count) : NULL;
}

/* Adds the distance between hidden rows of old and new devices, weighted by the share of the step. */
static tensor *add_distance(const gnn_training *t, tape *tp, tensor *loss, const part *p, tensor *hidden) {
    tensor *old = rows_of(t, tp, p, hidden, false), *new = rows_of(t, tp, p, hidden, true);
    if (loss == NULL || old == NULL || new == NULL) return loss;
    tensor *off = t->domains.distance == TUNE_CMD ? nn_cmd(tp, old, new) : nn_mmd(tp, old, new);
    float share = (float)(t->domains.weight * p->count / t->batch);
    return nn_add(tp, loss, nn_scale(tp, off, share));
}

static tensor *part_loss(void *user, tape *tp, uint32_t number) {
    gnn_training *t = user;
    assert(number < MAX_PARTS);
    part *p = &t->parts[number];
    tensor *hidden = NULL;
    p->hidden = t->domains.distance != TUNE_NO_DISTANCE ? &hidden : NULL;
    tensor *predicted = train_forward(t, tp, number, ALL_TASKS);
    tensor *loss = predicted != NULL ? loss_of(t, tp, predicted, p) : NULL;
    return hidden != NULL ? add_distance(t, tp, loss, p, hidden) : loss;
}

/* The loss of one task. */
static tensor *task_loss(void *user, tape *tp, uint32_t number, uint32_t task) {
    gnn_training *t = user;
    tensor *predicted = train_forward(t, tp, number, task);
    return predicted != NULL ? loss_of(t, tp, predicted, &t->parts[number]) : NULL;
}

/* --- Creating --------------------------------------------------------------------------------------- */

static ft_status open_descent(gnn_training *t, params *values, uint64_t seed, pool *threads, ft_error *error) {
    const gnn_options *o = &t->plan->shared;
    schedule_options schedule = schedule_options_default((schedule_kind)o->schedule);
    optim_options optimizer = optim_options_default((optim_kind)o->optimizer);
    optimizer.weight_decay = o->weight_decay;
    if (schedule.kind == SCHEDULE_STEP) schedule.every = (uint64_t)fmax(1, o->steps / 10);
    if (schedule.kind == SCHEDULE_STEP) schedule.factor = 0.6;
    if (schedule.kind == SCHEDULE_CYCLIC) schedule.low_rate = o->rate / 100; /* as in CDMPP */
    if (schedule.kind == SCHEDULE_PLATEAU) {                                 /* as in PerfSeer */
        schedule.factor = 0.5;
        schedule.patience = 5;
        schedule.min_rate = 1e-6;
    }
    const descent_options down = {.rate = o->rate,
                                  .steps = (uint32_t)o->steps,
                                  .parts = SHARDS,
                                  .seed = seed,
                                  .threads = threads,
                                  .schedule = &schedule,
                                  .optimizer = &optimizer,
                                  .clip = o->clip,
                                  .average = o->average,
                                  .check_steps = (uint32_t)o->check,
                                  .keeps_best = o->keep_best > 0,
                                  .patience = (uint32_t)o->patience};
    return descent_open(&t->descent, values, &down, error);
}

static bool find_tasks(gnn_training *t) {
    const gnn_data *data = t->in->data;
    t->task_of = malloc(((size_t)data->column_count + 1) * sizeof *t->task_of);
    for (uint32_t c = 0; t->task_of != NULL && c < data->column_count; c++) {
        const gnn_column *column = &data->columns[c];
        t->task_of[c] = t->task_count;
        for (uint32_t b = 0; b < c && t->task_of[c] == t->task_count; b++)
            if (data->columns[b].metric == column->metric && data->columns[b].mode == column->mode)
                t->task_of[c] = t->task_of[b];
        if (t->task_of[c] == t->task_count) t->task_count++;
    }
    return t->task_of != NULL;
}

static bool open_offsets(gnn_training *t, param_id offsets) {
    const gnn_data *data = t->in->data;
    t->offsets = (gnn_offsets){.share = t->plan->shared.offset_share,
                               .values = offsets,
                               .counts = calloc((size_t)data->group_count * data->column_count, sizeof(uint32_t))};
    return t->offsets.counts != NULL;
}

ft_status gnn_training_new(const gnn_training_options *options, params *values, gnn_training **out, ft_error *error) {
    gnn_training *t = calloc(1, sizeof *t);
    if (t == NULL) return FT_NOMEM(error);
    *t = (gnn_training){.in = options->in, .kind = options->kind, .plan = options->plan, .net = options->net};
    t->order_epoch = UINT32_MAX;
    uint32_t graphs = t->in->data->train_count, batch = (uint32_t)t->plan->shared.batch;
    assert(graphs > 0);
    t->batch = batch < graphs ? batch : graphs;
    t->steps_per_epoch = graphs / t->batch;
    t->order = malloc(graphs * sizeof *t->order);
    t->sizes = malloc(t->batch * sizeof *t->sizes);
    bool has_memory = t->order != NULL && t->sizes != NULL && find_tasks(t) &&
                      (options->offsets == NULL || open_offsets(t, *options->offsets));
    ft_status status = has_memory ? FT_OK : FT_NOMEM(error);
    if (status == FT_OK) status = open_descent(t, values, options->seed, options->threads, error);
    if (status != FT_OK)
        gnn_training_free(t);
    else
        *out = t;
    return status;
}

void gnn_training_free(gnn_training *t) {
    if (t == NULL) return;
    descent_close(&t->descent);
    for (uint32_t i = 0; i < MAX_PARTS; i++) arena_free(&t->parts[i].memory);
    free(t->task_of);
    free(t->offsets.counts);
    free(t->order);
    free(t->sizes);
    free(t);
}

void gnn_training_set_domains(gnn_training *t, const gnn_domains *domains) {
    if (t->kind->has_hidden) t->domains = *domains;
}

descent *gnn_training_descent(gnn_training *t) {
    return &t->descent;
}

/* --- Steps --------------------------------------------------------------------------------------------------- */

/* The order of an epoch depends on the seed and the epoch alone. */
static const uint32_t *step_graphs(gnn_training *t) {
    uint32_t epoch = t->descent.done / t->steps_per_epoch;
    if (epoch != t->order_epoch) {
        rng random;
        rng_init(&random, t->descent.options.seed, epoch);
        for (uint32_t i = 0; i < t->in->data->train_count; i++) t->order[i] = i;
        rng_shuffle(&random, t->order, t->in->data->train_count);
        t->order_epoch = epoch;
    }
    return t->order + (size_t)(t->descent.done % t->steps_per_epoch) * t->batch;
}

static uint32_t count_labels(const gnn_inputs *in, const uint32_t *graphs, uint32_t count) {
    uint32_t labels = 0, columns = in->data->column_count;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t c = 0; c < columns; c++) labels += !isnan(in->targets[(size_t)graphs[i] * columns + c]);
    return labels;
}

/* Divides graphs into parts of about PART_NODES nodes; returns their number. */
static uint32_t divide_graphs(gnn_training *t, const uint32_t *graphs, uint32_t count) {
    uint64_t nodes = 0;
    for (uint32_t i = 0; i < count; i++) {
        t->sizes[i] = t->in->data->graphs[graphs[i]].nodes;
        nodes += t->sizes[i];
    }
    uint32_t parts = (uint32_t)((nodes + PART_NODES - 1) / PART_NODES), start[MAX_PARTS + 1], used = 0;
    if (parts > MAX_PARTS) parts = MAX_PARTS;
    if (parts > count) parts = count;
    parallel_split(t->sizes, count, parts, start);
    for (uint32_t i = 0; i < parts; i++) {
        if (start[i] == start[i + 1]) continue;
        t->parts[used].graphs = graphs + start[i];
        t->parts[used++].count = start[i + 1] - start[i];
    }
    return used;
}

ft_status gnn_training_step(gnn_training *t, double *loss, ft_error *error) {
    const uint32_t *graphs = step_graphs(t);
    uint32_t parts = divide_graphs(t, graphs, t->batch), tasks = t->task_count;
    t->label_count = count_labels(t->in, graphs, t->batch);
    if (t->offsets.share > 0) gnn_offsets_count(&t->offsets, t->in->data, graphs, t->batch);
    if (t->kind->combine == NULL || tasks == 1) return descent_step(&t->descent, parts, part_loss, t, loss, error);
    descent_tasks step = {.parts = parts, .tasks = tasks, .loss = task_loss, .combine = t->kind->combine, .user = t};
    return descent_step_tasks(&t->descent, &step, loss, error);
}

/* --- Validation ------------------------------------------------------------------------------------------------ */

typedef struct check {
    gnn_training *t;
    double errors[MAX_PARTS];
    uint32_t labelled[MAX_PARTS];
} check;

static void check_part(void *user, tape *tp, uint32_t number) {
    check *c = user;
    gnn_training *t = c->t;
    part *p = &t->parts[number];
    p->hidden = NULL;
    if (!fill_part(t->in, p)) {
        tp->has_failed = true;
        return;
    }
    const tensor *predicted = t->kind->forward(t->net, tp, &p->batch);
    if (predicted == NULL) return;
    const gnn_data *data = t->in->data;
    for (size_t i = 0; i < tensor_size(predicted); i++) {
        const gnn_column *column = &data->columns[i % data->column_count];
        double label =
            data->labels[(size_t)p->graphs[i / data->column_count] * data->column_count + i % data->column_count];
        if (isnan(label) || label == 0) continue;
        double value = label_of_target(&column->scale, predicted->data[i]);
        c->errors[number] += fmin(fabs(value / label - 1), 1e6); /* a diverged network is not selected anyway */
        c->labelled[number]++;
    }
}

ft_status gnn_training_check(gnn_training *t, double *mape, ft_error *error) {
    const gnn_data *data = t->in->data;
    uint32_t graphs[CHECK_GRAPHS], at_once = t->batch < CHECK_GRAPHS ? t->batch : CHECK_GRAPHS, count = 0;
    double sum = 0;
    for (uint32_t first = data->train_count; first < data->graph_count; first += at_once) {
        check c = {.t = t};
        uint32_t some = data->graph_count - first < at_once ? data->graph_count - first : at_once;
        for (uint32_t i = 0; i < some; i++) graphs[i] = first + i;
        uint32_t parts = divide_graphs(t, graphs, some);
        FT_TRY(parallel_infer(t->descent.workers, parts, check_part, &c, error));
        for (uint32_t i = 0; i < parts; i++) {
            sum += c.errors[i];
            count += c.labelled[i];
        }
    }
    *mape = count > 0 ? 100 * sum / count : NAN;
    return FT_OK;
}
