/* ethos_u.c - the family "ethos-u": saving, loading and predicting; ethos_u_fit.c fits it. */
#include "predictor/npu/ethos_u.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/families.h"
#include "predictor/core/family_common.h"

static const char *const metric_names[] = {
    [ETHOS_TIME] = "time_us",    [ETHOS_CYCLES] = "total_cycles", [ETHOS_ENGINE] = "npu_cycles",
    [ETHOS_SRAM] = "sram_bytes", [ETHOS_DRAM] = "dram_bytes",     [ETHOS_FLASH] = "flash_bytes"};
enum { METRICS = sizeof metric_names / sizeof metric_names[0] };

bool ethos_metric_find(const char *name, ethos_metric *metric) {
    for (int i = 0; i < METRICS; i++) {
        if (strcmp(metric_names[i], name) != 0) continue;
        *metric = (ethos_metric)i;
        return true;
    }
    return false;
}

ft_status ethos_set_devices(ethos_model *m, const char *const *devices, uint32_t count, ft_error *error) {
    if (count > NPU_ARCHS)
        return ft_fail(error, FT_ERR_UNSUPPORTED, "has %u devices, but there are only %d Ethos-U", count, NPU_ARCHS);
    m->device_count = count;
    for (uint32_t i = 0; i < count; i++) {
        m->archs[i] = npu_arch_find(devices[i]);
        if (m->archs[i] == NULL)
            return ft_fail(error, FT_ERR_UNSUPPORTED, "'%s' is not an Ethos-U, the only devices of this family",
                           devices[i]);
    }
    return FT_OK;
}

/* Bytes per weight, and per pass or slice; schedules compute with whole bytes of 64 bits. */
static const double MAX_WEIGHT_BYTES = 1e3, MAX_STORED_BYTES = 1e9;

/* --- Saving and loading -------------------------------------------------------------------------------------- */

static ft_status save(const void *model, json_t **params, float_block *block, ft_error *error) {
    const ethos_model *m = model;
    float codes[COMPRESSION_TERMS], stores[STORE_TERMS];
    for (int i = 0; i < COMPRESSION_TERMS; i++) codes[i] = (float)m->codes.unit_bytes[i];
    bool is_added = float_block_add(block, codes, COMPRESSION_TERMS);
    for (uint32_t d = 0; d < m->device_count && is_added; d++) {
        for (int i = 0; i < STORE_TERMS; i++) stores[i] = (float)m->stores[d][i];
        is_added = float_block_add(block, stores, STORE_TERMS);
    }
    if (!is_added) return FT_NOMEM(error);
    *params = json_with(json_object(), "metric", json_string(metric_names[m->metric]));
    return *params != NULL ? FT_OK : FT_NOMEM(error);
}

static ft_status parse_metric(const json_t *params, ethos_metric *metric, ft_error *error) {
    const char *name = json_string_value(json_object_get(params, "metric"));
    if (name != NULL && ethos_metric_find(name, metric) && json_object_size(params) == 1) return FT_OK;
    return ft_fail(error, FT_ERR_DAMAGED, "must have one parameter, a metric of 'ethos-u'");
}

static ft_status load(const json_t *params, const float *block, size_t count, const char *const *devices,
                      uint32_t device_count, void **out, ft_error *error) {
    ethos_model m = {0};
    FT_TRY(parse_metric(params, &m.metric, error));
    FT_TRY(ethos_set_devices(&m, devices, device_count, error));
    size_t expected = COMPRESSION_TERMS + (size_t)device_count * STORE_TERMS;
    if (count != expected)
        return ft_fail(error, FT_ERR_DAMAGED, "has %zu unit costs, but %zu are expected", count, expected);
    FT_TRY(block_check(block, COMPRESSION_TERMS, 0, MAX_WEIGHT_BYTES, "bytes of a weight", error));
    FT_TRY(block_check(block + COMPRESSION_TERMS, count - COMPRESSION_TERMS, 0, MAX_STORED_BYTES, "bytes of storage",
                       error));
    for (int i = 0; i < COMPRESSION_TERMS; i++) m.codes.unit_bytes[i] = (double)block[i];
    for (uint32_t d = 0; d < device_count; d++) {
        for (int i = 0; i < STORE_TERMS; i++)
            m.stores[d][i] = (double)block[COMPRESSION_TERMS + d * STORE_TERMS + (uint32_t)i];
    }
    ethos_model *kept = malloc(sizeof *kept);
    if (kept == NULL) return FT_NOMEM(error);
    *kept = m;
    *out = kept;
    return FT_OK;
}

static void ethos_free(void *model) {
    ethos_model *m = model;
    free(m);
}

/* --- Predicting ---------------------------------------------------------------------------------------------- */

void ethos_store_amounts(const npu_net *net, const npu_totals *n, double amounts[static STORE_TERMS]) {
    amounts[0] = 1;
    amounts[1] = net->pass_count;
    amounts[2] = n->constant_bytes;
    amounts[3] = (double)net->cpu_constant_bytes;
    amounts[4] = n->scale_bytes;
    amounts[5] = n->slices;
    amounts[6] = n->elementwise_passes;
}

