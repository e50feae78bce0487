/* worker.c - the process of a worker: opens the predictors, then answers one job after the other until its socket is
 * closed. Models that it has read stay open, the least recently used are dropped. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job.h"
#include "problem.h"
#include "serve.h"

enum { MAX_MODELS = 16, MAX_PREDICTORS = 2 * SERVE_MAX_NAMES };

typedef struct open_model {
    char *key;
    ft_graph *graph;
    uint64_t used; /* when it was needed last; 0: the slot is empty */
} open_model;

typedef struct worker {
    ft_predictor_set *set;
    const char *const *predictors;
    uint32_t predictor_count;
    open_model models[MAX_MODELS];
    uint64_t clock;
    int body; /* the descriptor of the job; -1: none */
} worker;

/* --- Models ---------------------------------------------------------------------------------------------------- */

static void drop_model(open_model *m) {
    free(m->key);
    ft_graph_free(m->graph);
    *m = (open_model){0};
}

static void drop_models(worker *w) {
    for (int i = 0; i < MAX_MODELS; i++) drop_model(&w->models[i]);
}

static ft_status fail(ft_error *error, ft_status status, const char *message) {
    return error_set(error, status, "%s", message);
}

/* Bytes from a client: nothing beside them is opened. */
static ft_status read_bytes(int fd, const char *name, ft_graph **graph, ft_error *error) {
    struct stat info;
    if (fd < 0 || fstat(fd, &info) != 0) return fail(error, FT_ERR_IO, "the model cannot be read");
    if (info.st_size == 0) return fail(error, FT_ERR_FORMAT, "the model is empty");
    void *bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED) return fail(error, FT_ERR_NOMEM, "out of memory: the model cannot be mapped");
    ft_status status = ft_graph_read_memory(bytes, (size_t)info.st_size, name, graph, error);
    munmap(bytes, (size_t)info.st_size);
    return status;
}

