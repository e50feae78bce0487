/* serving.c - memory of a language model that is served: a request resolved, its ranks measured, the worst stage of a
 * pipeline as the result.
 *
 * The model is bound to one step of prompts, divided into the graphs of ranks, and each stage is measured once
 * (src/serving/); memory at any batch and context is then a closed form, which results and searches share. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cost/language.h"
#include "forecast/job.h"
#include "graph/opdef.h"
#include "serving/serving.h"

enum { STEP_TOKENS = 2048, USUAL_CONTEXT = 2048, SETTING_SIZE = 768, LIST_SIZE = 384 };

/* The stages of a model in a setting, whatever the batch and the lengths. */
struct context_ranks {
    context_ranks *next;
    ft_parallel parallel;
    serving_setup setup;
    serving_rank *stages;
    uint32_t stage_count;
};

static uint32_t at_least_one(uint32_t count) {
    return count > 0 ? count : 1;
}

/* --- Which requests ---------------------------------------------------------------------------------------------- */

bool asks_for_serving(const ft_serving *s) {
    return s->prompt_tokens != 0 || s->output_tokens != 0 || s->context_tokens != 0 || s->batched_tokens != 0 ||
           s->runtime != NULL || s->weights != NULL || s->kv_format != NULL || s->utilization_ratio != 0 ||
           s->has_no_graphs;
}

/* A single run with given lengths is like that of any other model. */
static bool has_lengths(const ft_binding *shapes) {
    for (uint32_t i = 0; shapes != NULL && i < shapes->shape_count; i++)
        if (strcmp(shapes->shapes[i].name, "sequence") == 0 || strcmp(shapes->shapes[i].name, "past") == 0 ||
            strcmp(shapes->shapes[i].name, "input_ids") == 0)
            return true;
    return false;
}

bool request_is_served(const forecast_context *c, const ft_request *request) {
    if (request->mode != FT_INFER || !c->has_cache) return false;
    if (asks_for_serving(&request->serving) || request_is_divided(request)) return true;
    return context_is_language(c) && !has_lengths(c->shapes);
}

/* --- Resolving --------------------------------------------------------------------------------------------------- */

static ft_status resolve_runtime(forecast_job *job, const serving_runtime **runtime, ft_error *error) {
    ft_serving *s = &job->out->request.serving;
    char names[LIST_SIZE] = "";
    if (s->runtime == NULL) {
        bool is_gpu = job->sheet == NULL || strcmp(ft_device_kind(job->sheet), "gpu") == 0;
        s->runtime = is_gpu ? "vllm" : "llama.cpp";
        if (!job->is_point) FT_TRY(job_note(job, error, "memory is that of %s: --runtime names another", s->runtime));
    }
    *runtime = serving_runtime_find(s->runtime);
    if (*runtime != NULL) {
        s->runtime = (*runtime)->name;
        return FT_OK;
    }
    for (uint32_t i = 0; ft_serving_runtime_name(i) != NULL; i++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "", ft_serving_runtime_name(i));
    }
    return ft_fail(error, FT_ERR_USAGE, "runtime: '%.40s' does not serve language models; there are %s", s->runtime,
                   names);
}

static ft_status resolve_format(const char **name, bool is_cache, ft_error *error) {
    char list[LIST_SIZE];
    if (*name == NULL) return FT_OK;
    const packed_format *f = packed_format_find(*name);
    if (f != NULL && (is_cache ? f->cache_bits : f->bits) > 0) {
        *name = f->name;
        return FT_OK;
    }
    packed_format_list(is_cache, list, sizeof list);
    return ft_fail(error, FT_ERR_USAGE, "%s: '%.40s' is no format of %s; there are %s",
                   is_cache ? "kv_dtype" : "weights", *name, is_cache ? "keys and values" : "weights", list);
}

int64_t serving_longest_context(const ft_graph *model) {
    const char *positions = ft_graph_meta(model, "max_positions");
    long long longest = positions != NULL ? strtoll(positions, NULL, 10) : 0;
    return longest > 0 && longest < FT_MAX_DIM ? longest : 0;
}

