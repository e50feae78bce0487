/* cg_folder.c - packed models and labels of one folder of CG tables. */
#include "data/cg_folder.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "data/import.h"
#include "foretell/device.h"

bool cg_reserve(arena *memory, void **items, uint32_t count, uint32_t *capacity, size_t size) {
    if (count < *capacity) return true;
    uint32_t larger = *capacity == 0 ? 64 : *capacity * 2;
    void *moved = arena_array(memory, larger, size);
    if (moved == NULL) return false;
    if (count > 0) memcpy(moved, *items, count * size);
    *items = moved;
    *capacity = larger;
    return true;
}

static ft_status add_skip(cg_folder *f, const char *where, const char *why) {
    if (!cg_reserve(&f->memory, (void **)&f->skips, f->skip_count, &f->skip_capacity, sizeof *f->skips))
        return FT_NOMEM(&f->error);
    cg_skip made = {arena_string(&f->memory, where, strlen(where)), arena_string(&f->memory, why, strlen(why))};
    if (made.where == NULL || made.why == NULL) return FT_NOMEM(&f->error);
    f->skips[f->skip_count++] = made;
    return FT_OK;
}

/* Parses a label column: "cortexA76cpu_tflite21_std_ms" is the standard deviation on the device
 * cortexA76cpu_tflite21. False when the column is not a label. */
static bool parse_column(const char *column, char *device, size_t size, int *metric) {
    static const char *const endings[CG_METRICS] = {"_ms", "_std_ms"};
    size_t length = strlen(column);
    for (int i = CG_METRICS - 1; i >= 0; i--) {
        size_t ending = strlen(endings[i]);
        if (length <= ending || length - ending >= size || strcmp(column + length - ending, endings[i]) != 0) continue;
        memcpy(device, column, length - ending);
        device[length - ending] = '\0';
        *metric = i;
        return true;
    }
    return false;
}

static ft_status skip_unknown_device(cg_folder *f, const char *column) {
    for (uint32_t i = 0; i < f->unknown_count; i++) {
        if (strcmp(f->unknown[i], column) == 0) return FT_OK;
    }
    char where[512];
    snprintf(where, sizeof where, "%s: column %s", f->path, column);
    if (f->unknown_count < CG_MAX_DEVICES) {
        const char *copy = arena_string(&f->memory, column, strlen(column));
        if (copy == NULL) return FT_NOMEM(&f->error);
        f->unknown[f->unknown_count++] = copy;
    }
    return add_skip(f, where, "unknown device");
}

static cg_label *label_of(cg_model *m, const char *device) {
    for (uint32_t i = 0; i < m->label_count; i++) {
        if (strcmp(m->labels[i].device, device) == 0) return &m->labels[i];
    }
    if (m->label_count == CG_MAX_DEVICES) return NULL;
    m->labels[m->label_count] = (cg_label){.device = device, .metrics = {NAN, NAN}};
    return &m->labels[m->label_count++];
}

static ft_status read_label(cg_folder *f, cg_model *m, const char *column, const char *text) {
    char device[128], where[640];
    int metric;
    double us;
    const metric_unit *unit;
    char name[128];
    if (!parse_column(column, device, sizeof device, &metric)) return FT_OK;
    const char *canonical = ft_device_canonical(device);
    if (canonical == NULL) return skip_unknown_device(f, column);
    cg_label *l = label_of(m, canonical);
    metric_canonical_name("time_ms", name, sizeof name, &unit);
    if (l == NULL) return ft_fail(&f->error, FT_ERR_LIMIT, "%s: more than %d devices", f->path, CG_MAX_DEVICES);
    if (metric_parse(text, strlen(text), unit, &us)) {
        l->metrics[metric] = us;
        return FT_OK;
    }
    snprintf(where, sizeof where, "%s: model '%s': %s = '%s'", f->path, m->name, column, text);
    return add_skip(f, where, "not a number above zero");
}

static ft_status read_labels(cg_folder *f, const ft_graph *graph, cg_model *m) {
    cg_label all[CG_MAX_DEVICES];
    m->labels = all;
    ft_status status = FT_OK;
    for (uint32_t i = 0; i < ft_graph_meta_count(graph) && status == FT_OK; i++) {
        const char *key, *value;
        ft_graph_meta_at(graph, i, &key, &value);
        status = read_label(f, m, key, value);
    }
    m->labels = arena_copy(&f->memory, all, m->label_count * sizeof *all);
    return status != FT_OK || m->labels != NULL ? status : FT_NOMEM(&f->error);
}

static const char *copy_meta(cg_folder *f, const ft_graph *graph, const char *key, const char *fallback) {
    const char *text = ft_graph_meta(graph, key);
    if (text == NULL) text = fallback;
    return arena_string(&f->memory, text, strlen(text));
}

static ft_status add_model(cg_folder *f, packer *p, const ft_graph *graph) {
    if (!cg_reserve(&f->memory, (void **)&f->models, f->model_count, &f->model_capacity, sizeof *f->models))
        return FT_NOMEM(&f->error);
    cg_model m = {.offset = f->packed.length,
                  .name = copy_meta(f, graph, "name", ft_graph_name(graph)),
                  .family = copy_meta(f, graph, "family", f->name),
                  .index = copy_meta(f, graph, "index", ""),
                  .part = copy_meta(f, graph, "dgrl_split", "")};
    if (m.name == NULL || m.family == NULL || m.index == NULL || m.part == NULL) return FT_NOMEM(&f->error);
    FT_TRY(read_labels(f, graph, &m));
    FT_TRY(pack_graph(p, graph, &f->packed, &f->error));
    m.size = f->packed.length - m.offset;
    if (strcmp(m.family, f->name) != 0) f->is_mixed = true;
    f->models[f->model_count++] = m;
    return FT_OK;
}

ft_status cg_folder_next(cg_folder *f, ft_source *source, packer *p, bool *is_over) {
    ft_graph *graph;
    ft_status status = ft_source_next(source, &graph, &f->error);
    *is_over = status == FT_OK && graph == NULL;
    if (*is_over) return FT_OK;
    if (status == FT_ERR_NOMEM || status == FT_ERR_IO) return status;
    if (status != FT_OK) return add_skip(f, f->error.message, "the model is unreadable");
    status = add_model(f, p, graph);
    ft_graph_free(graph);
    return status;
}
