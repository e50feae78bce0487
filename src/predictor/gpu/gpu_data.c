/* gpu_data.c - collects measured launches in one pass over the graphs of a fit set. */
#include "predictor/gpu/gpu_data.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/map.h"
#include "data/dataset.h"
#include "data/devices.h"
#include "predictor/core/scan.h"

enum { WORKS_LIMIT = 256 << 20 }; /* memory for the launches of one model */

/* --- Devices ------------------------------------------------------------------------------------------------- */

static ft_status read_sheet(const fit_set *set, uint32_t device, gpu_model *m, map *architectures, gpu_data *data,
                            ft_error *error) {
    ft_device *sheet;
    const char *name = set->devices[device];
    arena memory;
    arena_init(&memory, 1 << 16);
    const char *file = ft_device_canonical(name) != NULL ? name : device_path(set->data->folder, name, &memory);
    ft_status status = file != NULL ? ft_device_open(file, &sheet, error) : FT_NOMEM(error);
    if (status == FT_OK) {
        status = gpu_sheet_read(sheet, &m->sheets[device], error);
        const char *text = ft_device_architecture(sheet), *key = text[0] != '\0' ? text : name;
        const char *kept = arena_string(architectures->memory, key, strlen(key));
        bool is_added = kept != NULL && map_add(architectures, kept, architectures->count, &data->group_of[device]);
        if (status == FT_OK && !is_added) status = FT_NOMEM(error);
        ft_device_free(sheet);
    }
    arena_free(&memory);
    return status;
}

static ft_status read_sheets(const fit_set *set, gpu_model *m, gpu_data *data, ft_error *error) {
    map architectures;
    arena memory;
    arena_init(&memory, 1 << 20);
    map_init(&architectures, &memory);
    data->group_of = calloc((size_t)set->device_count + 1, sizeof *data->group_of);
    ft_status status = data->group_of != NULL ? FT_OK : FT_NOMEM(error);
    for (uint32_t i = 0; status == FT_OK && i < set->device_count; i++)
        status = read_sheet(set, i, m, &architectures, data, error);
    data->group_count = (uint32_t)architectures.count;
    arena_free(&memory);
    return status;
}

/* --- Selection ----------------------------------------------------------------------------------------------- */

/* Counts of rows by device and name, in a table of hashes: rare collisions only make a sample smaller. */
enum { SAMPLE_SLOTS = 1 << 16 };

static uint32_t sample_slot(const fit_set *set, const fit_row *row) {
    const char *name = ft_dataset_records(set->data)[row->record].name;
    return (uint32_t)(hash_bytes(name, strlen(name)).low + row->device * 7919U) % SAMPLE_SLOTS;
}

static bool is_sampled(const fit_row *row, uint32_t count, double max_rows) {
    uint64_t key[2] = {row->record, 0x9e3779b97f4a7c15};
    double share = (double)(hash_bytes(key, sizeof key).low >> 11) / 9007199254740992.0;
    return share * count < max_rows;
}

static ft_status sample(const fit_set *set, fit_rows rows, double max_rows, fit_row **kept, uint32_t *count,
                        ft_error *error) {
    uint32_t *counts = calloc(SAMPLE_SLOTS, sizeof *counts);
    *kept = calloc((size_t)rows.count + 1, sizeof **kept);
    *count = 0;
    if (counts == NULL || *kept == NULL) {
        free(counts);
        return FT_NOMEM(error);
    }
    for (uint32_t i = 0; i < rows.count; i++) counts[sample_slot(set, &rows.items[i])]++;
    for (uint32_t i = 0; i < rows.count; i++)
        if (is_sampled(&rows.items[i], counts[sample_slot(set, &rows.items[i])], max_rows))
            (*kept)[(*count)++] = rows.items[i];
    free(counts);
    return FT_OK;
}

/* --- Labels -------------------------------------------------------------------------------------------------- */

typedef struct gathering {
    const gpu_model *m;
    fit_rows rows;
    gpu_labels *labels;
} gathering;

static void add_label(const gathering *g, const fit_row *row, const gpu_work *work, const ft_request *request,
                      buf *found) {
    gpu_runtime runtime;
    gpu_row features;
    gpu_runtime_of(request, &runtime);
    gpu_row_of(work, &g->m->sheets[row->device], request->dtype, &runtime, &features);
    gpu_label label = {.device = row->device, .kind = gpu_class(work->kind, request->dtype), .dtype = request->dtype};
    memcpy(label.features, features.features, sizeof label.features);
    label.log_ratio = (float)log(row->label / features.anchor_us);
    if (isfinite(label.log_ratio)) buf_add(found, &label, sizeof label);
}

static ft_status visit(void *user, const scan_item *item, model_view *view, uint32_t worker, buf *found,
                       ft_error *error) {
    (void)worker;
    const gathering *g = user;
    gpu_runtime runtime;
    gpu_work *works;
    uint32_t count;
    arena memory;
    arena_init(&memory, WORKS_LIMIT);
    gpu_runtime_of(&view->request, &runtime);
    ft_error refusal;
    ft_status status = gpu_works_of(view, runtime.is_compiled ? g->m->compiled : g->m->eager, &runtime, &memory, &works,
                                    &count, &refusal);
    for (uint32_t i = 0; status == FT_OK && count == 1 && i < item->row_count; i++)
        add_label(g, &g->rows.items[item->rows[i]], &works[0], &view->request, found);
    arena_free(&memory);
    if (status == FT_OK || status == FT_ERR_UNSUPPORTED) return FT_OK;
    if (error != NULL) *error = refusal;
    return status;
}

static ft_status gather(void *user, const scan_item *item, const buf *found, ft_error *error) {
    (void)item;
    gpu_labels *labels = ((gathering *)user)->labels;
    for (size_t at = 0; at + sizeof(gpu_label) <= found->length; at += sizeof(gpu_label)) {
        FT_TRY(row_grow((void **)&labels->items, labels->count, &labels->capacity, sizeof *labels->items, error));
        memcpy(&labels->items[labels->count++], found->data + at, sizeof(gpu_label));
    }
    return FT_OK;
}

static ft_status gather_part(const fit_set *set, const fit_context *context, const gpu_model *m, double max_rows,
                             bool is_valid, gpu_labels *labels, ft_error *error) {
    fit_row *kept;
    uint32_t count;
    fit_rows rows = is_valid ? set->valid : set->train;
    ft_status status = sample(set, rows, max_rows, &kept, &count, error);
    gathering g = {.m = m, .rows = {.items = kept, .count = count}, .labels = labels};
    scan_job job = {.threads = context->threads, .visit = visit, .gather = gather, .user = &g, .context = context};
    job.from = is_valid ? 0.1 : 0;
    job.to = is_valid ? 0.15 : 0.1;
    job.what = "reading kernels";
    if (status == FT_OK) status = scan_once(set->data, g.rows, &job, error);
    free(kept);
    return status;
}

ft_status gpu_data_gather(const fit_set *set, const fit_context *context, gpu_model *m, double max_rows, gpu_data *data,
                          ft_error *error) {
    *data = (gpu_data){0};
    ft_status status = read_sheets(set, m, data, error);
    if (status == FT_OK) status = gather_part(set, context, m, max_rows, false, &data->train, error);
    if (status == FT_OK) status = gather_part(set, context, m, max_rows, true, &data->valid, error);
    if (status != FT_OK) gpu_data_free(data);
    return status;
}

void gpu_data_free(gpu_data *data) {
    free(data->train.items);
    free(data->valid.items);
    free(data->group_of);
    *data = (gpu_data){0};
}