static ft_status read_model(const worker *w, const model_ref *ref, ft_graph **graph, ft_error *error) {
    if (ref->kind == MODEL_PATH) return ft_graph_read(ref->path, graph, error);
    if (ref->kind == MODEL_BUNDLED) return ft_model_read(ref->path, graph, error);
    if (ref->kind == MODEL_BODY) return read_bytes(w->body, ref->name, graph, error);
    int fd = open(ref->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ft_status status = read_bytes(fd, ref->name, graph, error);
    if (fd >= 0) close(fd);
    return status;
}

static open_model *find_slot(worker *w, const char *key) {
    open_model *oldest = &w->models[0];
    for (int i = 0; i < MAX_MODELS; i++) {
        open_model *m = &w->models[i];
        if (m->graph != NULL && strcmp(m->key, key) == 0) return m;
        if (m->used < oldest->used) oldest = m;
    }
    drop_model(oldest);
    return oldest;
}

/* The graph belongs to the worker. */
static ft_status open_ref(worker *w, const model_ref *ref, const ft_graph **graph, ft_error *error) {
    open_model *m = find_slot(w, ref->key);
    if (m->graph == NULL) {
        m->key = strdup(ref->key);
        if (m->key == NULL) return fail(error, FT_ERR_NOMEM, "out of memory");
        ft_status status = read_model(w, ref, &m->graph, error);
        if (status != FT_OK) {
            drop_model(m);
            return status;
        }
    }
    m->used = ++w->clock;
    *graph = m->graph;
    return FT_OK;
}

/* --- Documents ------------------------------------------------------------------------------------------------- */

static const char *type_of(ft_output output) {
    return output == FT_CSV ? type_csv : output == FT_TABLE ? type_table : type_json;
}

static void add_predictors(const ft_predictor_set *set, const char **paths, uint32_t *count) {
    for (uint32_t i = 0; i < ft_predictor_set_count(set) && *count < MAX_PREDICTORS; i++)
        paths[(*count)++] = ft_predictor_set_path(set, i);
}

/* As `foretell list predictors`: the bundled ones of programs come behind those of models. */
static ft_status write_predictors(const worker *w, FILE *stream, const ft_style *style, ft_error *error) {
    const char *paths[MAX_PREDICTORS];
    uint32_t count = 0;
    ft_predictor_set *programs = NULL, *all = NULL;
    if (w->predictor_count > 0) return ft_report_predictors(stream, style, w->set, error);
    add_predictors(w->set, paths, &count);
    if (ft_predictor_set_open_programs(NULL, 0, &programs, NULL) == FT_OK) add_predictors(programs, paths, &count);
    ft_status status = ft_predictor_set_open(paths, count, &all, error);
    if (status == FT_OK) status = ft_report_predictors(stream, style, all, error);
    ft_predictor_set_free(programs);
    ft_predictor_set_free(all);
    return status;
}

static ft_status write_model(FILE *stream, const model_ref *ref, const ft_graph *graph) {
    text t = {0};
    text_put(&t, "{\"id\": ");
    text_json(&t, ref->key);
    text_put(&t, ", \"name\": ");
    text_json(&t, ref->name);
    text_put(&t, ", \"format\": ");
    text_json(&t, ft_format_name(ft_graph_format(graph)));
    text_format(&t, ", \"operators\": %u}\n", ft_graph_op_count(graph));
    bool is_written = !t.failed && fwrite(t.data, 1, t.size, stream) == t.size;
    text_free(&t);
    return is_written ? FT_OK : FT_ERR_NOMEM;
}

/* Memory that models of earlier jobs hold must not fail this one: it is tried again without them. */
static ft_status write_one(worker *w, const ft_command *command, uint32_t index, const model_ref *ref, FILE *stream,
                           ft_error *error) {
    const ft_graph *graph = NULL;
    ft_status status = FT_ERR_NOMEM;
    for (int attempt = 0; attempt < 2 && status == FT_ERR_NOMEM; attempt++) {
        if (attempt > 0) drop_models(w);
        rewind(stream);
        status = open_ref(w, ref, &graph, error);
        if (status != FT_OK) continue;
        status = command == NULL ? write_model(stream, ref, graph)
                                 : ft_command_write(command, index, w->set, graph, ref->name, stream, error);
    }
    return status;
}

/* --- Answers --------------------------------------------------------------------------------------------------- */

static void take_document(ft_document *document, const char *type, job_answer *answer) {
    ft_error error;
    const char *bytes;
    size_t size;
    if (ft_document_text(document, &bytes, &size, &error) != FT_OK || (answer->body = malloc(size + 1)) == NULL) {
        job_answer_fail(answer, 507, FT_ERR_NOMEM, "out of memory");
        return;
    }
    memcpy(answer->body, bytes, size + 1);
    answer->size = size;
    answer->http_status = 200;
    answer->status = FT_OK;
    answer->type = type;
}

/* One request: a document, or a problem. */
static void answer_one(worker *w, const ft_command *command, uint32_t index, const model_ref *ref, job_answer *answer) {
    ft_document *document = NULL;
    ft_error error = {0};
    if (ref->kind == MODEL_PROBLEM) {
        job_answer_fail(answer, ref->http_status, FT_OK, "%s", ref->name);
        return;
    }
    ft_status status = ft_document_open(&document, &error);
    if (status == FT_OK) status = write_one(w, command, index, ref, ft_document_stream(document), &error);
    if (status == FT_OK)
        take_document(document, type_of(ft_command_output(command, index)), answer);
    else
        /* A path that cannot be read is the fault of the request, not of the server. */
        job_answer_fail(answer, status == FT_ERR_IO ? 422 : problem_http_status(status), status, "%s", error.message);
    ft_document_free(document);
}

/* {"answers": [{"status": 200, "answer": DOCUMENT}, {"status": 404, "problem": {...}}]}; texts are strings. */
static void answer_list(worker *w, const ft_command *command, const model_ref *refs, job_answer *answer) {
    text t = {0};
    text_put(&t, "{\"answers\": [\n");
    for (uint32_t i = 0; i < ft_command_count(command); i++) {
        job_answer one = {0};
        answer_one(w, command, i, &refs[i], &one);
        text_format(&t, "%s{\"status\": %u, \"%s\": ", i > 0 ? ",\n" : "", one.http_status,
                    one.http_status == 200 ? "answer" : "problem");
        while (one.size > 0 && one.body[one.size - 1] == '\n') one.body[--one.size] = '\0';
        if (one.body == NULL)
            text_put(&t, "null");
        else if (one.type == type_json || one.type == type_problem)
            text_add(&t, one.body, one.size);
        else
            text_json(&t, one.body);
        text_put(&t, "}");
        free(one.body);
    }
    text_put(&t, "\n]}\n");
    if (t.failed) {
        text_free(&t);
        job_answer_fail(answer, 507, FT_ERR_NOMEM, "out of memory");
        return;
    }
    *answer = (job_answer){200, FT_OK, type_json, t.data, t.size};
}

static void answer_report(const worker *w, bool is_devices, job_answer *answer) {
    ft_document *document = NULL;
    ft_error error = {0};
    ft_style style = ft_style_default();
    style.output = FT_JSON;
    ft_status status = ft_document_open(&document, &error);
    FILE *stream = ft_document_stream(document);
    if (status == FT_OK)
        status = is_devices ? ft_report_devices(stream, &style, w->set, NULL, 0, &error)
                            : write_predictors(w, stream, &style, &error);
    if (status == FT_OK)
        take_document(document, type_json, answer);
    else
        job_answer_fail(answer, problem_http_status(status), status, "%s", error.message);
    ft_document_free(document);
}

static void answer_command(worker *w, const char *name, const char *json, size_t size, const model_ref *refs,
                           uint32_t count, job_answer *answer) {
    ft_command *command = NULL;
    ft_error error = {0};
    ft_status status = ft_command_parse(name, json, size, &command, &error);
    if (status != FT_OK)
        job_answer_fail(answer, problem_http_status(status), status, "%s", error.message);
    else if (count != ft_command_count(command))
        job_answer_fail(answer, 500, FT_ERR_INTERNAL, "a job with another number of models");
    else if (ft_command_is_list(command))
        answer_list(w, command, refs, answer);
    else
        answer_one(w, command, 0, refs, answer);
    ft_command_free(command);
}

/* --- Jobs ------------------------------------------------------------------------------------------------------ */

/* Strings of the references point into the message. */
static bool read_refs(text_reader *r, model_ref *refs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        refs[i].kind = (model_kind)text_read_u32(r);
        refs[i].http_status = text_read_u32(r);
        refs[i].key = (char *)text_read_string(r);
        refs[i].path = (char *)text_read_string(r);
        refs[i].name = (char *)text_read_string(r);
        if (refs[i].key == NULL || refs[i].path == NULL || refs[i].name == NULL) return false;
    }
    return !r->failed;
}