static ft_status check_counts(const ft_serving *s, ft_error *error) {
    const struct {
        const char *name;
        int64_t value;
    } counts[] = {{"prompt_tokens", s->prompt_tokens},
                  {"output_tokens", s->output_tokens},
                  {"context", s->context_tokens},
                  {"max_batched_tokens", s->batched_tokens}};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        if (counts[i].value < 0 || counts[i].value > FT_MAX_DIM)
            return ft_fail(error, FT_ERR_USAGE, "%s: %lld tokens are not possible; use 1 to %lld", counts[i].name,
                           (long long)counts[i].value, (long long)FT_MAX_DIM);
    if (s->utilization_ratio >= 0 && s->utilization_ratio <= 1) return FT_OK;
    return ft_fail(error, FT_ERR_USAGE, "gpu_memory_utilization: %g is no share of the memory; use 0.1 to 1",
                   s->utilization_ratio);
}

static ft_status resolve_lengths(forecast_job *job, ft_error *error) {
    ft_serving *s = &job->out->request.serving;
    int64_t longest = serving_longest_context(job->context->model), asked = s->prompt_tokens + s->output_tokens;
    bool is_given = s->context_tokens > 0;
    if (!is_given) s->context_tokens = s->prompt_tokens > 0 ? asked : longest > 0 ? longest : USUAL_CONTEXT;
    if (s->prompt_tokens == 0) s->prompt_tokens = s->context_tokens - s->output_tokens;
    asked = s->prompt_tokens + s->output_tokens;
    if (s->prompt_tokens < 1 || asked > s->context_tokens)
        return ft_fail(error, FT_ERR_USAGE, "context: %lld tokens have no room for a prompt of %lld and %lld more",
                       (long long)s->context_tokens, (long long)(s->prompt_tokens > 0 ? s->prompt_tokens : 1),
                       (long long)s->output_tokens);
    if (longest > 0 && s->context_tokens > longest)
        return ft_fail(error, FT_ERR_USAGE, "context: %lld tokens are more than the %lld that '%s' has by its file",
                       (long long)s->context_tokens, (long long)longest, ft_graph_name(job->context->model));
    if (job->is_point || is_given || asked < s->context_tokens || s->output_tokens > 0 || longest == 0) return FT_OK;
    if (s->context_tokens != longest) return FT_OK;
    return job_note(job, error, "a sequence has the model's maximum of %lld tokens: --context names another",
                    (long long)longest);
}

/* Caches have the type of activations, whatever weights are packed in. */
static ft_dtype dtype_of_file(const ft_graph *model) {
    for (uint32_t i = 0; i < ft_graph_input_count(model); i++) {
        const ft_tensor *t = &ft_graph_tensors(model)[ft_graph_inputs(model)[i]];
        if (ft_dtype_is_float(t->dtype)) return t->dtype;
    }
    return FT_FLOAT16;
}

static ft_status resolve_dtype(forecast_job *job, ft_error *error) {
    ft_request *r = &job->out->request;
    if (r->dtype == FT_DTYPE_UNKNOWN) r->dtype = dtype_of_file(job->context->model);
    if (ft_dtype_is_float(r->dtype) && ft_dtype_bits(r->dtype) >= 16) return FT_OK;
    return ft_fail(error, FT_ERR_USAGE, "dtype: activations are not %s; packed weights are given by --weights",
                   ft_dtype_name(r->dtype));
}

static void add_count(char text[static SETTING_SIZE], const char *key, int64_t value) {
    size_t used = strlen(text);
    if (value > 0) snprintf(text + used, SETTING_SIZE - used, "%s%s=%lld", used > 0 ? ";" : "", key, (long long)value);
}

static void add_word(char text[static SETTING_SIZE], const char *key, const char *value) {
    size_t used = strlen(text);
    if (value != NULL) snprintf(text + used, SETTING_SIZE - used, "%s%s=%s", used > 0 ? ";" : "", key, value);
}

/* What the request asks for, as the setting of the result: one text for tables, JSON and CSV. */
static ft_status write_setting(forecast_job *job, ft_error *error) {
    ft_request *r = &job->out->request;
    const ft_serving *s = &r->serving;
    const ft_parallel *p = &r->parallel;
    char text[SETTING_SIZE], share[32];
    snprintf(text, sizeof text, "%.*s", SETTING_SIZE / 2, r->setting);
    snprintf(share, sizeof share, "%.3g", s->utilization_ratio);
    add_count(text, "batched_tokens", s->batched_tokens);
    add_count(text, "context", s->context_tokens);
    add_count(text, "dp", p->data > 1 ? p->data : 0);
    add_count(text, "ep", p->expert > 1 ? p->expert : 0);
    add_word(text, "graphs", s->has_no_graphs ? "no" : NULL);
    add_word(text, "kv", s->kv_format != NULL ? s->kv_format : ft_dtype_name(r->dtype));
    add_count(text, "pp", p->pipeline > 1 ? p->pipeline : 0);
    add_count(text, "prompt", s->prompt_tokens);
    add_word(text, "runtime", s->runtime);
    add_count(text, "tp", p->tensor > 1 ? p->tensor : 0);
    add_word(text, "utilization", share);
    add_word(text, "weights", s->weights);
    r->setting = arena_string(&job->context->memory, text, strlen(text));
    return r->setting != NULL ? FT_OK : FT_NOMEM(error);
}

