/* training.c - memory of a training step whose graph is transformed first: a language model with its loss, adapters,
 * or a model that is divided between devices.
 *
 * The model is bound to a micro-batch, gets adapters, is divided into the graphs of ranks, one for each stage of the
 * pipeline, and gets its loss. The timeline of each graph is replayed through the allocator; the stage that needs most
 * is the result. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cost/allocator.h"
#include "forecast/job.h"
#include "training/training.h"

/* CUDA's context with its libraries, and buffers of NCCL where there are several ranks: assumed. */
static const double CONTEXT_BYTES = 600.0 * 1024 * 1024, EXCHANGE_BYTES = 400.0 * 1024 * 1024;

enum { TRAINING_PARTS = 9, MAX_STAGES_LISTED = 16 };

static uint32_t at_least_one(uint32_t count) {
    return count > 0 ? count : 1;
}

/* --- Which requests ---------------------------------------------------------------------------------------------- */

bool context_is_language(const forecast_context *c) {
    return ft_graph_meta(c->model, "model_type") != NULL;
}

bool context_has_symbol(const forecast_context *c, const char *name) {
    for (uint32_t i = 0; i < c->model->symbol_count; i++)
        if (strcmp(c->model->symbols[i], name) == 0) return context_is_language(c);
    return false;
}

bool request_is_divided(const ft_request *r) {
    const ft_parallel *p = &r->parallel;
    return p->tensor > 1 || p->pipeline > 1 || p->expert > 1 || p->context > 1 || p->data > 1;
}

static bool is_transformed(const ft_training *t) {
    return t->recompute != FT_RECOMPUTE_NONE || t->precision != FT_PRECISION_AUTO || t->micro_batch > 0 ||
           t->accumulation > 1 || t->loss_chunks > 1 || t->lora_rank > 0;
}

bool job_is_training(const forecast_job *job) {
    const ft_request *r = &job->out->request;
    if (r->mode != FT_TRAIN) return false;
    return context_is_language(job->context) || request_is_divided(r) || is_transformed(&r->training);
}

/* --- Micro-batches and sizes ------------------------------------------------------------------------------------- */

/* The batch is that of a data-parallel rank. */
typedef struct step_plan {
    int64_t micro_batch;
    uint32_t micro_batches;
    ft_parallel parallel;
} step_plan;

static step_plan plan_step(const ft_request *r, int64_t batch) {
    const ft_training *t = &r->training;
    int64_t micro =
        t->micro_batch > 0 ? t->micro_batch : (int64_t)num_div_up((uint64_t)batch, at_least_one(t->accumulation));
    if (micro > batch) micro = batch;
    uint64_t count = num_div_up((uint64_t)batch, (uint64_t)micro);
    step_plan plan = {.micro_batch = micro, .parallel = r->parallel};
    plan.micro_batches = count < FT_MAX_MICRO_BATCHES ? (uint32_t)count : FT_MAX_MICRO_BATCHES;
    return plan;
}

/* The value of a symbol in the binding; 0: it has none. */
static int64_t symbol_value(const ft_binding *shapes, const char *name) {
    for (uint32_t i = 0; shapes != NULL && i < shapes->shape_count; i++)
        if (strcmp(shapes->shapes[i].name, name) == 0 && shapes->shapes[i].rank == 1) return shapes->shapes[i].dims[0];
    return 0;
}

static void set_symbol(ft_binding *binding, ft_shape_binding *items, const char *name, int64_t value) {
    for (uint32_t i = 0; i < binding->shape_count; i++) {
        if (strcmp(items[i].name, name) != 0) continue;
        items[i].dims[0] = value;
        return;
    }
    items[binding->shape_count++] = (ft_shape_binding){.name = name, .rank = 1, .dims = {value}};
}

enum { TRAINING_SYMBOLS = 3 };

