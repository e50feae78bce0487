/* memory.c - the memory of a step: from a predictor of it, from one that tells each memory of the device, or the
 * timeline of the graph alone. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "cost/memory.h"
#include "forecast/answer.h"

enum { TIMELINE_PARTS = 5, DEVICE_MEMORIES = 3 };

/* --- The timeline -------------------------------------------------------------------------------------------- */

/* What is alive at the highest point. */
static ft_status parts_of(answer *a, const ft_memory *m, ft_error *error) {
    const struct {
        const char *name;
        uint64_t bytes;
    } found[TIMELINE_PARTS] = {{"weights", m->weight_bytes},
                               {"gradients", m->gradient_bytes},
                               {"optimizer", m->optimizer_bytes},
                               {"activations", m->activation_bytes},
                               {"workspace", m->workspace_bytes}};
    ft_part *parts = ARENA_ARRAY(&a->study->memory, ft_part, TIMELINE_PARTS);
    if (parts == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < TIMELINE_PARTS; i++)
        if (found[i].bytes > 0)
            parts[a->out->memory_part_count++] = (ft_part){.type = found[i].name, .value = (double)found[i].bytes};
    a->out->memory_parts = parts;
    return FT_OK;
}

static ft_status from_timeline(answer *a, ft_error *error) {
    const ft_request *request = &a->out->request;
    ft_cost_options options = answer_cost_options(a);
    options.is_mixed = request->mode == FT_TRAIN && ft_dtype_bits(request->dtype) == 16;
    static const char key;
    ft_memory *m = model_view_kept(a->view, &key); /* the same for all devices */
    if (m == NULL) {
        m = ARENA_ARRAY(&a->view->memory, ft_memory, 1);
        if (m == NULL) return FT_NOMEM(error);
        FT_TRY(timeline_walk(a->view->bound, a->cost, &options, &(timeline_events){0}, m, error));
        model_view_keep(a->view, &key, m);
    }
    a->out->memory.value = (double)m->peak_bytes;
    a->out->memory.source = FT_ANALYTIC;
    a->out->memory_by = "timeline";
    return parts_of(a, m, error);
}

/* --- The memories of the device ------------------------------------------------------------------------------ */

/* An accelerator whose compiler plans every byte of its memories takes what it takes in each. Ends of intervals add up
 * to an interval that is wide enough whatever errors have to do with each other. *is_told: there are such memories. */
static ft_status from_memories(answer *a, bool *is_told, ft_error *error) {
    static const struct {
        const char *metric, *part;
    } memories[DEVICE_MEMORIES] = {{"sram_bytes", "sram"}, {"dram_bytes", "dram"}, {"flash_bytes", "flash"}};
    ft_result *out = a->out;
    ft_metric_result sum = {.metric = "peak_bytes"};
    ft_part *parts = ARENA_ARRAY(&a->study->memory, ft_part, DEVICE_MEMORIES);
    uint32_t count = 0;
    if (parts == NULL) return FT_NOMEM(error);
    for (uint32_t m = 0; m < DEVICE_MEMORIES; m++) {
        for (uint32_t i = 0; i < out->other_count; i++) {
            const ft_metric_result *e = &out->others[i];
            if (strcmp(e->metric, memories[m].metric) != 0) continue;
            parts[count++] = (ft_part){.type = memories[m].part, .value = e->value};
            sum.value += e->value;
            sum.lo += e->lo;
            sum.hi += e->hi;
            if (e->source > sum.source) sum.source = e->source; /* as good as the worst of them */
        }
    }
    *is_told = count > 0;
    if (count == 0) return FT_OK;
    out->memory = sum;
    out->memory_by = out->time_by;
    out->memory_parts = parts;
    out->memory_part_count = count;
    return FT_OK;
}

/* --- The whole ----------------------------------------------------------------------------------------------- */

ft_status answer_memory(answer *a, ft_error *error) {
    ft_result *out = a->out;
    told t;
    bool is_told = false;
    out->memory = (ft_metric_result){.metric = "peak_bytes", .value = NAN, .lo = NAN, .hi = NAN, .source = FT_ASSUMED};
    FT_TRY(answer_ask(a, "peak_bytes", &t, error));
    if (t.entry == NULL) {
        FT_TRY(from_memories(a, &is_told, error));
        return is_told ? FT_OK : from_timeline(a, error);
    }
    out->memory = predictor_estimate(t.predictor, t.where.index, &t.says);
    out->memory_by = t.entry->path;
    out->memory_parts = t.says.parts;
    out->memory_part_count = t.says.part_count;
    return FT_OK;
}
