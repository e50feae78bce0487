/* flow_model.c - flows of results and of models: the parts that become kernels. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "cost/cost.h"
#include "forecast/report.h"
#include "replay/flow.h"

static void kernels_as_parts(const ft_kernels *kernels, ft_part *parts) {
    for (uint32_t i = 0; i < kernels->count; i++) {
        const ft_kernel *k = &kernels->items[i];
        parts[i] = (ft_part){.type = k->type, .ops = k->ops, .op_count = k->op_count, .value = NAN};
    }
}

/* --- Models ---------------------------------------------------------------------------------------------------- */

static double work_of(const flow_source *source, const ft_part *part) {
    return work_amount_of(&source->cost, part->ops, part->op_count);
}

/* The kernels of a runtime; `total_us` is divided among them by work, or they have no times when it is NaN. */
static ft_status flow_from_rules(const flow_source *source, const ft_rules *rules, double total_us, ft_flow **flow,
                                 ft_error *error) {
    ft_kernels kernels = {0};
    FT_TRY(ft_graph_fuse(source->bound, rules, &kernels, error));
    ft_part *parts = calloc((size_t)kernels.count + 1, sizeof *parts);
    ft_status status = parts != NULL ? FT_OK : FT_NOMEM(error);
    if (status == FT_OK) {
        double all = 0;
        kernels_as_parts(&kernels, parts);
        for (uint32_t i = 0; i < kernels.count; i++) all += work_of(source, &parts[i]);
        for (uint32_t i = 0; !isnan(total_us) && i < kernels.count; i++)
            parts[i].value = total_us * (all > 0 ? work_of(source, &parts[i]) / all : 1.0 / kernels.count);
        status = flow_from_parts(source, parts, kernels.count, flow, error);
    }
    free(parts);
    ft_kernels_free(&kernels);
    return status;
}

ft_status ft_flow_from_model(const ft_graph *model, const ft_binding *binding, const ft_rules *rules,
                             const ft_cost_options *options, ft_flow **flow, ft_error *error) {
    FT_REQUIRE(error, model, rules, options, flow);
    flow_source source;
    FT_TRY(flow_source_open(ft_graph_name(model), model, binding, options, &source, error));
    ft_status status = flow_from_rules(&source, rules, NAN, flow, error);
    flow_source_close(&source);
    return status;
}

/* --- Results --------------------------------------------------------------------------------------------------- */

/* For a predictor without kernels: divides its time by work among the kernels of the device's runtime. */
static ft_status split_by_work(const flow_source *source, const ft_result *f, ft_flow **flow, ft_error *error) {
    const ft_device *sheet = f->request.sheet;
    ft_device *opened = NULL;
    ft_rules *rules = NULL;
    if (sheet == NULL && ft_device_open(f->request.device, &opened, NULL) == FT_OK) sheet = opened;
    const char *runtime = sheet != NULL ? ft_device_runtime(sheet) : "torch-eager";
    ft_status status = ft_rules_open(runtime, &rules, NULL);
    if (status != FT_OK) status = ft_rules_open(runtime = "torch-eager", &rules, error);
    if (status == FT_OK) status = flow_from_rules(source, rules, ft_result_time(f)->value, flow, error);
    if (status == FT_OK)
        status = flow_note(*flow, error,
                           "the predictor has no times of kernels: its time is divided among the kernels of %s by work",
                           runtime);
    ft_rules_free(rules);
    ft_device_free(opened);
    return status;
}

static ft_status add_notes(ft_flow *flow, const ft_result *f, ft_error *error) {
    for (uint32_t i = 0; i < f->note_count; i++) FT_TRY(flow_note(flow, error, "%s", f->notes[i]));
    return FT_OK;
}

ft_status ft_flow_from_result(const ft_model_results *entry, uint32_t index, ft_flow **flow, ft_error *error) {
    FT_REQUIRE(error, entry, flow);
    const ft_result *f = &entry->results->items[index];
    ft_binding binding = entry->shapes != NULL ? *entry->shapes : (ft_binding){0};
    const ft_cost_options options = request_cost_options(&f->request);
    flow_source source;
    ft_flow *made = NULL;
    const ft_metric_result *time = ft_result_time(f);
    if (isnan(time->value))
        return ft_fail(error, FT_ERR_UNSUPPORTED, "no time to replay on %s: %s", f->request.device,
                       time->missing_reason != NULL ? time->missing_reason : "no predictor covers the request");
    binding.batch = f->request.batch;
    FT_TRY(flow_source_open(entry->file, entry->model, &binding, &options, &source, error));
    ft_status status = time->part_count > 0 ? flow_from_parts(&source, time->parts, time->part_count, &made, error)
                                            : split_by_work(&source, f, &made, error);
    if (status == FT_OK) status = add_notes(made, f, error);
    flow_source_close(&source);
    if (status == FT_OK)
        *flow = made;
    else
        ft_flow_free(made);
    return status;
}

/* --- Training from inference ------------------------------------------------------------------------------------- */

static void derive_kernel(const flow_source *source, ft_flow *flow, uint32_t index) {
    ft_flow_kernel *k = &flow->kernels[index];
    const flow_kernel_info *info = &flow->infos[index];
    if (info->op_count == 0) return;
    work_share share = work_share_of(&source->cost, info->ops, info->op_count);
    double forward = share.forward > 0 ? share.forward : 1;
    k->backward_us = k->time_us * share.backward / forward;
    k->update_us = k->time_us * share.update / forward;
}

ft_status ft_flow_derive_training(ft_flow *flow, const ft_binding *binding, const ft_cost_options *options,
                                  ft_error *error) {
    FT_REQUIRE(error, flow, options);
    flow_source source;
    if (flow->model == NULL)
        return ft_fail(error, FT_ERR_UNSUPPORTED, "%s: the work of its kernels is not known", flow->name);
    FT_TRY(flow_source_open(flow->name, flow->model, binding, options, &source, error));
    for (uint32_t i = 0; i < flow->count; i++) derive_kernel(&source, flow, i);
    ft_status status = flow_add_memory_steps(flow, &source, error);
    flow_source_close(&source);
    FT_TRY(status);
    return flow_note(flow, error, "backward pass and update are derived from the forward pass by the work of each");
}