ft_status job_resolve_serving(forecast_job *job, ft_error *error) {
    ft_request *r = &job->out->request;
    ft_serving *s = &r->serving;
    const serving_runtime *runtime = NULL;
    if (r->parallel.context > 1)
        return ft_fail(error, FT_ERR_UNSUPPORTED, "cp: contexts of models that are served cannot be divided; use tp");
    if (r->batch == 0) r->batch = 1;
    FT_TRY(check_counts(s, error));
    FT_TRY(resolve_runtime(job, &runtime, error));
    FT_TRY(resolve_format(&s->weights, false, error));
    FT_TRY(resolve_format(&s->kv_format, true, error));
    FT_TRY(resolve_dtype(job, error));
    FT_TRY(resolve_lengths(job, error));
    if (s->batched_tokens == 0) s->batched_tokens = runtime->batched_tokens;
    if (s->utilization_ratio == 0) s->utilization_ratio = runtime->used_ratio;
    return job->is_point ? FT_OK : write_setting(job, error);
}

/* --- Ranks ------------------------------------------------------------------------------------------------------- */

/* Ranks with the same tokens that divide the experts: those of data bring their own. */
static uint32_t ranks_of_experts(const ft_parallel *p) {
    return at_least_one(p->expert < p->tensor ? p->expert : p->tensor);
}

static serving_setup setup_of(const forecast_context *c, const ft_request *r) {
    const ft_serving *s = &r->serving;
    const serving_runtime *runtime = serving_runtime_find(s->runtime);
    bool has_own_memory = r->sheet == NULL || strcmp(ft_device_kind(r->sheet), "gpu") == 0;
    return (serving_setup){.runtime = runtime,
                           .has_host_table = runtime->has_host_table && has_own_memory,
                           .weights = s->weights != NULL ? packed_format_find(s->weights) : NULL,
                           .cache = s->kv_format != NULL ? packed_format_find(s->kv_format) : NULL,
                           .dtype = r->dtype,
                           .file_dtype = dtype_of_file(c->model),
                           .tokens = STEP_TOKENS,
                           .expert_ranks = ranks_of_experts(&r->parallel)};
}

static bool is_same(const context_ranks *c, const ft_parallel *p, const serving_setup *s) {
    const ft_parallel *q = &c->parallel;
    const serving_setup *t = &c->setup;
    return p->tensor == q->tensor && p->pipeline == q->pipeline && p->expert == q->expert && p->data == q->data &&
           s->runtime == t->runtime && s->weights == t->weights && s->cache == t->cache && s->dtype == t->dtype &&
           s->has_host_table == t->has_host_table;
}

static ft_status measure_stage(const ft_graph *bound, const context_ranks *r, uint32_t stage, ft_error *error) {
    ft_graph *rank = NULL;
    FT_TRY(ft_parallel_split(bound, &r->parallel, stage, &rank, error));
    ft_status status = serving_rank_measure(rank, &r->setup, &r->stages[stage], error);
    ft_graph_free(rank);
    return status;
}

static ft_status check_experts(const ft_graph *bound, const ft_parallel *p, ft_error *error) {
    for (uint32_t k = 0; k < bound->op_count; k++)
        if (bound->ops[k].def->cost == COST_MOE) return FT_OK;
    if (p->expert <= 1) return FT_OK;
    return ft_fail(error, FT_ERR_USAGE, "ep: '%s' has no experts that %u ranks could divide", bound->name, p->expert);
}

static bool is_whole(const ft_parallel *p) {
    return p->tensor <= 1 && p->pipeline <= 1 && p->expert <= 1;
}

