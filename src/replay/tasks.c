/* tasks.c - the tasks of a step: forward, backward, exchange and update on each worker. */
#include "replay/schedule.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/num.h"

typedef struct task_builder {
    const ft_flow *flow;
    const engine_list *engines;
    const ft_replay_options *options;
    task_list *list;
    uint32_t *engine_of;          /* per kernel */
    uint32_t *first_successor;    /* per kernel: in `successors` */
    uint32_t *successors;         /* kernels that depend on it */
    uint32_t *forward, *backward; /* per kernel: its tasks on the current worker */
    uint32_t *gradients;          /* per worker and kernel: its backward task */
    uint32_t *ends;               /* per worker: the end of its backward pass */
} task_builder;

double ring_time_us(uint64_t bytes, uint32_t workers, double latency_us, double bytes_per_s) {
    if (workers < 2) return 0;
    double steps = 2.0 * (workers - 1);
    assert(bytes_per_s > 0 && latency_us >= 0);
    return steps * (latency_us + (double)bytes / workers / bytes_per_s * 1e6);
}

/* --- Memory --------------------------------------------------------------------------------------------------- */

static uint32_t total_dependencies(const ft_flow *flow) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < flow->count; i++) sum += flow->kernels[i].dependency_count;
    return sum;
}

/* Upper bounds for tasks and dependencies. A worker has a start and each kernel; in training each kernel once more, the
 * loss, the end of the backward pass and an update; besides, there is at most one exchange per kernel. A kernel has its
 * dependencies in each direction, and one more; an exchange and an update have at most one for each kernel. */
static bool count_max(const task_builder *m, bool has_backward, size_t *tasks, size_t *dependencies) {
    size_t kernels = m->flow->count, links = total_dependencies(m->flow), workers = m->list->workers;
    if (!has_backward)
        return num_mul_size(workers, kernels + 1, tasks) && num_mul_size(workers, links + kernels, dependencies);
    return num_mul_size(workers, 2 * kernels + 4, tasks) && num_add_size(*tasks, kernels, tasks) &&
           num_mul_size(workers, 2 * links + 6 * kernels + 4, dependencies);
}

static ft_status allocate(task_builder *m, bool has_backward, arena *memory, ft_error *error) {
    size_t kernels = m->flow->count, workers = m->list->workers;
    size_t tasks = 0, dependencies = 0, each = 0;
    if (!count_max(m, has_backward, &tasks, &dependencies) || !num_mul_size(workers, kernels + 1, &each) ||
        tasks >= FT_NONE / 2 || dependencies >= FT_NONE)
        return ft_fail(error, FT_ERR_LIMIT, "%s: %zu kernels on %zu workers are too many to replay", m->flow->name,
                       kernels, workers);
    m->list->items = ARENA_ARRAY(memory, task, tasks);
    m->list->dependencies = ARENA_ARRAY(memory, uint32_t, dependencies + 1);
    m->engine_of = ARENA_ARRAY(memory, uint32_t, kernels + 1);
    m->first_successor = ARENA_ARRAY(memory, uint32_t, kernels + 2);
    m->successors = ARENA_ARRAY(memory, uint32_t, (size_t)total_dependencies(m->flow) + 1);
    m->forward = ARENA_ARRAY(memory, uint32_t, kernels + 1);
    m->gradients = ARENA_ARRAY(memory, uint32_t, has_backward ? each : 1);
    m->ends = ARENA_ARRAY(memory, uint32_t, workers);
    return m->list->items != NULL && m->list->dependencies != NULL && m->engine_of != NULL &&
                   m->first_successor != NULL && m->successors != NULL && m->forward != NULL && m->gradients != NULL &&
                   m->ends != NULL
               ? FT_OK
               : FT_NOMEM(error);
}

/* Models have few types of kernels, so their engines are cached. */
typedef struct type_memo {
    struct {
        const char *type;
        uint32_t engine;
    } items[16];
    uint32_t count;
} type_memo;

static uint32_t engine_of_type(const engine_list *engines, const char *type, type_memo *memo) {
    for (uint32_t i = 0; i < memo->count; i++)
        if (memo->items[i].type == type) return memo->items[i].engine;
    for (uint32_t i = 0; i < memo->count; i++)
        if (strcmp(memo->items[i].type, type) == 0) return memo->items[i].engine;
    uint32_t engine = engines_find(engines, NULL, type);
    if (memo->count < sizeof memo->items / sizeof memo->items[0]) {
        memo->items[memo->count].type = type;
        memo->items[memo->count++].engine = engine;
    }
    return engine;
}