static double stored(const ethos_model *m, uint32_t device, const npu_net *net, const npu_totals *n) {
    double amounts[STORE_TERMS], bytes = n->weight_bytes;
    ethos_store_amounts(net, n, amounts);
    for (int i = 0; i < STORE_TERMS; i++) bytes += amounts[i] * m->stores[device][i];
    return bytes;
}

static double value_of(const ethos_model *m, uint32_t device, const npu_net *net, const npu_totals *n, double samples) {
    enum { MIN_BYTES = 16 }; /* the granularity of allocations */
    switch (m->metric) {
    case ETHOS_TIME:
        return n->total_cycles / m->archs[device]->clock_hz * 1e6 * samples;
    case ETHOS_CYCLES:
        return n->total_cycles * samples;
    case ETHOS_ENGINE:
        return n->npu_cycles * samples;
    case ETHOS_SRAM:
        return fmax(n->sram_bytes, MIN_BYTES);
    case ETHOS_DRAM:
        return stored(m, device, net, n) + n->arena_bytes;
    case ETHOS_FLASH:
        break;
    }
    return stored(m, device, net, n);
}

/* How much the value moves with the bytes of the weights, which are uncertain, and a little for all the rest. */
static double spread_of(const ethos_model *m, double expected, double large, const npu_net *net) {
    const double computed = 0.004, counted = 0.02, assumed = 0.1;
    double minimum = m->metric == ETHOS_FLASH ? counted : computed;
    return minimum + fabs(log(large / expected)) + (net->types != TYPES_QUANTISED ? assumed : 0);
}

/* --- What the value leaves out ------------------------------------------------------------------------------- */

enum { MAX_LISTED = 3, REASON_SIZE = 400 };

static void add_text(char *text, const char *format, ...) FT_PRINTF(2, 3);
static void add_text(char *text, const char *format, ...) {
    size_t used = strlen(text);
    va_list args;
    assert(used < REASON_SIZE);
    va_start(args, format);
    vsnprintf(text + used, REASON_SIZE - used, format, args);
    va_end(args);
}

/* Operators on the CPU by their types, the first ones by name. */
static void add_cpu_types(const ft_graph *bound, const npu_net *net, char *text) {
    const char *types[MAX_LISTED] = {NULL};
    uint32_t counts[MAX_LISTED] = {0}, listed = 0, others = 0;
    for (uint32_t i = 0; i < net->step_count; i++) {
        if (!net->steps[i].is_cpu) continue;
        const char *type = ft_graph_ops(bound)[net->steps[i].index].type;
        uint32_t k = 0;
        while (k < listed && strcmp(types[k], type) != 0) k++;
        if (k == MAX_LISTED) {
            others++;
            continue;
        }
        if (k == listed) types[listed++] = type;
        counts[k]++;
    }
    for (uint32_t k = 0; k < listed; k++) {
        add_text(text, "%s%.60s", k > 0 ? ", " : "", types[k]);
        if (counts[k] > 1) add_text(text, " (%u)", counts[k]);
    }
    if (others > 0) add_text(text, " and %u others", others);
}

/* Names the assumed types, and the operators whose time is not part of the value. *reason NULL: nothing is missing. */
static ft_status find_reason(const ft_graph *bound, const npu_net *net, double coverage, arena *memory,
                             const char **reason, ft_error *error) {
    static const char *const assumed[] = {
        [TYPES_QUANTISED] = "",
        [TYPES_PAIRS] = "pairs of QuantizeLinear and DequantizeLinear are assumed to be fused into int8 operators",
        [TYPES_FLOAT] = "the model is not quantised: int8 weights and activations are assumed"};
    char text[REASON_SIZE] = "";
    add_text(text, "%s", assumed[net->types]);
    if (net->cpu_ops > 0) {
        add_text(text, "%s%u operator%s run%s on the CPU, with %.3g %% of the work, and %s not part of the time: ",
                 text[0] != '\0' ? "; " : "", net->cpu_ops, net->cpu_ops > 1 ? "s" : "", net->cpu_ops > 1 ? "" : "s",
                 100 * (1 - coverage), net->cpu_ops > 1 ? "are" : "is");
        add_cpu_types(bound, net, text);
    }
    *reason = text[0] != '\0' ? arena_string(memory, text, strlen(text)) : NULL;
    return text[0] == '\0' || *reason != NULL ? FT_OK : FT_NOMEM(error);
}

/* Floats have no place on the accelerator, and the model is the same whatever integers a request names. */
static ft_status check_dtype(const npu_net *net, ft_dtype dtype, ft_error *error) {
    bool is_possible = dtype == FT_DTYPE_UNKNOWN || dtype == FT_INT8 || dtype == FT_UINT8 ||
                       (net->types == TYPES_QUANTISED && !ft_dtype_is_float(dtype));
    if (is_possible) return FT_OK;
    return ft_fail(error, FT_ERR_UNSUPPORTED,
                   "an Ethos-U computes with integers, and networks of %s cannot be predicted", ft_dtype_name(dtype));
}