/* The model bound to a micro-batch, on the part of the sequence that a rank has. */
static ft_status bind_step(const forecast_job *job, const step_plan *plan, ft_graph **bound, ft_error *error) {
    const forecast_context *c = job->context;
    ft_binding binding = c->shapes != NULL ? *c->shapes : (ft_binding){0};
    int64_t sequence = symbol_value(c->shapes, "sequence"), ranks = at_least_one(plan->parallel.context);
    int64_t chunks = at_least_one(job->out->request.training.loss_chunks);
    ft_shape_binding *items =
        ARENA_ARRAY(&job->context->memory, ft_shape_binding, (size_t)binding.shape_count + TRAINING_SYMBOLS);
    if (items == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < binding.shape_count; i++) items[i] = c->shapes->shapes[i];
    if (ranks > 1 && (sequence <= 0 || sequence % ranks != 0))
        return ft_fail(error, FT_ERR_USAGE, "cp: a sequence of %lld cannot be divided between %lld ranks",
                       (long long)sequence, (long long)ranks);
    if (sequence > 0) {
        set_symbol(&binding, items, "sequence", sequence / ranks);
        if (context_has_symbol(c, "logits"))
            set_symbol(&binding, items, "logits", (int64_t)num_div_up((uint64_t)(sequence / ranks), (uint64_t)chunks));
    }
    binding.shapes = items;
    binding.batch = plan->micro_batch;
    return ft_graph_bind(c->model, &binding, bound, error);
}

/* --- Stages ------------------------------------------------------------------------------------------------------ */

static bool is_mixed(const ft_request *r) {
    switch (r->training.precision) {
    case FT_PRECISION_PURE:
        return false;
    case FT_PRECISION_MIXED:
    case FT_PRECISION_FP8:
        return true;
    case FT_PRECISION_AUTO:
        break;
    }
    return ft_dtype_bits(r->dtype) == 16 && r->training.lora_rank == 0;
}

static ft_cost_options options_of_stage(const forecast_job *job, const step_plan *plan, uint32_t stage) {
    const ft_request *r = &job->out->request;
    ft_cost_options options = job_cost_options(job);
    uint32_t stages = at_least_one(plan->parallel.pipeline), in_flight = stages - stage;
    options.is_mixed = is_mixed(r);
    options.sharding = plan->parallel.sharding;
    options.recompute = r->training.recompute;
    options.in_flight = in_flight < plan->micro_batches ? in_flight : plan->micro_batches;
    options.keeps_gathered = stages > 1 && options.sharding == FT_SHARD_WEIGHTS;
    options.has_accumulation = plan->micro_batches > 1;
    options.is_decomposed = strstr(r->setting, "compile=yes") == NULL;
    return options;
}

static ft_status replay_rank(const forecast_job *job, const ft_graph *rank, const ft_cost_options *options,
                             allocator_replay *out, ft_error *error) {
    ft_graph *graph = NULL;
    if (!context_is_language(job->context)) return allocator_replay_steps(rank, NULL, options, UINT64_MAX, out, error);
    FT_TRY(training_loss_add(rank, options->dtype, &graph, error));
    ft_status status = allocator_replay_steps(graph, NULL, options, UINT64_MAX, out, error);
    ft_graph_free(graph);
    return status;
}

static ft_status replay_stage(const forecast_job *job, const ft_graph *model, const step_plan *plan, uint32_t stage,
                              allocator_replay *out, ft_error *error) {
    ft_graph *rank = NULL;
    ft_cost_options options = options_of_stage(job, plan, stage);
    if (!request_is_divided(&job->out->request)) return replay_rank(job, model, &options, out, error);
    FT_TRY(ft_parallel_split(model, &plan->parallel, stage, &rank, error));
    ft_status status = replay_rank(job, rank, &options, out, error);
    ft_graph_free(rank);
    return status;
}

typedef struct stage_list {
    uint32_t count, worst;
    allocator_replay largest;
    double bytes[MAX_STAGES_LISTED]; /* reserved; of the first stages */
} stage_list;

static ft_status replay_stages(const forecast_job *job, const ft_graph *model, const step_plan *plan, stage_list *list,
                               ft_error *error) {
    list->count = at_least_one(plan->parallel.pipeline);
    for (uint32_t stage = 0; stage < list->count; stage++) {
        allocator_replay one;
        FT_TRY(replay_stage(job, model, plan, stage, &one, error));
        if (stage < MAX_STAGES_LISTED) list->bytes[stage] = (double)one.reserved_bytes;
        if (stage > 0 && one.reserved_bytes <= list->largest.reserved_bytes) continue;
        list->largest = one;
        list->worst = stage;
    }
    return FT_OK;
}

