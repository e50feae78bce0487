/* predictor_open.c - opening predictor files, and bundling several into one. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/outfile.h"
#include "foretell/device.h"
#include "predictor/core/predictor.h"

/* --- Opening ------------------------------------------------------------------------------------------------- */

static bool may_read_sheets(const family *f) {
    return family_can(f, FAMILY_ANY_DEVICE) || f->optional.reads_sheets != NULL;
}

/* Opens the data sheets of bundled devices. */
static ft_status open_sheets(ft_predictor *p, ft_error *error) {
    const metadata *h = &p->about;
    p->sheets = p->file_sheets = ARENA_ARRAY(&p->memory, ft_device *, h->device_count);
    if (p->sheets == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < h->device_count; i++) {
        if (ft_device_canonical(h->devices[i]) != NULL) FT_TRY(ft_device_open(h->devices[i], &p->sheets[i], error));
    }
    return FT_OK;
}

/* Loads the correction of one device, whose floats are the next of the block. */
static ft_status load_adjustment(ft_predictor *p, const json_t *item, const float **block, size_t *left,
                                 ft_error *error) {
    const metadata *h = &p->about;
    const char *name = json_string_value(json_object_get(item, "device"));
    const json_t *metric = json_object_get(item, "metric");
    uint32_t device = name != NULL ? metadata_find_device(h, name) : FT_NONE, output = 0;
    if (metric != NULL) output = json_is_string(metric) ? metadata_find_metric(h, json_string_value(metric)) : FT_NONE;
    if (output == FT_NONE) return ft_fail(error, FT_ERR_DAMAGED, "is of a metric that the model does not have");
    adjustment **slot = device != FT_NONE ? &p->file_adjustments[output * h->device_count + device] : NULL;
    if (slot == NULL || *slot != NULL)
        return ft_fail(error, FT_ERR_DAMAGED, "has no device, one that is not in the list, or one twice");
    FT_TRY(adjust_load(item, h->known_count, block, left, slot, error));
    if ((*slot)->base == FT_NONE && !may_read_sheets(h->family))
        return ft_fail(error, FT_ERR_DAMAGED, "'%s' has no base, and the family does not read data sheets", name);
    return FT_OK;
}

/* Their floats follow those of the model; *count: the floats of the model alone. */
static ft_status load_adjustments(ft_predictor *p, size_t *count, ft_error *error) {
    const metadata *h = &p->about;
    size_t i, floats = 0;
    const json_t *item;
    *count = p->file.count;
    if (h->adjustments == NULL) return FT_OK;
    p->file_adjustments = ARENA_ARRAY(&p->memory, adjustment *, (size_t)h->device_count * h->metric_count);
    if (p->file_adjustments == NULL) return FT_NOMEM(error);
    json_array_foreach(h->adjustments, i, item) floats += adjust_float_count(item);
    if (floats > p->file.count) return ft_fail(error, FT_ERR_DAMAGED, "the block of floats is too short");
    *count -= floats;
    const float *block = p->file.block + *count;
    json_array_foreach(h->adjustments, i, item) {
        ft_status status = load_adjustment(p, item, &block, &floats, error);
        if (status != FT_OK) return ft_fail_prefix(error, status, "adjustment %zu", i + 1);
    }
    for (uint32_t d = h->known_count; d < h->device_count; d++) {
        uint32_t output = 0;
        while (output < h->metric_count && p->file_adjustments[output * h->device_count + d] == NULL) output++;
        if (output == h->metric_count)
            return ft_fail(error, FT_ERR_DAMAGED, "'%s' is neither a device of the model nor adapted to",
                           h->devices[d]);
    }
    return FT_OK;
}

static ft_status load_predictor(ft_predictor *p, const uint8_t *bytes, size_t size, ft_error *error) {
    FT_TRY(predictor_file_decode(bytes, size, &p->file, error));
    FT_TRY(metadata_parse(p->file.root, &p->memory, &p->about, error));
    const metadata *h = &p->about;
    p->file_devices = h->device_count;
    if (may_read_sheets(h->family)) FT_TRY(open_sheets(p, error));
    size_t count;
    FT_TRY(load_adjustments(p, &count, error));
    ft_status status = h->family->load(h->params, p->file.block, count, h->devices, h->known_count, &p->model, error);
    if (status != FT_OK) return ft_fail_prefix(error, status, "model");
    json_decref(p->file.root);
    p->file.root = NULL;
    p->about.params = p->about.adjustments = NULL;
    return FT_OK;
}