static ft_status no_engine(const task_builder *m, const ft_flow_kernel *k, ft_error *error) {
    if (k->engine != NULL)
        return ft_fail(error, FT_ERR_USAGE, "%s: '%s' runs on engine '%s', which is not among '%s'", m->flow->name,
                       k->name, k->engine, m->options->engines);
    return ft_fail(error, FT_ERR_USAGE, "%s: no engine of '%s' runs '%s' kernels; let one run the rest with NAME:*",
                   m->flow->name, m->options->engines, k->type);
}

static ft_status find_engines(task_builder *m, ft_error *error) {
    type_memo memo = {.count = 0};
    for (uint32_t i = 0; i < m->flow->count; i++) {
        const ft_flow_kernel *k = &m->flow->kernels[i];
        m->engine_of[i] = k->engine != NULL ? engines_find(m->engines, k->engine, k->type)
                                            : engine_of_type(m->engines, k->type, &memo);
        if (m->engine_of[i] == FT_NONE && (k->time_us > 0 || k->backward_us > 0)) return no_engine(m, k, error);
    }
    return FT_OK;
}

static void find_successors(task_builder *m) {
    const ft_flow *flow = m->flow;
    uint32_t *first = m->first_successor;
    for (uint32_t i = 0; i < flow->count; i++)
        for (uint32_t j = 0; j < flow->kernels[i].dependency_count; j++) first[flow->kernels[i].dependencies[j]]++;
    for (uint32_t i = 1; i <= flow->count; i++) first[i] += first[i - 1];
    for (uint32_t i = flow->count; i-- > 0;) /* backwards, so that successors are ascending */
        for (uint32_t j = flow->kernels[i].dependency_count; j-- > 0;)
            m->successors[--first[flow->kernels[i].dependencies[j]]] = i;
}

/* --- One worker ----------------------------------------------------------------------------------------------- */

static inline uint32_t add_task(task_builder *m, uint32_t worker, uint32_t engine, task t) {
    task_list *l = m->list;
    t.worker = worker;
    t.engine = worker * l->engines + (engine == FT_NONE ? 0 : engine);
    t.first_dependency = l->dependency_count;
    assert(t.time_us >= 0);
    l->items[l->count] = t;
    return l->count++;
}

/* Adds a dependency to the task that was added last. */
static inline void add_dependency(task_builder *m, uint32_t task) {
    assert(m->list->count > 0 && task < m->list->count - 1); /* only earlier tasks */
    m->list->dependencies[m->list->dependency_count++] = task;
    m->list->items[m->list->count - 1].dependency_count++;
}

static void add_forward(task_builder *m, uint32_t worker) {
    const ft_flow *flow = m->flow;
    uint32_t start = FT_NONE;
    if (flow->start_us > 0)
        start = add_task(m, worker, 0, (task){.kernel = FT_NONE, .time_us = flow->start_us, .priority = INT32_MIN});
    for (uint32_t i = 0; i < flow->count; i++) {
        const ft_flow_kernel *k = &flow->kernels[i];
        m->forward[i] =
            add_task(m, worker, m->engine_of[i],
                     (task){.kernel = i, .phase = k->phase, .priority = k->priority, .time_us = k->time_us});
        for (uint32_t j = 0; j < k->dependency_count; j++) add_dependency(m, m->forward[k->dependencies[j]]);
        if (k->dependency_count == 0 && start != FT_NONE) add_dependency(m, start);
    }
}

/* The loss depends on all kernels without successors, and the backward pass starts at it. */
static uint32_t add_loss(task_builder *m, uint32_t worker) {
    uint32_t loss = add_task(m, worker, 0, (task){.kernel = FT_NONE, .phase = FT_REPLAY_FORWARD});
    for (uint32_t i = 0; i < m->flow->count; i++)
        if (m->first_successor[i] == m->first_successor[i + 1]) add_dependency(m, m->forward[i]);
    return loss;
}

