/* torch_data.c - collects kernels, settings and labels of a fit set, in one pass over its graphs. */
#include "predictor/torch/torch_data.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "data/dataset.h"
#include "data/devices.h"
#include "predictor/core/scan.h"

enum { ROWS_LIMIT = 256 << 20 }; /* memory for the rows of one model */

/* --- Rules --------------------------------------------------------------------------------------------------- */

ft_status torch_rules_open(torch_rules *rules, ft_error *error) {
    torch_rules made = {0};
    ft_status status = ft_rules_open("torch-eager", &made.eager, error);
    if (status == FT_OK) status = ft_rules_open("torch-compile", &made.compiled, error);
    if (status == FT_OK) status = ft_rules_open("tensorrt", &made.tensorrt, error);
    if (status == FT_OK) status = ft_rules_open("onnxruntime-cuda", &made.onnxruntime, error);
    if (status != FT_OK)
        torch_rules_free(&made);
    else
        *rules = made;
    return status;
}

void torch_rules_free(torch_rules *rules) {
    ft_rules_free(rules->eager);
    ft_rules_free(rules->compiled);
    ft_rules_free(rules->tensorrt);
    ft_rules_free(rules->onnxruntime);
    *rules = (torch_rules){0};
}

/* --- Programs and labels ------------------------------------------------------------------------------------- */

typedef struct gathering {
    const fit_set *set;
    const torch_rules *rules;
    torch_data *data;
    uint32_t *program_of; /* per graph and program code: program + 1 */
    fit_row *firsts;      /* per program: a row that uses it */
} gathering;

static ft_status find_setting(torch_data *data, const torch_setting *setting, uint32_t *number, ft_error *error) {
    uint32_t i = 0;
    while (i < data->setting_count && !torch_setting_equal(&data->settings[i], setting)) i++;
    if (i == TORCH_MAX_SETTINGS)
        return ft_fail(error, FT_ERR_LIMIT, "more than %d different devices and settings", TORCH_MAX_SETTINGS);
    if (i == data->setting_count) data->settings[data->setting_count++] = *setting;
    *number = i;
    return FT_OK;
}

static uint32_t find_program(gathering *g, const fit_row *row, const torch_setting *setting) {
    torch_precision precision = torch_setting_precision(setting);
    bool is_compiled = setting->is_compiled == TORCH_YES;
    uint32_t *number =
        &g->program_of[(size_t)row->graph * TORCH_PROGRAM_CODES + torch_program_code(is_compiled, precision)];
    assert(row->graph < ft_dataset_graph_count(g->set->data));
    if (*number == 0) {
        g->firsts[g->data->program_count] = *row;
        g->data->programs[g->data->program_count++] =
            (torch_program){.graph = row->graph, .is_compiled = is_compiled, .precision = precision};
        *number = g->data->program_count;
    }
    return *number - 1;
}

static ft_status add_labels(gathering *g, fit_rows rows, torch_labels *labels, ft_error *error) {
    labels->items = ARENA_ARRAY(&g->data->memory, torch_label, (size_t)rows.count + 1);
    if (labels->items == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < rows.count; i++) {
        const ft_record *record = &ft_dataset_records(g->set->data)[rows.items[i].record];
        torch_setting setting;
        torch_label *label = &labels->items[labels->count++];
        FT_TRY(torch_setting_parse(record->setting, record->mode, record->dtype, &setting, error));
        setting.device = rows.items[i].device;
        FT_TRY(find_setting(g->data, &setting, &label->setting, error));
        label->program = find_program(g, &rows.items[i], &setting);
        label->batch = (float)record->batch;
        label->log_us = (float)log(rows.items[i].label);
        label->family = (uint32_t)hash_bytes(record->family, strlen(record->family)).low;
    }
    return FT_OK;
}

/* --- Kernels ------------------------------------------------------------------------------------------------- */

static ft_status visit(void *user, const scan_item *item, model_view *view, uint32_t worker, buf *found,
                       ft_error *error) {
    (void)worker;
    const gathering *g = user;
    const torch_program *program = &g->data->programs[item->index];
    torch_kernel *kernels;
    uint32_t count;
    arena memory;
    arena_init(&memory, ROWS_LIMIT);
    ft_status status = torch_kernels_of(view, program->is_compiled ? g->rules->compiled : g->rules->eager, &memory,
                                        &kernels, &count, error);
    double batch = (double)ft_graph_batch(view->bound);
    for (uint32_t i = 0; status == FT_OK && i < count; i++) {
        torch_row row;
        torch_row_of(&kernels[i], batch, program->precision, &row);
        buf_add(found, &row, sizeof row);
    }
    arena_free(&memory);
    return status;
}

