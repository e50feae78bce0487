/* host.c - classes of hosts, and the queue of host and GPU. */
#include "predictor/core/host.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/embedded.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "cost/cost.h"

enum { HOST_VERSION = 1 };

/* --- Requests ------------------------------------------------------------------------------------------------ */

static bool is_key(const char *pair, size_t length, const char *key) {
    return strlen(key) == length && memcmp(pair, key, length) == 0;
}

static ft_status read_pair(const char *pair, size_t length, host_request *r, ft_error *error) {
    const char *equals = memchr(pair, '=', length);
    if (equals == NULL) return FT_OK;
    size_t key = (size_t)(equals - pair), size = length - key - 1;
    const char *value = equals + 1;
    if (is_key(pair, key, "host")) {
        if (size == 0 || size >= sizeof r->name) return ft_fail(error, FT_ERR_USAGE, "host '' is none");
        memcpy(r->name, value, size);
        r->name[size] = '\0';
        r->is_given = true;
    } else if (is_key(pair, key, "launch_us")) {
        if (!text_double(value, size, &r->launch_us) || !(r->launch_us >= 0.01 && r->launch_us <= 1e5))
            return ft_fail(error, FT_ERR_USAGE,
                           "launch_us '%.*s' is not a launch time: expected 0.01 to 100000 microseconds a kernel",
                           (int)(size < 40 ? size : 40), value);
        r->is_given = true;
    } else if (is_key(pair, key, "graphs")) {
        r->has_graphs = is_key(value, size, "yes");
        if (!r->has_graphs && !is_key(value, size, "no"))
            return ft_fail(error, FT_ERR_USAGE, "graphs '%.*s': expected yes or no", (int)(size < 40 ? size : 40),
                           value);
        r->is_given = r->is_given || r->has_graphs;
    }
    return FT_OK;
}

ft_status host_request_parse(const char *setting, host_request *request, ft_error *error) {
    host_request made = {.launch_us = NAN};
    for (const char *at = setting != NULL ? setting : ""; *at != '\0';) {
        size_t length = strcspn(at, ";");
        FT_TRY(read_pair(at, length, &made, error));
        at += length + (at[length] == ';');
    }
    *request = made;
    return FT_OK;
}

/* --- Classes ------------------------------------------------------------------------------------------------- */

