/* predictor.c - opening predictor files, asking them, and writing them; predictor_answer.c has the public question. */
#include "predictor/core/predictor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/input.h"
#include "base/outfile.h"
#include "foretell/device.h"
#include "predictor/core/file.h"
#include "predictor/core/header.h"

/* The predictors of a file are a chain; the first owns its bytes. A model that tells several metrics has a link for
 * each, of which the first owns the model. */
struct ft_predictor {
    input bytes; /* mapped, or a copy; empty but in the first */
    ft_predictor *next;
    arena memory;
    predictor_file file; /* text and block; its JSON is freed once it is parsed */
    header about;
    uint32_t output; /* which of the metrics of `about`; when it is not the first, all pointers are borrowed */
    void *model;
    ft_device **sheets;       /* per device, where the family reads them; NULL: not in the box */
    adjustment **adjustments; /* per device, or NULL; NULL: it was not adapted */
    /* Of the file, whose devices are those of all metrics. */
    ft_device **file_sheets;
    adjustment **file_adjustments; /* metric by metric, per device */
    uint32_t file_devices;
};

/* --- Writing ------------------------------------------------------------------------------------------------- */

ft_status predictor_encode(const predictor_description *description, const family *f, const void *m, buf *bytes,
                           ft_error *error) {
    json_t *params = NULL, *root = NULL;
    float_block block = {0};
    ft_status status = f->save(m, &params, &block, error);
    uint32_t adjustments = (1 + description->other_count) * description->device_count;
    for (uint32_t i = 0; status == FT_OK && description->adapted != NULL && i < adjustments; i++)
        if (description->adjustments[i] != NULL && !adjust_save_floats(description->adjustments[i], &block))
            status = FT_NOMEM(error);
    if (status == FT_OK) status = header_make(description, f, params, &root, error);
    if (status == FT_OK) status = predictor_file_encode(root, block.items, block.count, bytes, error);
    json_decref(params);
    json_decref(root);
    float_block_free(&block);
    return status;
}

ft_status predictor_write(const char *path, const predictor_description *description, const family *f, const void *m,
                          ft_error *error) {
    buf bytes = {0};
    ft_status status = predictor_encode(description, f, m, &bytes, error);
    if (status == FT_OK) status = outfile_write(path, bytes.data, bytes.length, error);
    buf_free(&bytes);
    return status;
}

/* --- Opening ------------------------------------------------------------------------------------------------- */

static bool may_read_sheets(const family *f) {
    return family_can(f, FAMILY_ANY_DEVICE) || f->optional.reads_sheets != NULL;
}

/* Data sheets of the devices that are in the box. */
static ft_status open_sheets(ft_predictor *p, ft_error *error) {
    const header *h = &p->about;
    p->sheets = p->file_sheets = ARENA_ARRAY(&p->memory, ft_device *, h->device_count);
    if (p->sheets == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < h->device_count; i++) {
        if (ft_device_canonical(h->devices[i]) != NULL) FT_TRY(ft_device_open(h->devices[i], &p->sheets[i], error));
    }
    return FT_OK;
}

static uint32_t find_metric(const header *h, const char *name) {
    uint32_t i = 0;
    while (i < h->metric_count && strcmp(h->metrics[i].name, name) != 0) i++;
    return i < h->metric_count ? i : FT_NONE;
}

static uint32_t find_device(const header *h, const char *name) {
    uint32_t i = 0;
    while (i < h->device_count && strcmp(h->devices[i], name) != 0) i++;
    return i < h->device_count ? i : FT_NONE;
}

/* The adjustment of one device, whose floats are the next. */
static ft_status take_adjustment(ft_predictor *p, const json_t *item, const float **block, size_t *left,
                                 ft_error *error) {
    const header *h = &p->about;
    const char *name = json_string_value(json_object_get(item, "device"));
    const json_t *metric = json_object_get(item, "metric");
    uint32_t device = name != NULL ? find_device(h, name) : FT_NONE, output = 0;
    if (metric != NULL) output = json_is_string(metric) ? find_metric(h, json_string_value(metric)) : FT_NONE;
    if (output == FT_NONE) return ft_fail(error, FT_ERR_DAMAGED, "is of a metric that the model does not tell");
    adjustment **place = device != FT_NONE ? &p->file_adjustments[output * h->device_count + device] : NULL;
    if (place == NULL || *place != NULL)
        return ft_fail(error, FT_ERR_DAMAGED, "has no device, one that is not in the list, or one twice");
    FT_TRY(adjust_load(item, h->known_count, block, left, place, error));
    if ((*place)->base == FT_NONE && !may_read_sheets(h->family))
        return ft_fail(error, FT_ERR_DAMAGED, "'%s' has no base, and the family does not read data sheets", name);
    return FT_OK;
}