static ft_status add_launch(gathering *g, torch_program *program, uint32_t row, ft_error *error) {
    torch_data *data = g->data;
    assert(program->start + program->count == data->launch_count);
    for (uint32_t i = program->start; i < program->start + program->count; i++) {
        if (data->launches[i].row != row) continue;
        data->launches[i].times++;
        return FT_OK;
    }
    FT_TRY(
        row_grow((void **)&data->launches, data->launch_count, &data->launch_capacity, sizeof *data->launches, error));
    data->launches[data->launch_count++] = (torch_launch){.row = row, .times = 1};
    program->count++;
    return FT_OK;
}

static ft_status gather(void *user, const scan_item *item, const buf *found, ft_error *error) {
    gathering *g = user;
    torch_program *program = &g->data->programs[item->index];
    program->start = g->data->launch_count;
    for (size_t at = 0; at + sizeof(torch_row) <= found->length; at += sizeof(torch_row)) {
        uint32_t row;
        FT_TRY(row_table_add(&g->data->kernels, found->data + at, &row, error));
        FT_TRY(add_launch(g, program, row, error));
    }
    return FT_OK;
}

static ft_status gather_kernels(gathering *g, const fit_context *context, ft_error *error) {
    scan *s = NULL;
    FT_TRY(scan_new(g->set->data, (fit_rows){.items = g->firsts, .count = g->data->program_count}, &s, error));
    scan_job job = {.threads = context->threads, .visit = visit, .gather = gather, .user = g, .context = context};
    job.to = 0.05;
    job.what = "kernels";
    ft_status status = scan_run(s, &job, error);
    scan_free(s);
    return status;
}

/* --- Devices ------------------------------------------------------------------------------------------------- */

static ft_status read_sheet(const fit_set *set, const char *name, arena *memory, torch_sheet *sheet, ft_error *error) {
    ft_device *device;
    const char *file = ft_device_canonical(name) != NULL ? name : device_path(set->data->folder, name, memory);
    if (file == NULL) return FT_NOMEM(error);
    FT_TRY(ft_device_open(file, &device, error));
    ft_status status = torch_sheet_read(device, sheet, error);
    ft_device_free(device);
    return status;
}

static ft_status read_sheets(const fit_set *set, torch_data *data, ft_error *error) {
    data->sheets = ARENA_ARRAY(&data->memory, torch_sheet, (size_t)set->device_count + 1);
    if (data->sheets == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < set->device_count; i++)
        FT_TRY(read_sheet(set, set->devices[i], &data->memory, &data->sheets[i], error));
    return FT_OK;
}

/* The geometric mean of the batches of each setting. */
static void find_typical_batches(torch_data *data) {
    for (uint32_t c = 0; c < data->setting_count; c++) {
        double logs = 0;
        uint32_t count = 0;
        for (uint32_t i = 0; i < data->train.count; i++) {
            if (data->train.items[i].setting != c) continue;
            logs += log((double)data->train.items[i].batch);
            count++;
        }
        data->settings[c].typical_batch = count > 0 ? (uint32_t)lround(exp(logs / count)) : 1;
    }
}

static ft_status gather_all(gathering *g, const fit_context *context, ft_error *error) {
    torch_data *data = g->data;
    size_t max_programs = (size_t)g->set->train.count + g->set->valid.count + 1;
    data->programs = ARENA_ARRAY(&data->memory, torch_program, max_programs);
    g->firsts = ARENA_ARRAY(&data->memory, fit_row, max_programs);
    g->program_of =
        ARENA_ARRAY(&data->memory, uint32_t, (size_t)ft_dataset_graph_count(g->set->data) * TORCH_PROGRAM_CODES + 1);
    if (data->programs == NULL || g->firsts == NULL || g->program_of == NULL) return FT_NOMEM(error);
    FT_TRY(read_sheets(g->set, data, error));
    FT_TRY(add_labels(g, g->set->train, &data->train, error));
    uint32_t settings = data->setting_count;
    find_typical_batches(data);
    FT_TRY(add_labels(g, g->set->valid, &data->valid, error));
    data->group_count = torch_setting_groups(data->settings, settings, data->groups);
    data->setting_count = settings; /* settings without training labels are not validated */
    uint32_t kept = 0;
    for (uint32_t i = 0; i < data->valid.count; i++)
        if (data->valid.items[i].setting < settings) data->valid.items[kept++] = data->valid.items[i];
    data->valid.count = kept;
    return gather_kernels(g, context, error);
}

ft_status torch_data_gather(const fit_set *set, const fit_context *context, const torch_rules *rules, torch_data *data,
                            ft_error *error) {
    *data = (torch_data){.kernels.size = sizeof(torch_row)};
    arena_init(&data->memory, UINT64_MAX);
    gathering g = {.set = set, .rules = rules, .data = data};
    ft_status status = gather_all(&g, context, error);
    if (status != FT_OK) torch_data_free(data);
    return status;
}

void torch_data_free(torch_data *data) {
    row_table_free(&data->kernels);
    free(data->launches);
    arena_free(&data->memory);
    *data = (torch_data){0};
}