static ft_status new_link(ft_predictor **made, ft_error *error) {
    *made = calloc(1, sizeof **made);
    if (*made == NULL) return FT_NOMEM(error);
    arena_init(&(*made)->memory, 2 * (uint64_t)PREDICTOR_FILE_MAX_HEADER);
    return FT_OK;
}

/* A metric has one predictor in a file. */
static ft_status check_metric(const ft_predictor *first, const ft_predictor *last, ft_error *error) {
    if (ft_predictor_find(first, predictor_metric_of(last)->name) == last) return FT_OK;
    return ft_fail(error, FT_ERR_DAMAGED, "has two predictors of '%s'", predictor_metric_of(last)->name);
}

/* Keeps the devices that a metric of an adapted predictor covers: those of the model, and those with a correction. */
static ft_status narrow_devices(const ft_predictor *owner, const metadata *all, ft_predictor *p, ft_error *error) {
    metadata *h = &p->about;
    adjustment **adjustments = owner->file_adjustments + (size_t)p->output * all->device_count;
    h->devices = ARENA_ARRAY(&p->memory, const char *, all->device_count);
    h->metrics = arena_copy(&p->memory, all->metrics, all->metric_count * sizeof *all->metrics);
    double *q90 = ARENA_ARRAY(&p->memory, double, all->device_count);
    p->adjustments = ARENA_ARRAY(&p->memory, adjustment *, all->device_count);
    p->sheets = owner->file_sheets != NULL ? ARENA_ARRAY(&p->memory, ft_device *, all->device_count) : NULL;
    if (h->devices == NULL || h->metrics == NULL || q90 == NULL || p->adjustments == NULL ||
        (owner->file_sheets != NULL && p->sheets == NULL))
        return FT_NOMEM(error);
    h->device_count = 0;
    for (uint32_t d = 0; d < all->device_count; d++) {
        if (d >= all->known_count && adjustments[d] == NULL) continue;
        uint32_t at = h->device_count++;
        h->devices[at] = all->devices[d];
        q90[at] = all->metrics[p->output].q90[d];
        p->adjustments[at] = adjustments[d];
        if (owner->file_sheets != NULL) p->sheets[at] = owner->file_sheets[d];
    }
    h->metrics[p->output].q90 = q90;
    return FT_OK;
}

/* Adds a link for each further metric of the last model; *last becomes the last of these. */
static ft_status share_model(const ft_predictor *first, ft_predictor **last, ft_error *error) {
    ft_predictor *owner = *last;
    const metadata all = owner->about;
    for (uint32_t i = 1; i < all.metric_count; i++) {
        ft_predictor *made;
        FT_TRY(new_link(&made, error));
        (*last)->next = made;
        *last = made;
        made->file = owner->file;
        made->about = owner->about;
        made->output = i;
        made->sheets = owner->sheets;
        made->model = owner->model;
        FT_TRY(check_metric(first, made, error));
    }
    for (ft_predictor *p = owner; owner->file_adjustments != NULL && p != NULL; p = p->next)
        FT_TRY(narrow_devices(owner, &all, p, error));
    return FT_OK;
}

/* Loads all predictors in the bytes of the first. */
static ft_status load_all(ft_predictor *first, ft_error *error) {
    const uint8_t *at = first->bytes.bytes;
    size_t left = first->bytes.size;
    for (ft_predictor *last = first;; last = last->next) {
        FT_TRY(load_predictor(last, at, left, error));
        FT_TRY(check_metric(first, last, error));
        assert(last->file.size <= left);
        at += last->file.size;
        left -= last->file.size;
        FT_TRY(share_model(first, &last, error));
        if (left == 0) return FT_OK;
        FT_TRY(new_link(&last->next, error));
    }
}

