/* predictor.c - writing predictor files, and predictions and properties of one that is open. predictor_open.c opens
 * files, predict.c has the public predictions. */
#include "predictor/core/predictor.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/outfile.h"
#include "foretell/device.h"

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
    if (status == FT_OK) status = metadata_make(description, f, params, &root, error);
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

/* --- Properties ---------------------------------------------------------------------------------------------- */

const char *ft_provenance_name(ft_provenance provenance) {
    static const char *const names[FT_PROVENANCE_COUNT] = {"measured", "learned", "extrapolated", "assumed"};
    return (uint32_t)provenance < FT_PROVENANCE_COUNT ? names[provenance] : "unknown";
}

const ft_predictor *ft_predictor_next(const ft_predictor *predictor) {
    return predictor != NULL ? predictor->next : NULL;
}

const ft_predictor *ft_predictor_find(const ft_predictor *predictor, const char *metric) {
    if (predictor == NULL || metric == NULL) return NULL;
    while (predictor != NULL && strcmp(predictor_metric_of(predictor)->name, metric) != 0) predictor = predictor->next;
    return predictor;
}

const char *ft_predictor_metric(const ft_predictor *predictor) {
    return predictor != NULL ? predictor_metric_of(predictor)->name : NULL;
}

const char *ft_predictor_family(const ft_predictor *predictor) {
    return predictor != NULL ? predictor->about.family->name : NULL;
}

const char *ft_predictor_header(const ft_predictor *predictor) {
    return predictor != NULL ? predictor->file.text : NULL;
}

uint32_t ft_predictor_device_count(const ft_predictor *predictor) {
    return predictor != NULL ? predictor->about.device_count : 0;
}

const char *ft_predictor_device(const ft_predictor *predictor, uint32_t index) {
    if (predictor == NULL) return NULL;
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
    assert(device == FT_NONE || device < predictor->about.device_count);
    const double *q90 = predictor_metric_of(predictor)->q90;
    if (device != FT_NONE) return q90[device];
    double widest = NAN;
    for (uint32_t i = 0; i < predictor->about.device_count; i++) widest = fmax(widest, q90[i]);
    return widest;
}

bool predictor_supports_mode(const ft_predictor *predictor, ft_mode mode) {
    uint32_t modes = predictor_metric_of(predictor)->modes;
    return family_can(predictor->about.family, FAMILY_ANY_MODE) || modes == 0 || (modes & 1U << mode) != 0;
}

bool predictor_trained_on_dtype(const ft_predictor *predictor, ft_dtype dtype, ft_dtype usual) {
    const metadata *h = &predictor->about;
    if (!family_can(h->family, FAMILY_TYPES_AS_SIZES)) return true;
    return h->dtypes != 0 ? (h->dtypes & 1U << dtype) != 0 : dtype == usual;
}

ft_dtype predictor_usual_dtype(const ft_predictor *predictor, uint32_t device) {
    const metadata *h = &predictor->about;
    assert(device == FT_NONE || device < h->device_count);
    ft_dtype usual = device != FT_NONE ? h->usual_dtypes[device] : FT_DTYPE_UNKNOWN;
    if (usual != FT_DTYPE_UNKNOWN || h->dtypes == 0 || (h->dtypes & (h->dtypes - 1)) != 0) return usual;
    while ((h->dtypes & 1U << usual) == 0) usual++;
    return usual;
}

uint32_t predictor_device_index(const ft_predictor *predictor, const char *device) {
    uint32_t found = metadata_find_device(&predictor->about, device);
    const char *canonical = found == FT_NONE ? ft_device_canonical(device) : NULL;
    return canonical != NULL ? metadata_find_device(&predictor->about, canonical) : found;
}

bool predictor_reads_sheets(const ft_predictor *predictor) {
    const family *f = predictor->about.family;
    return family_can(f, FAMILY_ANY_DEVICE) ||
           (f->optional.reads_sheets != NULL && f->optional.reads_sheets(predictor->model));
}

bool ft_predictor_reads_sheets(const ft_predictor *predictor) {
    return predictor != NULL && predictor_reads_sheets(predictor);
}

bool ft_predictor_knows(const ft_predictor *predictor, const char *device) {
    if (predictor == NULL || device == NULL) return false;
    return predictor_supports_device(predictor, device);
}

bool predictor_supports_device(const ft_predictor *predictor, const char *device) {
    return predictor_device_index(predictor, device) != FT_NONE ||
           (predictor_reads_sheets(predictor) && ft_device_canonical(device) != NULL);
}

/* --- Predicting ---------------------------------------------------------------------------------------------- */

target_device predictor_target(const ft_predictor *predictor, uint32_t device) {
    return (target_device){.index = device,
                           .sheet = predictor->sheets != NULL && device != FT_NONE ? predictor->sheets[device] : NULL};
}

ft_status predictor_predict(const ft_predictor *predictor, const predict_input *in, model_output *out,
                            ft_error *error) {
    const metadata *h = &predictor->about;
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
        return ft_fail(error, FT_ERR_INTERNAL, "the predictor '%s' returned %g with spread %g", h->family->name,
                       made.value, made.spread);
    *out = made;
    return FT_OK;
}

ft_metric_result predictor_metric_result(const ft_predictor *predictor, uint32_t device, const model_output *p) {
    double factor = exp(predictor_q90(predictor, device) * p->spread);
    ft_metric_result m = {
        .metric = predictor_metric_of(predictor)->name,
        .value = p->value,
        .lo = p->value / factor,
        .hi = p->value * factor,
    };
    bool is_new_device = device == FT_NONE && p->provenance == FT_LEARNED;
    metric_result_set_provenance(&m, is_new_device ? FT_EXTRAPOLATED : p->provenance, p->coverage_ratio);
    return m;
}
