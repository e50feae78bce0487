/* routes.c - the endpoints: what is answered at once, and what workers answer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "problem.h"
#include "server.h"

/* --- Answers from the cache --------------------------------------------------------------------------------------- */

/* The request up to what decides its answer: route, model in the body, options. */
static bool make_key(request *r) {
    text_format(&r->key, "%zu %s ", (size_t)(r->route - routes), r->id);
    text_add(&r->key, r->body.data, r->body.size);
    return !r->key.failed;
}

static bool is_current(const request *r, const cache_entry *e) {
    for (int i = 0; i < CACHE_MAX_MODELS && e->models[i] != NULL; i++)
        if (!models_is_current(r->s->models, e->models[i], e->model_keys[i])) return false;
    return true;
}

/* False: workers have to answer. */
static bool answer_from_cache(request *r) {
    server *s = r->s;
    pthread_mutex_lock(&s->lock);
    cache_entry *e = cache_find(s->cache, r->key.data, r->key.size);
    if (e != NULL && !is_current(r, e)) {
        cache_remove(s->cache, e);
        e = NULL;
    }
    s->cache_hits += e != NULL;
    s->cache_misses += e == NULL;
    if (e != NULL) request_send_cached(r, e);
    pthread_mutex_unlock(&s->lock);
    return e != NULL;
}

/* Answers about few models are kept. NULL: not this one. */
static cache_entry *new_entry(request *r, const ft_command *command, const model_ref *refs, uint32_t count) {
    if (count > CACHE_MAX_MODELS) return NULL;
    cache_entry *e = calloc(1, sizeof *e);
    bool is_whole = e != NULL;
    for (uint32_t i = 0, used = 0; i < count && is_whole; i++) {
        if (refs[i].kind == MODEL_BODY) continue; /* its hash is in the key */
        if (refs[i].kind == MODEL_PROBLEM || refs[i].key == NULL) {
            is_whole = false;
            break;
        }
        e->models[used] = strdup(ft_command_model(command, i));
        e->model_keys[used] = strdup(refs[i].key);
        is_whole = e->models[used] != NULL && e->model_keys[used] != NULL;
        used++;
    }
    if (!is_whole) {
        cache_entry_free(e);
        return NULL;
    }
    e->key = r->key.data;
    e->key_size = r->key.size;
    r->key = (text){0};
    return e;
}

/* Answers of predictors that were replaced meanwhile are sent, but not kept. */
static void keep_answer(request *r) {
    server *s = r->s;
    if (r->entry == NULL || r->entry->response == NULL) return;
    uint64_t generation = pool_generation(s->pool);
    pthread_mutex_lock(&s->lock);
    if (s->cache_generation != generation) cache_clear(s->cache);
    s->cache_generation = generation;
    if (r->job->generation == generation)
        cache_add(s->cache, r->entry);
    else
        cache_entry_free(r->entry);
    r->entry = NULL;
    pthread_mutex_unlock(&s->lock);
}

/* --- Jobs -------------------------------------------------------------------------------------------------------- */

static void put_ref(text *t, const model_ref *ref) {
    text_add_u32(t, ref->kind);
    text_add_u32(t, ref->http_status);
    text_add_string(t, ref->key);
    text_add_string(t, ref->path);
    text_add_string(t, ref->name);
}

/* An observation is on disk before it is acknowledged. */
static void record_observation(request *r) {
    job_answer *a = &r->job->answer;
    text t = {0};
    ft_error error = {0};
    if (a->http_status != 200) return;
    ft_status status = observations_add(r->s->observations, r->s->models, a->body, a->size, &t, &error);
    if (status == FT_OK && t.failed) status = FT_ERR_NOMEM;
    if (status != FT_OK) {
        text_free(&t);
        job_answer_fail(a, problem_http_status(status), status, "%s", error.message);
        return;
    }
    free(a->body);
    *a = (job_answer){201, FT_OK, type_json, t.data, t.size};
}

/* An upload is kept when a worker could read it. */
static void keep_upload(request *r) {
    job_answer *a = &r->job->answer;
    if (a->http_status != 200) return;
    unsigned http_status = models_keep(r->s->models, r->fd, r->id, r->name, r->received);
    if (http_status == 507)
        job_answer_fail(a, 507, FT_OK, "the folder of models is full (--models-size), or its disk is");
    else
        a->http_status = http_status;
}

static void answer_upload(request *r);
static void answer_observation(request *r);

/* Called by a thread of the pool. */
static void on_done(job *j) {
    request *r = j->user;
    struct MHD_Connection *connection = r->connection;
    if (r->route->answer == answer_observation) record_observation(r);
    if (r->route->answer == answer_upload) keep_upload(r);
    atomic_store(&r->is_done, true);
    http.MHD_resume_connection(connection); /* the request may be gone from here on */
}