/* A part for each operator that has passes, together with operators fused into them and views. */
static ft_status make_parts(const ethos_model *m, const predict_input *in, const npu_net *net, const npu_result *result,
                            model_output *out, ft_error *error) {
    const ft_graph *bound = in->view->bound;
    uint32_t ops = ft_graph_op_count(bound);
    uint32_t *part_of = ARENA_ARRAY(in->memory, uint32_t, (size_t)ops + 1);
    ft_part *parts = ARENA_ARRAY(in->memory, ft_part, (size_t)net->pass_count + 1);
    uint32_t *lists = ARENA_ARRAY(in->memory, uint32_t, (size_t)ops + 1);
    uint32_t *next = ARENA_ARRAY(in->memory, uint32_t, (size_t)net->pass_count + 2); /* position in `lists`, by part */
    if (part_of == NULL || parts == NULL || lists == NULL || next == NULL) return FT_NOMEM(error);
    double scale =
        (m->metric == ETHOS_TIME ? 1e6 / m->archs[in->target->index]->clock_hz : 1) * npu_runs_per_batch(bound);
    uint32_t count = 0;
    for (uint32_t i = 0; i < net->pass_count; i++) {
        uint32_t op = net->passes[i].op;
        assert(op < ops);
        if (part_of[op] == 0) {
            part_of[op] = ++count;
            parts[count - 1].type = ft_graph_ops(bound)[op].type;
        }
        parts[part_of[op] - 1].value += result->pass_cycles[i] * scale;
    }
    for (uint32_t i = 0; i < ops; i++) { /* operators without passes of their own follow what they read */
        const ft_op *op = &ft_graph_ops(bound)[i];
        const ft_tensor *x =
            op->input_count > 0 && op->inputs[0] != FT_NONE ? &ft_graph_tensors(bound)[op->inputs[0]] : NULL;
        bool is_cpu = op->is_folded || x == NULL || x->producer == FT_NONE || !npu_is_supported(net, i);
        if (part_of[i] == 0 && !is_cpu) part_of[i] = part_of[x->producer];
    }
    for (uint32_t i = 0; i < ops; i++) {
        if (part_of[i] != 0) parts[part_of[i] - 1].op_count++;
    }
    for (uint32_t k = 0; k < count; k++) {
        parts[k].ops = lists + next[k];
        next[k + 1] = next[k] + parts[k].op_count;
    }
    for (uint32_t i = 0; i < ops; i++) {
        if (part_of[i] != 0) lists[next[part_of[i] - 1]++] = i;
    }
    out->parts = parts;
    out->part_count = count;
    return FT_OK;
}

static ft_status predict(const void *model, const predict_input *in, model_output *out, ft_error *error) {
    const ethos_model *m = model;
    const npu_net *net;
    const npu_result *result;
    uint32_t device = in->target->index;
    double samples = npu_runs_per_batch(in->view->bound), coverage;
    FT_TRY(npu_view_net(in->view, &net, error));
    FT_TRY(check_dtype(net, in->view->request.dtype, error));
    FT_TRY(npu_view_result(in->view, m->archs[device], &m->codes, &result, error));
    FT_TRY(npu_view_coverage(in->view, &coverage, error));
    double expected = value_of(m, device, net, &result->expected, samples);
    double large = value_of(m, device, net, &result->large, samples);
    if (!(expected > 0) || !isfinite(expected)) expected = MIN_PREDICTED_VALUE;
    if (!(large > 0) || !isfinite(large)) large = expected;
    static const ft_provenance provenance[] = {
        [TYPES_QUANTISED] = FT_LEARNED, [TYPES_PAIRS] = FT_EXTRAPOLATED, [TYPES_FLOAT] = FT_ASSUMED};
    *out = (model_output){.value = expected,
                          .spread = spread_of(m, expected, large, net),
                          .coverage_ratio = coverage,
                          .provenance = provenance[net->types],
                          .explains_coverage = true};
    FT_TRY(find_reason(in->view->bound, net, coverage, in->memory, &out->reason, error));
    bool is_sum = m->metric == ETHOS_TIME || m->metric == ETHOS_CYCLES;
    if (!in->has_parts || !is_sum) return FT_OK;
    return make_parts(m, in, net, result, out, error);
}

const family family_ethos_u = {
    .name = "ethos-u",
    .text = "Arm Ethos-U as Vela compiles for it: computed pass by pass, with learned sizes of weights",
    .schema = "ethos-u 1",
    .setting_keys = "",
    .capabilities = FAMILY_TYPES_AS_SIZES | FAMILY_FEW_PARAMETERS,
    .settings = &ethos_setting,
    .setting_count = 1,
    .fit = ethos_fit,
    .save = save,
    .load = load,
    .predict = predict,
    .free = ethos_free,
};