static ft_status measure_stages(forecast_context *c, context_ranks *r, ft_error *error) {
    ft_graph *bound = NULL;
    r->stage_count = at_least_one(r->parallel.pipeline);
    r->stages = ARENA_ARRAY(&c->memory, serving_rank, r->stage_count);
    if (r->stages == NULL) return FT_NOMEM(error);
    FT_TRY(language_bind_run(c->model, c->shapes, r->setup.tokens, 0, &bound, error));
    ft_status status = check_experts(bound, &r->parallel, error);
    if (status == FT_OK && is_whole(&r->parallel))
        status = serving_rank_measure(bound, &r->setup, &r->stages[0], error);
    else
        for (uint32_t i = 0; i < r->stage_count && status == FT_OK; i++) status = measure_stage(bound, r, i, error);
    ft_graph_free(bound);
    return status;
}

static ft_status find_ranks(forecast_context *c, const ft_request *request, const context_ranks **found,
                            ft_error *error) {
    const serving_setup setup = setup_of(c, request);
    context_ranks *item = c->ranks;
    while (item != NULL && !is_same(item, &request->parallel, &setup)) item = item->next;
    if (item == NULL) {
        item = ARENA_NEW(&c->memory, context_ranks);
        if (item == NULL) return FT_NOMEM(error);
        item->parallel = request->parallel;
        item->setup = setup;
        FT_TRY(measure_stages(c, item, error));
        item->next = c->ranks;
        c->ranks = item;
    }
    *found = item;
    return FT_OK;
}

/* --- Memory ------------------------------------------------------------------------------------------------------ */

static uint32_t exchanging_ranks(const ft_parallel *p) {
    uint64_t tensor = at_least_one(p->tensor), expert = at_least_one(p->expert);
    uint64_t ranks = (tensor > expert ? tensor : expert) * at_least_one(p->pipeline);
    return ranks < UINT32_MAX ? (uint32_t)ranks : UINT32_MAX;
}

/* The largest of the ends of all stages, so that none falls where another stage becomes the worst; the parts are those
 * of the stage with the largest value. */
static void worst_stage(const context_ranks *ranks, const ft_request *r, serving_memory *worst, uint32_t *stage) {
    const ft_serving *s = &r->serving;
    const serving_load load = {.sequences = r->batch,
                               .prompt_tokens = s->prompt_tokens,
                               .context_tokens = s->context_tokens,
                               .batched_tokens = s->batched_tokens,
                               .ranks = exchanging_ranks(&r->parallel),
                               .has_graphs = !s->has_no_graphs};
    double lo = 0, hi = 0;
    *worst = (serving_memory){0};
    *stage = 0;
    for (uint32_t i = 0; i < ranks->stage_count; i++) {
        serving_memory one;
        serving_memory_of(&ranks->stages[i], ranks->setup.runtime, &load, &one);
        lo = fmax(lo, one.lo_bytes);
        hi = fmax(hi, one.hi_bytes);
        if (i > 0 && one.bytes <= worst->bytes) continue;
        *worst = one;
        *stage = i;
    }
    worst->lo_bytes = lo;
    worst->hi_bytes = hi;
}

static void set_memory(const serving_memory *found, ft_metric_result *memory) {
    memory->value = found->bytes;
    memory->lo = fmin(found->lo_bytes, found->bytes);
    memory->hi = fmax(found->hi_bytes, found->bytes);
    memory->predictor = "timeline";
    metric_result_set_provenance(memory, FT_EXTRAPOLATED, 0);
    memory->shares[FT_ASSUMED] = found->bytes > 0 ? found->assumed_bytes / found->bytes : 0;
    memory->shares[FT_EXTRAPOLATED] = 1 - memory->shares[FT_ASSUMED];
    if (memory->shares[FT_ASSUMED] > memory->shares[FT_EXTRAPOLATED]) memory->provenance = FT_ASSUMED;
}

ft_status serving_memory_at(forecast_job *job, ft_metric_result *memory, ft_error *error) {
    const context_ranks *ranks = NULL;
    serving_memory worst;
    uint32_t stage;
    FT_TRY(find_ranks(job->context, &job->out->request, &ranks, error));
    worst_stage(ranks, &job->out->request, &worst, &stage);
    *memory = (ft_metric_result){.metric = "peak_bytes"};
    set_memory(&worst, memory);
    return FT_OK;
}

/* --- The result -------------------------------------------------------------------------------------------------- */