static void submit(request *r, const char *json, size_t size, const model_ref *refs, uint32_t count) {
    job *j = calloc(1, sizeof *j);
    if (j == NULL) {
        request_fail(r, 507, "out of memory");
        return;
    }
    *j = (job){.fd = r->fd >= 0 ? dup(r->fd) : -1, .done = on_done, .user = r};
    r->job = j;
    text_add_string(&j->message, r->route->command);
    text_add_bytes(&j->message, json, size);
    text_add_u32(&j->message, count);
    for (uint32_t i = 0; i < count; i++) put_ref(&j->message, &refs[i]);
    j->is_reload = strcmp(r->route->path, "/v1/predictors:reload") == 0;
    if (j->message.failed) {
        request_fail(r, 507, "out of memory");
        return;
    }
    http.MHD_suspend_connection(r->connection);
    if (pool_submit(r->s->pool, j)) return;
    http.MHD_resume_connection(r->connection);
    request_fail(r, 503, "too many requests are waiting");
}

/* Whether the answer of a worker was there to be sent. */
static bool send_job_answer(request *r) {
    if (r->job == NULL || !atomic_load(&r->is_done)) return false;
    job_answer *a = &r->job->answer;
    char *body = a->body;
    a->body = NULL;
    request_send(r, a->http_status, a->type, body, a->size);
    keep_answer(r);
    return true;
}

/* --- Requests about models ---------------------------------------------------------------------------------------- */

/* Observations name uploads by their file, beside which the table is, so that it can be imported as it is. */
static bool name_for_table(request *r, model_ref *ref) {
    char *name = NULL;
    if (ref->kind == MODEL_PROBLEM) return true;
    if (ref->kind == MODEL_PATH || ref->kind == MODEL_BUNDLED)
        name = strdup(ref->path);
    else if (asprintf(&name, "%s.model", ref->key) < 0)
        name = NULL;
    if (name == NULL) return false;
    if (ref->kind == MODEL_BYTES) models_pin(r->s->models, ref->key);
    free(ref->name);
    ref->name = name;
    return true;
}

static bool body_ref(const request *r, const char *name, model_ref *ref) {
    *ref = (model_ref){
        .kind = MODEL_BODY, .key = strdup(r->id), .path = strdup(""), .name = strdup(name != NULL ? name : "model")};
    if (ref->key != NULL && ref->path != NULL && ref->name != NULL) return true;
    model_ref_free(ref);
    return false;
}

/* False: answered with a problem. */
static bool find_models(request *r, const ft_command *command, model_ref *refs) {
    bool is_whole = true;
    for (uint32_t i = 0; i < ft_command_count(command) && is_whole; i++) {
        const char *model = ft_command_model(command, i), *name = ft_command_name(command, i);
        if (!r->is_model && model == NULL) {
            request_fail(r, 400, "model: is absent: give an id, a name or a path, or send the file as the body");
            return false;
        }
        if (r->is_model && model != NULL) {
            request_fail(r, 400, "model: the body is a model, another one is given");
            return false;
        }
        is_whole = r->is_model ? body_ref(r, name, &refs[i]) : models_find(r->s->models, model, name, &refs[i]);
        if (is_whole && r->route->answer == answer_observation) is_whole = name_for_table(r, &refs[i]);
    }
    if (!is_whole) request_fail(r, 507, "out of memory");
    return is_whole;
}

static void submit_command(request *r, const ft_command *command) {
    uint32_t count = ft_command_count(command);
    model_ref *refs = calloc(count, sizeof *refs);
    if (refs == NULL) {
        request_fail(r, 507, "out of memory");
        return;
    }
    if (find_models(r, command, refs)) {
        if (!ft_command_is_list(command) && refs[0].kind == MODEL_PROBLEM) {
            request_fail(r, refs[0].http_status, "%s", refs[0].name);
        } else {
            if (r->route->answer != answer_observation) r->entry = new_entry(r, command, refs, count);
            submit(r, r->body.data, r->body.size, refs, count);
        }
    }
    for (uint32_t i = 0; i < count; i++) model_ref_free(&refs[i]);
    free(refs);
}

/* Options of the address are a JSON object like a body. */
static bool take_options(request *r) {
    if (!r->is_model && r->body.size > 0) return true;
    text_free(&r->body);
    request_put_options(r, &r->body);
    return !r->body.failed;
}

static void parse_command(request *r) {
    ft_command *command = NULL;
    ft_error error = {0};
    if (ft_command_parse(r->route->command, r->body.data, r->body.size, &command, &error) != FT_OK)
        request_fail_status(r, &error);
    else if (ft_command_is_list(command) && r->route->answer == answer_observation)
        request_fail(r, 400, "requests: observations are sent one by one");
    else
        submit_command(r, command);
    ft_command_free(command);
}