/* --- The result -------------------------------------------------------------------------------------------------- */

static ft_status make_parts(forecast_job *job, const allocator_replay *r, double context, ft_error *error) {
    const ft_memory *m = &r->plan;
    double reserved = (double)r->reserved_bytes, live = (double)m->peak_bytes;
    double scale = live > reserved && live > 0 ? reserved / live : 1; /* blocks that were counted but never allocated */
    const struct {
        const char *name;
        double bytes;
    } found[TRAINING_PARTS] = {{"weights", (double)m->weight_bytes * scale},
                               {"gradients", (double)m->gradient_bytes * scale},
                               {"optimizer", (double)(m->optimizer_bytes - m->master_bytes) * scale},
                               {"master_weights", (double)m->master_bytes * scale},
                               {"activations", (double)m->activation_bytes * scale},
                               {"gathered", (double)m->gathered_bytes * scale},
                               {"workspace", (double)m->workspace_bytes * scale},
                               {"allocator", fmax(reserved - live, 0)},
                               {"context", context}};
    ft_metric_result *memory = &job->metrics[METRIC_MEMORY];
    ft_part *parts = ARENA_ARRAY(&job->context->memory, ft_part, TRAINING_PARTS);
    if (parts == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < TRAINING_PARTS; i++) {
        if (!(found[i].bytes > 0)) continue;
        parts[memory->part_count++] = (ft_part){.type = found[i].name, .value = found[i].bytes};
        memory->value += found[i].bytes;
    }
    memory->parts = parts;
    return FT_OK;
}

static ft_status note_stages(forecast_job *job, const stage_list *list, double context, ft_error *error) {
    char text[256] = "";
    uint32_t listed = list->count < MAX_STAGES_LISTED ? list->count : MAX_STAGES_LISTED;
    if (list->count == 1) return FT_OK;
    for (uint32_t i = 0; i < listed; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%.1f", i > 0 ? ", " : "", (list->bytes[i] + context) / (1 << 30));
    }
    return job_note(job, error, "memory is that of pipeline stage %u of %u; stages need %s%s GiB", list->worst + 1,
                    list->count, text, listed < list->count ? ", ..." : "");
}

static ft_status note_plan(forecast_job *job, const step_plan *plan, ft_error *error) {
    const ft_request *r = &job->out->request;
    if (plan->micro_batches > 1)
        FT_TRY(job_note(job, error, "a step has %u micro-batches of %lld", plan->micro_batches,
                        (long long)plan->micro_batch));
    if (r->training.precision == FT_PRECISION_FP8)
        FT_TRY(job_note(job, error, "fp8: activations are kept in 16 bits, products read copies of 8 bits"));
    if (context_is_language(job->context))
        FT_TRY(job_note(job, error, "memory includes cross-entropy in float32; it assumes flash attention%s",
                        strstr(r->setting, "compile=yes") == NULL ? " and norms without a compiler (--compile)" : ""));
    return FT_OK;
}

static ft_status predict_model(forecast_job *job, const ft_graph *bound, const step_plan *plan, ft_error *error) {
    stage_list list = {0};
    ft_graph *model = NULL;
    FT_TRY(training_graph_make(bound, &job->out->request.training, &model, error));
    ft_status status = replay_stages(job, model, plan, &list, error);
    ft_graph_free(model);
    if (status != FT_OK) return status;
    ft_metric_result *memory = &job->metrics[METRIC_MEMORY];
    double context = CONTEXT_BYTES + (request_is_divided(&job->out->request) ? EXCHANGE_BYTES : 0);
    memory->value = 0;
    metric_result_set_provenance(memory, FT_EXTRAPOLATED, 0);
    memory->predictor = "timeline";
    FT_TRY(make_parts(job, &list.largest, context, error));
    if (job->is_point) return FT_OK;
    FT_TRY(note_plan(job, plan, error));
    return note_stages(job, &list, context, error);
}

ft_status job_predict_training(forecast_job *job, ft_error *error) {
    ft_graph *bound = NULL;
    step_plan plan = plan_step(&job->out->request, ft_graph_batch(job->view->bound));
    FT_TRY(bind_step(job, &plan, &bound, error));
    ft_status status = predict_model(job, bound, &plan, error);
    ft_graph_free(bound);
    return status;
}