/* Their floats stand behind those of the model; *count: how many the model has. */
static ft_status take_adjustments(ft_predictor *p, size_t *count, ft_error *error) {
    const header *h = &p->about;
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
        ft_status status = take_adjustment(p, item, &block, &floats, error);
        if (status != FT_OK) return ft_fail_prefix(error, status, "adjustment %zu", i + 1);
    }
    for (uint32_t d = h->known_count; d < h->device_count; d++) {
        uint32_t output = 0;
        while (output < h->metric_count && p->file_adjustments[output * h->device_count + d] == NULL) output++;
        if (output == h->metric_count)
            return ft_fail(error, FT_ERR_DAMAGED, "'%s' is neither known nor adapted to", h->devices[d]);
    }
    return FT_OK;
}

static ft_status take_file(ft_predictor *p, const uint8_t *bytes, size_t size, ft_error *error) {
    FT_TRY(predictor_file_decode(bytes, size, &p->file, error));
    FT_TRY(header_parse(p->file.root, &p->memory, &p->about, error));
    const header *h = &p->about;
    p->file_devices = h->device_count;
    if (may_read_sheets(h->family)) FT_TRY(open_sheets(p, error));
    size_t count;
    FT_TRY(take_adjustments(p, &count, error));
    ft_status status = h->family->load(h->params, p->file.block, count, h->devices, h->known_count, &p->model, error);
    if (status != FT_OK) return ft_fail_prefix(error, status, "model");
    json_decref(p->file.root);
    p->file.root = NULL;
    p->about.params = p->about.adjustments = NULL;
    return FT_OK;
}

static ft_status link_new(ft_predictor **made, ft_error *error) {
    *made = calloc(1, sizeof **made);
    if (*made == NULL) return FT_NOMEM(error);
    arena_init(&(*made)->memory, 2 * (uint64_t)PREDICTOR_FILE_MAX_HEADER);
    return FT_OK;
}

static const header_metric *told(const ft_predictor *p) {
    return &p->about.metrics[p->output];
}

/* Two that tell the same metric could contradict each other. */
static ft_status check_metric(const ft_predictor *first, const ft_predictor *last, ft_error *error) {
    if (ft_predictor_find(first, told(last)->name) == last) return FT_OK;
    return ft_fail(error, FT_ERR_DAMAGED, "has two predictors of '%s'", told(last)->name);
}

/* An adapted predictor tells a metric of devices that the model knows, and of those that this metric was adapted to. */
static ft_status narrow_devices(const ft_predictor *owner, const header *all, ft_predictor *p, ft_error *error) {
    header *h = &p->about;
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
        if (p->sheets != NULL) p->sheets[at] = owner->file_sheets[d];
    }
    h->metrics[p->output].q90 = q90;
    return FT_OK;
}