static void answer_command(request *r) {
    if (send_job_answer(r)) return;
    if (!take_options(r) || !make_key(r))
        request_fail(r, 507, "out of memory");
    else if (!answer_from_cache(r))
        parse_command(r);
}

/* A model in the body of an observation is kept: the table names it. */
static void answer_observation(request *r) {
    if (send_job_answer(r)) return;
    if (r->s->observations == NULL) {
        request_fail(r, 404, "observations are not kept here: start the server with --models");
        return;
    }
    if (r->is_model && models_keep(r->s->models, r->fd, r->id, NULL, r->received) == 507) {
        request_fail(r, 507, "the folder of models is full (--models-size), or its disk is");
        return;
    }
    if (take_options(r))
        parse_command(r);
    else
        request_fail(r, 507, "out of memory");
}

/* --- Lists ------------------------------------------------------------------------------------------------------- */

static void answer_list(request *r) {
    if (send_job_answer(r)) return;
    if (!make_key(r)) {
        request_fail(r, 507, "out of memory");
    } else if (!answer_from_cache(r)) {
        r->entry = new_entry(r, NULL, NULL, 0);
        submit(r, "", 0, NULL, 0);
    }
}

static void answer_reload(request *r) {
    if (r->job == NULL) {
        submit(r, "", 0, NULL, 0);
        return;
    }
    server *s = r->s;
    pthread_mutex_lock(&s->lock);
    s->reloads += r->job->answer.http_status == 200;
    cache_clear(s->cache);
    pthread_mutex_unlock(&s->lock);
    send_job_answer(r);
}

/* --- Uploads ----------------------------------------------------------------------------------------------------- */

static void answer_upload(request *r) {
    const char *name = request_option(r, "name");
    model_ref ref;
    if (send_job_answer(r)) return;
    if (!models_has_store(r->s->models)) {
        request_fail(r, 404, "uploads are not kept here: start the server with --models");
    } else if (name != NULL && !models_is_name(name)) {
        request_fail(r, 400, "name '%.120s': expected at most %d letters, digits, '.', '_' and '-'", name,
                     MODEL_NAME_MAX);
    } else if (!r->is_model) {
        request_fail(r, 400, "the body is empty: send the file of a model");
    } else if ((name != NULL && (r->name = strdup(name)) == NULL) || !body_ref(r, name, &ref)) {
        request_fail(r, 507, "out of memory");
    } else {
        submit(r, "", 0, &ref, 1);
        model_ref_free(&ref);
    }
}

static void answer_models(request *r) {
    text t = {0};
    models_put_list(r->s->models, &t);
    request_send_text(r, 200, type_json, &t);
}

static void answer_file(request *r) {
    uint64_t size = 0;
    int fd = models_open_file(r->s->models, r->argument, &size);
    if (fd >= 0)
        request_send_file(r, type_bytes, fd, size);
    else
        request_fail(r, 404, "model '%.200s': no upload of this id or name", r->argument);
}

static void answer_delete(request *r) {
    unsigned http_status = models_remove(r->s->models, r->argument);
    if (http_status == 204)
        request_send(r, 204, NULL, NULL, 0);
    else if (http_status == 409)
        request_fail(r, 409, "model '%.200s': observations name it", r->argument);
    else
        request_fail(r, 404, "model '%.200s': no upload of this id or name", r->argument);
}

static void answer_table(request *r) {
    uint64_t size = 0;
    int fd = r->s->observations != NULL ? observations_open_file(r->s->observations, &size) : -1;
    if (fd >= 0)
        request_send_file(r, type_csv, fd, size);
    else
        request_fail(r, 404, "observations are not kept here: start the server with --models");
}

/* --- The server --------------------------------------------------------------------------------------------------- */

static void answer_health(request *r) {
    text t = {0};
    text_put(&t, "{\"status\": \"ok\"}\n");
    request_send_text(r, 200, type_json, &t);
}

static void answer_ready(request *r) {
    if (atomic_load(&r->s->is_draining))
        request_fail(r, 503, "the server is stopping");
    else
        answer_health(r);
}

static void put_cache(text *t, server *s) {
    uint64_t uploads = 0, bytes = 0;
    metrics_put(t, "foretell_cache_hits_total", "counter", "Answers from the cache.", (double)s->cache_hits);
    metrics_put(t, "foretell_cache_misses_total", "counter", "Answers that were not in the cache.",
                (double)s->cache_misses);
    metrics_put(t, "foretell_predictor_reloads_total", "counter", "Times that the predictors were reloaded.",
                (double)s->reloads);
    models_get_totals(s->models, &uploads, &bytes);
    metrics_put(t, "foretell_models", "gauge", "Uploads that are kept.", (double)uploads);
    metrics_put(t, "foretell_models_bytes", "gauge", "Bytes of the uploads that are kept.", (double)bytes);
}