static void add_backward(task_builder *m, uint32_t worker) {
    const ft_flow *flow = m->flow;
    uint32_t loss = add_loss(m, worker);
    m->backward = m->gradients + (size_t)worker * flow->count;
    for (uint32_t i = flow->count; i-- > 0;) {
        const ft_flow_kernel *k = &flow->kernels[i];
        m->backward[i] = add_task(
            m, worker, m->engine_of[i],
            (task){.kernel = i, .phase = FT_REPLAY_BACKWARD, .priority = k->priority, .time_us = k->backward_us});
        for (uint32_t j = m->first_successor[i]; j < m->first_successor[i + 1]; j++)
            add_dependency(m, m->backward[m->successors[j]]);
        if (m->first_successor[i] == m->first_successor[i + 1]) add_dependency(m, loss);
    }
    m->ends[worker] = add_task(m, worker, 0, (task){.kernel = FT_NONE, .phase = FT_REPLAY_BACKWARD});
    for (uint32_t i = 0; i < flow->count; i++)
        if (flow->kernels[i].dependency_count == 0) add_dependency(m, m->backward[i]);
}

/* --- Between workers ------------------------------------------------------------------------------------------ */

static void add_bucket(task_builder *m, uint32_t last, uint32_t first, uint64_t bytes) {
    const ft_replay_options *o = m->options;
    assert(first <= last && bytes > 0);
    double time_us = ring_time_us(bytes, o->workers, o->latency_us, o->bytes_per_s);
    uint32_t added =
        add_task(m, 0, 0, (task){.kernel = FT_NONE, .phase = FT_REPLAY_EXCHANGE, .time_us = time_us, .bytes = bytes});
    m->list->items[added].worker = FT_NONE;
    m->list->items[added].engine = m->list->workers * m->list->engines;
    for (uint32_t w = 0; w < m->list->workers; w++) {
        if (o->is_exchange_last) {
            add_dependency(m, m->ends[w]);
            continue;
        }
        for (uint32_t i = last; i >= first && i != UINT32_MAX; i--)
            if (m->flow->kernels[i].gradient_bytes > 0) add_dependency(m, m->gradients[(size_t)w * m->flow->count + i]);
    }
}

/* Gradients become ready from the last kernel to the first and are exchanged in buckets, each as soon as it is full.
 * Returns the first task. */
static uint32_t add_exchanges(task_builder *m) {
    uint32_t before = m->list->count, last = FT_NONE;
    uint64_t bytes = 0;
    for (uint32_t i = m->flow->count; i-- > 0;) {
        uint64_t more = m->flow->kernels[i].gradient_bytes;
        if (more == 0) continue;
        if (last == FT_NONE) last = i;
        bytes = num_add_sat(bytes, more);
        if (bytes < m->options->bucket_bytes) continue;
        add_bucket(m, last, i, bytes);
        last = FT_NONE;
        bytes = 0;
    }
    if (last != FT_NONE) add_bucket(m, last, 0, bytes);
    return before;
}

static void add_updates(task_builder *m, uint32_t first_exchange, uint32_t exchange_end) {
    double update_us = 0;
    for (uint32_t i = 0; i < m->flow->count; i++) update_us += m->flow->kernels[i].update_us;
    for (uint32_t w = 0; w < m->list->workers; w++) {
        add_task(m, w, 0, (task){.kernel = FT_NONE, .phase = FT_REPLAY_UPDATE, .time_us = update_us});
        add_dependency(m, m->ends[w]);
        for (uint32_t i = first_exchange; i < exchange_end; i++) add_dependency(m, i);
    }
}

ft_status tasks_build(const ft_flow *flow, const engine_list *engines, const ft_replay_options *options,
                      simulated_workers simulated, arena *memory, task_list *list, ft_error *error) {
    task_builder m = {.flow = flow, .engines = engines, .options = options, .list = list};
    bool has_backward = options->mode == FT_TRAIN && !flow->has_own_backward;
    *list = (task_list){.workers = simulated == SIMULATE_ALL ? options->workers : 1, .engines = engines->count};
    FT_TRY(allocate(&m, has_backward, memory, error));
    FT_TRY(find_engines(&m, error));
    if (has_backward) find_successors(&m);
    for (uint32_t w = 0; w < list->workers; w++) {
        add_forward(&m, w);
        if (has_backward) add_backward(&m, w);
    }
    if (!has_backward) return FT_OK;
    uint32_t first = list->count;
    if (options->workers > 1) first = add_exchanges(&m);
    add_updates(&m, first, list->count);
    return FT_OK;
}