static bool run_job(worker *w, const text *message, job_answer *answer) {
    text_reader r = {message->data, message->data + message->size, false};
    size_t size;
    const char *name = text_read_string(&r), *json = text_read_bytes(&r, &size);
    uint32_t count = text_read_u32(&r);
    if (r.failed || name == NULL || json == NULL || count > FT_MAX_REQUESTS) return false;
    model_ref *refs = calloc((size_t)count + 1, sizeof *refs);
    bool is_sound = refs != NULL && read_refs(&r, refs, count);
    if (is_sound && (strcmp(name, JOB_DEVICES) == 0 || strcmp(name, JOB_PREDICTORS) == 0))
        answer_report(w, strcmp(name, JOB_DEVICES) == 0, answer);
    else if (is_sound && strcmp(name, JOB_READ) == 0 && count == 1)
        answer_one(w, NULL, 0, refs, answer);
    else if (is_sound)
        answer_command(w, name, json, size, refs, count, answer);
    free(refs);
    return is_sound && answer->type != NULL;
}

static bool send_answer(const job_answer *answer) {
    text t = {0};
    job_answer_put(&t, answer);
    bool is_sent = job_send(SERVE_WORKER_FD, &t, -1);
    text_free(&t);
    return is_sent;
}

static bool step(worker *w) {
    text message = {0};
    job_answer answer = {0};
    bool is_late;
    if (!job_receive(SERVE_WORKER_FD, &message, &w->body, -1, &is_late)) return false;
    bool is_sound = run_job(w, &message, &answer) && send_answer(&answer);
    if (w->body >= 0) close(w->body);
    text_free(&message);
    free(answer.body);
    return is_sound;
}

/* Ends with the server, also when that is killed; signals of a terminal are for the server, which ends its workers when
 * all requests are answered. A core of a failed prediction would hold a client's model. */
static void confine(const char *memory) {
    struct rlimit limit = {strtoull(memory, NULL, 10), 0}, no_core = {0, 0};
    limit.rlim_max = limit.rlim_cur;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    if (limit.rlim_cur > 0) setrlimit(RLIMIT_AS, &limit);
    setrlimit(RLIMIT_CORE, &no_core);
}

int serve_worker(int argc, char **argv) {
    worker w = {.predictors = (const char *const *)argv + 1, .predictor_count = (uint32_t)argc - 1, .body = -1};
    ft_error error = {0};
    job_answer ready = {200, FT_OK, type_json, NULL, 0};
    if (argc < 1) return FT_ERR_USAGE;
    confine(argv[0]);
    ft_status status = ft_predictor_set_open(w.predictors, w.predictor_count, &w.set, &error);
    if (status != FT_OK) job_answer_fail(&ready, 500, status, "%s", error.message);
    bool is_up = send_answer(&ready) && status == FT_OK;
    free(ready.body);
    while (is_up && step(&w)) {
    }
    drop_models(&w);
    ft_predictor_set_free(w.set);
    return (int)status;
}