static ft_status make_parts(forecast_job *job, const serving_memory *found, ft_error *error) {
    ft_metric_result *memory = &job->metrics[METRIC_MEMORY];
    ft_part *parts = ARENA_ARRAY(&job->context->memory, ft_part, SERVING_PARTS);
    if (parts == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < found->part_count; i++)
        parts[i] = (ft_part){
            .type = found->parts[i].name, .value = found->parts[i].bytes, .is_assumed = found->parts[i].is_assumed};
    memory->parts = parts;
    memory->part_count = found->part_count;
    return FT_OK;
}

static void add_metric(forecast_job *job, const char *name, double value) {
    ft_metric_result *m = &job->metrics[job->out->metric_count++];
    *m = (ft_metric_result){.metric = name, .value = value, .lo = NAN, .hi = NAN, .predictor = "timeline"};
    metric_result_set_provenance(m, FT_EXTRAPOLATED, 0);
}

/* Bytes that one more token takes in all layers, and what a runtime does with the memory that is left. */
static ft_status add_pool(forecast_job *job, const context_ranks *ranks, const serving_memory *found, uint32_t stage,
                          ft_error *error) {
    const serving_rank *rank = &ranks->stages[stage];
    const ft_request *r = &job->out->request;
    double token_bytes = 0;
    double all = job->sheet != NULL ? ft_device_number(job->sheet, "memory_bytes") : NAN;
    for (uint32_t i = 0; i < rank->cache_count; i++) token_bytes += rank->caches[i].token_bytes;
    if (token_bytes > 0) add_metric(job, "kv_bytes_per_token", token_bytes);
    double rest = found->bytes - found->cache_bytes * (1 + ranks->setup.runtime->margin_ratio);
    double pool = (all * r->serving.utilization_ratio - rest) / (1 + ranks->setup.runtime->margin_ratio);
    if (!ranks->setup.runtime->has_pool || !(pool > 0) || !(token_bytes > 0)) return FT_OK;
    add_metric(job, "kv_pool_tokens", floor(pool / token_bytes));
    double share = r->serving.utilization_ratio;
    char text[32] = "the memory";
    if (share < 1) snprintf(text, sizeof text, "%.3g of the memory", share);
    return job_note(job, error, "%s fills %s: its pool has %.1f GiB for keys and values", r->serving.runtime, text,
                    pool / (1 << 30));
}

static ft_status note_windows(forecast_job *job, const serving_rank *rank, const serving_runtime *runtime,
                              ft_error *error) {
    int64_t window = 0;
    for (uint32_t i = 0; i < rank->cache_count; i++)
        if (rank->caches[i].window > window) window = rank->caches[i].window;
    if (window == 0 || window >= job->out->request.serving.context_tokens || runtime->window_ratio == 0) return FT_OK;
    char text[32] = "the whole context";
    if (runtime->window_ratio < 1) snprintf(text, sizeof text, "%.3g of the context", runtime->window_ratio);
    return job_note(job, error, "layers with a window of %lld tokens need no more, but %s reserves %s (kv_unused)",
                    (long long)window, runtime->name, text);
}

static ft_status note_parts(forecast_job *job, const serving_memory *found, ft_error *error) {
    char text[256] = "";
    for (uint32_t i = 0; i < found->part_count; i++) {
        size_t used = strlen(text);
        if (!found->parts[i].is_assumed) continue;
        snprintf(text + used, sizeof text - used, "%s%s %.0f MiB", used > 0 ? ", " : "", found->parts[i].name,
                 found->parts[i].bytes / (1 << 20));
    }
    return text[0] == '\0' ? FT_OK : job_note(job, error, "assumed: %s", text);
}

ft_status job_predict_serving(forecast_job *job, ft_error *error) {
    const context_ranks *ranks = NULL;
    serving_memory worst;
    uint32_t stage;
    job->metrics[METRIC_TIME].missing_reason =
        "times of serving are not predicted; --shape sequence=N --shape past=N predicts a single run";
    job->out->time_note_count = job->out->note_count;
    FT_TRY(find_ranks(job->context, &job->out->request, &ranks, error));
    worst_stage(ranks, &job->out->request, &worst, &stage);
    set_memory(&worst, &job->metrics[METRIC_MEMORY]);
    FT_TRY(make_parts(job, &worst, error));
    FT_TRY(add_pool(job, ranks, &worst, stage, error));
    FT_TRY(note_windows(job, &ranks->stages[stage], ranks->setup.runtime, error));
    FT_TRY(note_parts(job, &worst, error));
    if (ranks->stage_count == 1) return FT_OK;
    return job_note(job, error, "memory is that of pipeline stage %u of %u", stage + 1, ranks->stage_count);
}
