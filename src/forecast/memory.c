/* memory.c - the memory of a step: from a predictor of it, from one of each memory of the device, or from the memory
 * timeline of the graph alone. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "cost/memory.h"
#include "forecast/job.h"

enum { TIMELINE_PARTS = 5, DEVICE_MEMORIES = 3 };

/* --- The timeline -------------------------------------------------------------------------------------------- */

/* The bytes that are alive at the peak. */
static ft_status peak_parts(forecast_job *job, const ft_memory *m, ft_error *error) {
    const struct {
        const char *name;
        uint64_t bytes;
    } found[TIMELINE_PARTS] = {{"weights", m->weight_bytes},
                               {"gradients", m->gradient_bytes},
                               {"optimizer", m->optimizer_bytes},
                               {"activations", m->activation_bytes},
                               {"workspace", m->workspace_bytes}};
    ft_metric_result *memory = &job->metrics[METRIC_MEMORY];
    ft_part *parts = ARENA_ARRAY(&job->context->memory, ft_part, TIMELINE_PARTS);
    if (parts == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < TIMELINE_PARTS; i++)
        if (found[i].bytes > 0)
            parts[memory->part_count++] = (ft_part){.type = found[i].name, .value = (double)found[i].bytes};
    assert(memory->part_count <= TIMELINE_PARTS);
    memory->parts = parts;
    return FT_OK;
}

static ft_status from_timeline(forecast_job *job, ft_error *error) {
    const ft_request *request = &job->out->request;
    ft_cost_options options = job_cost_options(job);
    options.is_mixed = request->mode == FT_TRAIN && ft_dtype_bits(request->dtype) == 16;
    static const char key;
    ft_memory *m = model_view_cached(job->view, &key); /* the same for all devices */
    if (m == NULL) {
        m = ARENA_ARRAY(&job->view->memory, ft_memory, 1);
        if (m == NULL) return FT_NOMEM(error);
        FT_TRY(timeline_walk(job->view->bound, job->cost, &options, &(timeline_events){0}, m, error));
        model_view_cache(job->view, &key, m);
    }
    ft_metric_result *memory = &job->metrics[METRIC_MEMORY];
    memory->value = (double)m->peak_bytes;
    metric_result_set_provenance(memory, FT_EXTRAPOLATED, 0);
    memory->predictor = "timeline";
    return peak_parts(job, m, error);
}

/* --- The memories of the device ------------------------------------------------------------------------------ */

/* The compiler of an NPU plans every byte of each of its memories, and the sum is what a step needs. Ends of intervals
 * add up to an interval that is wide enough whatever the correlation of the errors. *is_found: there are such
 * memories. */
static ft_status from_memories(forecast_job *job, bool *is_found, ft_error *error) {
    static const struct {
        const char *metric, *part;
    } memories[DEVICE_MEMORIES] = {{"sram_bytes", "sram"}, {"dram_bytes", "dram"}, {"flash_bytes", "flash"}};
    ft_metric_result sum = {.metric = "peak_bytes", .provenance = FT_MEASURED};
    ft_part *parts = ARENA_ARRAY(&job->context->memory, ft_part, DEVICE_MEMORIES);
    uint32_t count = 0;
    if (parts == NULL) return FT_NOMEM(error);
    for (uint32_t m = 0; m < DEVICE_MEMORIES; m++) {
        for (uint32_t i = METRIC_OTHERS; i < job->out->metric_count; i++) {
            const ft_metric_result *e = &job->metrics[i];
            if (strcmp(e->metric, memories[m].metric) != 0) continue;
            assert(count < DEVICE_MEMORIES);
            parts[count++] = (ft_part){.type = memories[m].part, .value = e->value};
            sum.value += e->value;
            sum.lo += e->lo;
            sum.hi += e->hi;
            if (e->provenance > sum.provenance) sum.provenance = e->provenance; /* the weakest of them */
        }
    }
    *is_found = count > 0;
    if (count == 0) return FT_OK;
    metric_result_set_provenance(&sum, sum.provenance, 1);
    sum.predictor = job->metrics[METRIC_TIME].predictor;
    sum.parts = parts;
    sum.part_count = count;
    job->metrics[METRIC_MEMORY] = sum;
    return FT_OK;
}

/* --- The whole ----------------------------------------------------------------------------------------------- */

ft_status job_predict_memory(forecast_job *job, ft_error *error) {
    predictor_choice choice;
    bool is_found = false;
    FT_TRY(job_choose(job, "peak_bytes", &choice, error));
    if (choice.entry == NULL) {
        FT_TRY(from_memories(job, &is_found, error));
        return is_found ? FT_OK : from_timeline(job, error);
    }
    ft_metric_result memory = predictor_metric_result(choice.predictor, choice.target.index, &choice.output);
    assert(strcmp(memory.metric, "peak_bytes") == 0);
    memory.predictor = choice.entry->path;
    memory.parts = choice.output.parts;
    memory.part_count = choice.output.part_count;
    job->metrics[METRIC_MEMORY] = memory;
    return FT_OK;
}