/* Takes the bytes over, also when it fails. */
static ft_status open_bytes(input *in, const char *name, ft_predictor **predictor, ft_error *error) {
    ft_predictor *made = NULL;
    ft_status status = new_link(&made, error);
    if (status == FT_OK) {
        made->bytes = *in;
        status = load_all(made, error);
    } else {
        input_close(in);
    }
    if (status != FT_OK) {
        ft_predictor_free(made);
        return ft_fail_prefix(error, status, "%s", name);
    }
    *predictor = made;
    return FT_OK;
}

ft_status ft_predictor_open_memory(const void *bytes, size_t size, const char *name, ft_predictor **predictor,
                                   ft_error *error) {
    FT_REQUIRE(error, name, predictor);
    if (size > 0) FT_REQUIRE(error, bytes);
    uint8_t *copy = malloc(size > 0 ? size : 1);
    if (copy == NULL) return FT_NOMEM(error);
    if (size > 0) memcpy(copy, bytes, size);
    input in = {.bytes = copy, .size = size, .unpacked = copy};
    return open_bytes(&in, name, predictor, error);
}

/* A run is a folder; the message names the predictor file in it. */
static ft_status check_path(const char *path, ft_error *error) {
    static const char inside[] = "/predictor.ftm";
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) return FT_OK; /* opening it reports other problems */
    buf file = {0};
    buf_format(&file, "%s%s", path, inside);
    bool is_run = !file.failed && access(file.data, F_OK) == 0;
    buf_free(&file);
    if (!is_run) return ft_fail(error, FT_ERR_IO, "%s: is a folder, not a predictor file", path);
    return ft_fail(error, FT_ERR_IO, "%s: is a run; its predictor is %s%s", path, path, inside);
}

ft_status ft_predictor_open(const char *path, ft_predictor **predictor, ft_error *error) {
    FT_REQUIRE(error, path, predictor);
    input in;
    FT_TRY(check_path(path, error));
    FT_TRY(input_open(path, PREDICTOR_FILE_MAX_BYTES, &in, error));
    return open_bytes(&in, path, predictor, error);
}

static void free_owned(ft_predictor *p) {
    if (p->model != NULL) p->about.family->free(p->model);
    uint32_t adjustments = p->file_devices * p->about.metric_count;
    for (uint32_t i = 0; p->file_adjustments != NULL && i < adjustments; i++) adjust_free(p->file_adjustments[i]);
    for (uint32_t i = 0; p->file_sheets != NULL && i < p->file_devices; i++) ft_device_free(p->file_sheets[i]);
    predictor_file_free(&p->file);
}

void ft_predictor_free(ft_predictor *predictor) {
    if (predictor == NULL) return;
    input bytes = predictor->bytes;
    while (predictor != NULL) {
        ft_predictor *next = predictor->next;
        if (predictor->output == 0) free_owned(predictor);
        arena_free(&predictor->memory);
        free(predictor);
        predictor = next;
    }
    input_close(&bytes);
}

/* --- Bundling ------------------------------------------------------------------------------------------------ */

/* Adds the unpacked bytes of a file, as bundles are mapped. */
static ft_status add_file(const char *path, buf *bytes, ft_error *error) {
    input in;
    FT_TRY(input_open(path, PREDICTOR_FILE_MAX_BYTES, &in, error));
    ft_predictor *alone = NULL;
    ft_status status = ft_predictor_open_memory(in.bytes, in.size, path, &alone, error);
    if (status == FT_OK) buf_add(bytes, in.bytes, in.size);
    ft_predictor_free(alone);
    input_close(&in);
    return status == FT_OK && bytes->failed ? FT_NOMEM(error) : status;
}

ft_status ft_predictor_bundle(const char *const *paths, uint32_t count, const char *path, ft_error *error) {
    FT_REQUIRE(error, path);
    if (count > 0) FT_REQUIRE(error, paths);
    buf bytes = {0};
    ft_predictor *together = NULL;
    ft_status status = count > 0 ? FT_OK : ft_fail(error, FT_ERR_USAGE, "no predictor files to bundle");
    for (uint32_t i = 0; i < count && status == FT_OK; i++) status = add_file(paths[i], &bytes, error);
    if (status == FT_OK) status = ft_predictor_open_memory(bytes.data, bytes.length, path, &together, error);
    if (status == FT_OK) status = outfile_write(path, bytes.data, bytes.length, error);
    ft_predictor_free(together);
    buf_free(&bytes);
    return status;
}