static ft_status read_key(host_class *host, const char *key, const json_t *value, ft_error *error) {
    const struct {
        const char *key;
        double *number;
        double lo, hi;
    } numbers[] = {{"start_us", &host->start_us, 0, 1e6},
                   {"launch_us", &host->launch_us, 0.01, 1e5},
                   {"backward_us", &host->backward_us, 0.01, 1e5},
                   {"training_start_us", &host->training_start_us, 0, 1e7},
                   {"autocast_ratio", &host->autocast_ratio, 0.1, 10},
                   {"interval_ratio", &host->interval_ratio, 1.01, 100}};
    const char *text;
    int64_t version;
    if (strcmp(key, "foretell_host") == 0) return json_read_int(value, HOST_VERSION, HOST_VERSION, &version, error);
    if (strcmp(key, "other_names") == 0 || strcmp(key, "sources") == 0) return FT_OK;
    if (strcmp(key, "name") == 0 || strcmp(key, "text") == 0) {
        FT_TRY(json_read_string(value, &text, error));
        if (key[0] == 'n') snprintf(host->name, sizeof host->name, "%.60s", text);
        return FT_OK;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (strcmp(key, numbers[i].key) == 0)
            return json_read_number(value, numbers[i].lo, numbers[i].hi, numbers[i].number, error);
    return ft_fail(error, FT_ERR_DAMAGED, "is an unknown key");
}

/* Keys that a file leaves out are those of common hosts. */
static ft_status parse_host(const char *text, size_t size, const char *path, host_class *host, ft_error *error) {
    *host = (host_class){.name = "host",
                         .start_us = 300,
                         .launch_us = NAN,
                         .backward_us = NAN,
                         .training_start_us = NAN,
                         .autocast_ratio = 1.3,
                         .interval_ratio = 1.75};
    json_t *root, *value;
    const char *key;
    ft_status status = json_parse(text, size, &root, error);
    if (status != FT_OK) return ft_fail_prefix(error, status, "%s", path);
    json_object_foreach(root, key, value) {
        status = read_key(host, key, value, error);
        if (status != FT_OK) {
            ft_fail_prefix(error, status, "%s: '%.40s'", path, key);
            break;
        }
    }
    if (status == FT_OK && isnan(host->launch_us))
        status = ft_fail(error, FT_ERR_DAMAGED, "%s: 'launch_us' is missing: microseconds of a launch", path);
    if (isnan(host->backward_us)) host->backward_us = 3 * host->launch_us;
    if (isnan(host->training_start_us)) host->training_start_us = 6 * host->start_us;
    json_decref(root);
    return status;
}

ft_status host_open(const char *name, host_class *host, ft_error *error) {
    const embedded_file *found = embedded_find(host_builtin, host_builtin_count, name);
    if (found == NULL) return embedded_fail(host_builtin, host_builtin_count, "host", NULL, name, error);
    return parse_host(found->json, strlen(found->json), name, host, error);
}

/* --- Launches ------------------------------------------------------------------------------------------------ */

/* Of a runtime: launches in relation to those of PyTorch, which runs Python for each operator, and what a kernel takes
 * at least. Graphs: the GPU itself starts the next kernel. */
typedef struct runtime_cost {
    double start_ratio, launch_ratio, min_launch_us;
} runtime_cost;

static const runtime_cost runtimes[] = {[HOST_EAGER] = {1, 1, 2},
                                        [HOST_COMPILED] = {1, 0.5, 2},
                                        [HOST_GRAPHS] = {0.15, 0.04, 1},
                                        [HOST_ENGINE] = {0.5, 0.15, 3},
                                        [HOST_SESSION] = {0.5, 0.3, 4}};

ft_status host_launches_of(const host_request *request, host_runtime runtime, ft_mode mode, bool is_mixed,
                           host_launches *launches, ft_error *error) {
    host_class host = {0};
    FT_TRY(host_open(request->name[0] != '\0' ? request->name : "typical", &host, error));
    if (request->has_graphs) runtime = HOST_GRAPHS;
    const runtime_cost *cost = &runtimes[runtime];
    double autocast = is_mixed && runtime == HOST_EAGER ? host.autocast_ratio : 1;
    double launch = fmax(host.launch_us * cost->launch_ratio * autocast, cost->min_launch_us);
    if (!isnan(request->launch_us)) launch = request->launch_us; /* as it is, with whatever runtime it was measured */
    bool is_training = mode == FT_TRAIN;
    *launches =
        (host_launches){.start_us = (is_training ? host.training_start_us : host.start_us) * cost->start_ratio,
                        .forward_us = launch,
                        .backward_us = is_training ? launch * host.backward_us / host.launch_us : 0,
                        .interval_ratio = isnan(request->launch_us) ? host.interval_ratio : sqrt(host.interval_ratio)};
    return FT_OK;
}

double host_total_us(const host_launches *l, uint32_t count) {
    return l->start_us + (l->forward_us + l->backward_us) * count;
}

host_launches host_limit(host_launches l, uint32_t count, double total_us) {
    double total = host_total_us(&l, count);
    if (!(total > total_us)) return l;
    double ratio = total_us / total;
    l.start_us *= ratio;
    l.forward_us *= ratio;
    l.backward_us *= ratio;
    return l;
}

/* --- Queue --------------------------------------------------------------------------------------------------- */

typedef struct host_queue {
    double issued_us, ended_us; /* last launch; last kernel */
    double *elapsed_us;
} host_queue;

static void run_kernel(host_queue *q, uint32_t index, double launch_us, double gpu_us) {
    double before = q->ended_us;
    q->issued_us += launch_us;
    q->ended_us = fmax(q->issued_us, q->ended_us) + gpu_us;
    if (q->elapsed_us != NULL) q->elapsed_us[index] += q->ended_us - before;
}

double host_queue_us(const host_launches *l, const double *gpu_us, uint32_t count, double *elapsed_us) {
    assert(count == 0 || gpu_us != NULL);
    host_queue q = {.issued_us = l->start_us, .elapsed_us = elapsed_us};
    bool is_training = l->backward_us > 0;
    double forward = is_training ? 1.0 / COST_TRAINING_FORWARDS : 1;
    for (uint32_t i = 0; elapsed_us != NULL && i < count; i++) elapsed_us[i] = 0;
    for (uint32_t i = 0; i < count; i++) run_kernel(&q, i, l->forward_us, gpu_us[i] * forward);
    for (uint32_t i = count; is_training && i > 0; i--)
        run_kernel(&q, i - 1, l->backward_us, gpu_us[i - 1] * (1 - forward));
    return q.ended_us;
}

/* --- Effects ------------------------------------------------------------------------------------------------- */

/* Scales what the GPU waits for each kernel. */
static void scale_waits(host_effect *e, double scale) {
    for (uint32_t i = 0; i < e->count; i++) e->elapsed_us[i] = e->gpu_us[i] + scale * (e->elapsed_us[i] - e->gpu_us[i]);
}

/* Steps follow each other: where kernels take four times as long as their launches or more, the GPU is behind, and the
 * start of a step hides behind the kernels of the one before. */
static double visible_share(double ratio) {
    static const double NONE = 0.25, ALL = 0.5;
    return fmin(1, fmax(0, (ratio - NONE) / (ALL - NONE)));
}

static void measure_effect(host_effect *e) {
    double gpu_us = 0;
    for (uint32_t i = 0; i < e->count; i++) gpu_us += e->gpu_us[i];
    double queued_us = host_queue_us(&e->launches, e->gpu_us, e->count, e->elapsed_us);
    e->ratio = gpu_us > 0 ? host_total_us(&e->launches, e->count) / gpu_us : INFINITY;
    double visible = visible_share(e->ratio);
    scale_waits(e, visible);
    e->step_us = gpu_us + visible * (queued_us - gpu_us);
    e->share = fmax(0, 1 - gpu_us / e->step_us);
}

ft_status host_effect_make(const host_run *run, arena *memory, host_effect *effect, ft_error *error) {
    *effect = (host_effect){.gpu_us = run->gpu_us, .count = run->count};
    FT_TRY(host_launches_of(run->request, run->runtime, run->mode, run->is_mixed, &effect->launches, error));
    effect->elapsed_us = ARENA_ARRAY(memory, double, (size_t)run->count + 1);
    if (effect->elapsed_us == NULL) return FT_NOMEM(error);
    measure_effect(effect);
    return FT_OK;
}

void host_effect_limit(host_effect *e, double longest_us) {
    if (!(e->step_us > longest_us)) return;
    e->launches = host_limit(e->launches, e->count, longest_us);
    measure_effect(e);
    double least_us = (1 - e->share) * e->step_us; /* of the kernels; the last one ends after its launch */
    double limited_us = fmin(e->step_us, fmax(longest_us, least_us));
    for (uint32_t i = 0; i < e->count; i++) e->elapsed_us[i] *= limited_us / e->step_us;
    e->step_us = limited_us;
    e->share = fmax(0, 1 - least_us / limited_us);
}

double host_effect_width(const host_effect *e, double kernels) {
    double launches = log(e->launches.interval_ratio), larger = fmax(kernels, launches);
    double bound = fmin(1, fmax(e->share, 1 - 1 / fmax(e->ratio, 0.5))), rest = fmin(1, fmax(0, 1 - bound));
    return sqrt(rest * rest * kernels * kernels + bound * launches * launches + bound * rest * larger * larger);
}