/* Links for what the model of the last one tells besides; *last becomes the last of these. */
static ft_status share_model(const ft_predictor *first, ft_predictor **last, ft_error *error) {
    ft_predictor *owner = *last;
    const header all = owner->about;
    for (uint32_t i = 1; i < all.metric_count; i++) {
        ft_predictor *made;
        FT_TRY(link_new(&made, error));
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

/* Opens all predictors that stand in the bytes of the first. */
static ft_status take_all(ft_predictor *first, ft_error *error) {
    const uint8_t *at = first->bytes.bytes;
    size_t left = first->bytes.size;
    for (ft_predictor *last = first;; last = last->next) {
        FT_TRY(take_file(last, at, left, error));
        FT_TRY(check_metric(first, last, error));
        at += last->file.size;
        left -= last->file.size;
        FT_TRY(share_model(first, &last, error));
        if (left == 0) return FT_OK;
        FT_TRY(link_new(&last->next, error));
    }
}

/* Takes the bytes over, also when it fails. */
static ft_status open_bytes(input *in, const char *name, ft_predictor **predictor, ft_error *error) {
    ft_predictor *made = NULL;
    ft_status status = link_new(&made, error);
    if (status == FT_OK) {
        made->bytes = *in;
        status = take_all(made, error);
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
    uint8_t *copy = malloc(size > 0 ? size : 1);
    if (copy == NULL) return FT_NOMEM(error);
    if (size > 0) memcpy(copy, bytes, size);
    input in = {.bytes = copy, .size = size, .unpacked = copy};
    return open_bytes(&in, name, predictor, error);
}

/* A run is a folder, and what is wanted of it is one of its files. */
static ft_status check_path(const char *path, ft_error *error) {
    static const char inside[] = "/predictor.ftm";
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) return FT_OK; /* opening says what else is wrong */
    buf file = {0};
    buf_format(&file, "%s%s", path, inside);
    bool is_run = !file.failed && access(file.data, F_OK) == 0;
    buf_free(&file);
    if (!is_run) return ft_fail(error, FT_ERR_IO, "%s: is a folder, not a predictor file", path);
    return ft_fail(error, FT_ERR_IO, "%s: is a run; its predictor is %s%s", path, path, inside);
}

ft_status ft_predictor_open(const char *path, ft_predictor **predictor, ft_error *error) {
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

/* --- What is known of it ------------------------------------------------------------------------------------- */

const char *ft_provenance_name(ft_provenance provenance) {
    static const char *const names[FT_PROVENANCE_COUNT] = {"measured", "learned", "extrapolated", "assumed"};
    return (uint32_t)provenance < FT_PROVENANCE_COUNT ? names[provenance] : "unknown";
}

const ft_predictor *ft_predictor_next(const ft_predictor *predictor) {
    return predictor->next;
}

const ft_predictor *ft_predictor_find(const ft_predictor *predictor, const char *metric) {
    while (predictor != NULL && strcmp(told(predictor)->name, metric) != 0) predictor = predictor->next;
    return predictor;
}

const char *ft_predictor_metric(const ft_predictor *predictor) {
    return told(predictor)->name;
}

const char *ft_predictor_family(const ft_predictor *predictor) {
    return predictor->about.family->name;
}

const char *ft_predictor_header(const ft_predictor *predictor) {
    return predictor->file.text;
}

uint32_t ft_predictor_device_count(const ft_predictor *predictor) {
    return predictor->about.device_count;
}

const char *ft_predictor_device(const ft_predictor *predictor, uint32_t index) {
    return index < predictor->about.device_count ? predictor->about.devices[index] : NULL;
}

const void *predictor_model(const ft_predictor *predictor) {
    return predictor->model;
}

uint32_t predictor_output(const ft_predictor *predictor) {
    return predictor->output;
}

const family *predictor_family(const ft_predictor *predictor) {
    return predictor->about.family;
}

uint32_t predictor_known_count(const ft_predictor *predictor) {
    return predictor->about.known_count;
}

const adjustment *predictor_adjustment(const ft_predictor *predictor, uint32_t device) {
    return predictor->adjustments != NULL && device < predictor->about.device_count ? predictor->adjustments[device]
                                                                                    : NULL;
}

double predictor_q90(const ft_predictor *predictor, uint32_t device) {
    const double *q90 = told(predictor)->q90;
    if (device != FT_NONE) return q90[device];
    double widest = NAN;
    for (uint32_t i = 0; i < predictor->about.device_count; i++) widest = fmax(widest, q90[i]);
    return widest;
}

bool predictor_knows_mode(const ft_predictor *predictor, ft_mode mode) {
    uint32_t modes = told(predictor)->modes;
    return family_can(predictor->about.family, FAMILY_ANY_MODE) || modes == 0 || (modes & 1U << mode) != 0;
}

bool predictor_knows_dtype(const ft_predictor *predictor, ft_dtype dtype, ft_dtype usual) {
    const header *h = &predictor->about;
    if (!family_can(h->family, FAMILY_TYPES_AS_SIZES)) return true;
    return h->dtypes != 0 ? (h->dtypes & 1U << dtype) != 0 : dtype == usual;
}

uint32_t predictor_device_index(const ft_predictor *predictor, const char *device) {
    uint32_t found = find_device(&predictor->about, device);
    const char *canonical = found == FT_NONE ? ft_device_canonical(device) : NULL;
    return canonical != NULL ? find_device(&predictor->about, canonical) : found;
}

bool predictor_takes_any_device(const ft_predictor *predictor) {
    const family *f = predictor->about.family;
    return family_can(f, FAMILY_ANY_DEVICE) ||
           (f->optional.reads_sheets != NULL && f->optional.reads_sheets(predictor->model));
}

bool ft_predictor_knows(const ft_predictor *predictor, const char *device) {
    return predictor_knows_device(predictor, device);
}

bool predictor_knows_device(const ft_predictor *predictor, const char *device) {
    return predictor_device_index(predictor, device) != FT_NONE ||
           (predictor_takes_any_device(predictor) && ft_device_canonical(device) != NULL);
}

/* --- Asking -------------------------------------------------------------------------------------------------- */

target_device predictor_place(const ft_predictor *predictor, uint32_t device) {
    return (target_device){.index = device,
                           .sheet = predictor->sheets != NULL && device != FT_NONE ? predictor->sheets[device] : NULL};
}

ft_status predictor_predict(const ft_predictor *predictor, const predict_input *in, model_output *out,
                            ft_error *error) {
    const header *h = &predictor->about;
    model_output made = {.spread = 1, .provenance = FT_LEARNED};
    const adjustment *adjusted = predictor_adjustment(predictor, in->target->index);
    target_device target = *in->target;
    predict_input own = *in;
    target.output = predictor->output;
    own.target = &target;
    if (adjusted != NULL)
        FT_TRY(adjust_predict(adjusted, h->family, predictor->model, &own, &made, error));
    else
        FT_TRY(h->family->predict(predictor->model, &own, &made, error));
    if (!isfinite(made.value) || made.value < 0 || !(made.spread >= 0))
        return ft_fail(error, FT_ERR_INTERNAL, "the predictor '%s' gave %g with spread %g", h->family->name, made.value,
                       made.spread);
    *out = made;
    return FT_OK;
}

ft_metric_result predictor_estimate(const ft_predictor *predictor, uint32_t device, const model_output *p) {
    double factor = exp(predictor_q90(predictor, device) * p->spread);
    ft_metric_result m = {
        .metric = told(predictor)->name,
        .value = p->value,
        .lo = p->value / factor,
        .hi = p->value * factor,
    };
    bool is_new_device = device == FT_NONE && p->provenance == FT_LEARNED;
    metric_result_set_provenance(&m, is_new_device ? FT_EXTRAPOLATED : p->provenance, p->coverage_ratio);
    return m;
}