static void put_pool(text *t, pool *p) {
    pool_state state = pool_get_state(p);
    metrics_put(t, "foretell_workers", "gauge", "Worker processes.", state.workers);
    metrics_put(t, "foretell_workers_busy", "gauge", "Worker processes that answer a request.", state.busy);
    metrics_put(t, "foretell_requests_waiting", "gauge", "Requests that wait for a worker.", state.waiting);
    metrics_put(t, "foretell_worker_starts_total", "counter", "Worker processes that were started.",
                (double)state.starts);
    metrics_put(t, "foretell_worker_timeouts_total", "counter", "Requests that took too long.", (double)state.timeouts);
    metrics_put(t, "foretell_worker_crashes_total", "counter", "Worker processes that ended in a request.",
                (double)state.crashes);
}

static void answer_metrics(request *r) {
    server *s = r->s;
    text t = {0};
    text_format(&t,
                "# HELP foretell_build_info Version of foretell.\n# TYPE foretell_build_info gauge\n"
                "foretell_build_info{version=\"%s\"} 1\n",
                ft_version_string());
    pthread_mutex_lock(&s->lock);
    metrics_put_routes(&t, s->metrics, route_count() + 1);
    put_cache(&t, s);
    pthread_mutex_unlock(&s->lock);
    put_pool(&t, s->pool);
    metrics_put(&t, "foretell_http_connections", "gauge", "Open connections.", atomic_load(&s->client_count));
    metrics_put(&t, "foretell_http_requests_active", "gauge", "Requests under way.", atomic_load(&s->active));
    if (s->observations != NULL) observations_put_metrics(s->observations, &t);
    metrics_put_process(&t);
    request_send_text(r, 200, type_metrics, &t);
}

static void answer_openapi(request *r) {
    text t = {0};
    text_add(&t, openapi_text, strlen(openapi_text));
    request_send_text(r, 200, type_json, &t);
}

/* --- The table --------------------------------------------------------------------------------------------------- */

const route routes[] = {
    {"POST", "/v1/predict", BODY_REQUEST, false, "predict", answer_command},
    {"POST", "/v1/fits", BODY_REQUEST, false, "fits", answer_command},
    {"POST", "/v1/max-batch", BODY_REQUEST, false, "max-batch", answer_command},
    {"POST", "/v1/inspect", BODY_REQUEST, false, "inspect", answer_command},
    {"POST", "/v1/observations", BODY_REQUEST, false, "observe", answer_observation},
    {"GET", "/v1/observations", BODY_NONE, false, NULL, answer_table},
    {"POST", "/v1/models", BODY_MODEL, false, JOB_READ, answer_upload},
    {"GET", "/v1/models", BODY_NONE, false, NULL, answer_models},
    {"GET", "/v1/models/", BODY_NONE, false, NULL, answer_file},
    {"DELETE", "/v1/models/", BODY_NONE, false, NULL, answer_delete},
    {"GET", "/v1/devices", BODY_NONE, false, JOB_DEVICES, answer_list},
    {"GET", "/v1/predictors", BODY_NONE, false, JOB_PREDICTORS, answer_list},
    {"POST", "/v1/predictors:reload", BODY_NONE, false, JOB_PREDICTORS, answer_reload},
    {"GET", "/metrics", BODY_NONE, false, NULL, answer_metrics},
    {"GET", "/openapi.json", BODY_NONE, false, NULL, answer_openapi},
    {"GET", "/healthz", BODY_NONE, true, NULL, answer_health},
    {"GET", "/readyz", BODY_NONE, true, NULL, answer_ready},
};

size_t route_count(void) {
    return sizeof routes / sizeof routes[0];
}

static bool has_path_of(const route *candidate, const char *path) {
    size_t length = strlen(candidate->path);
    if (candidate->path[length - 1] != '/') return strcmp(candidate->path, path) == 0;
    return strncmp(candidate->path, path, length) == 0 && path[length] != '\0';
}

/* HEAD is GET; libmicrohttpd leaves out the body. */
const route *route_find(const char *method, const char *path, bool *has_path, char *allowed, size_t size) {
    const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;
    size_t used = 0;
    for (size_t i = 0; i < route_count(); i++) {
        if (!has_path_of(&routes[i], path)) continue;
        if (strcmp(routes[i].method, wanted) == 0) return &routes[i];
        *has_path = true;
        if (used < size)
            used += (size_t)snprintf(allowed + used, size - used, "%s%s", used > 0 ? ", " : "", routes[i].method);
    }
    return NULL;
}
