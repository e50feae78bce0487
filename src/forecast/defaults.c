/* defaults.c - what a request leaves open: the type, and how PyTorch runs a model of 16 bits.
 *
 * The type is the one that the predictor of the device was trained on, since that is what was measured; where it was
 * trained on several, the usual type of the device. A file whose weights have 16 bits is run in that type, without
 * autocast, because autocast is for models of float32. The result has the choices as it was predicted with. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "forecast/job.h"

/* --- The model ----------------------------------------------------------------------------------------------- */

static bool is_narrow(ft_dtype dtype) {
    return dtype == FT_FLOAT16 || dtype == FT_BFLOAT16;
}

/* The type of 16 bits that most weights have; FT_DTYPE_UNKNOWN: most have another. TFLite stores weights in 16 bits
 * for models that run in float32. */
static ft_dtype narrow_weights(const ft_graph *model) {
    double counts[FT_BFLOAT16 + 1] = {0}, others = 0;
    if (ft_graph_format(model) == FT_FORMAT_TFLITE) return FT_DTYPE_UNKNOWN;
    for (uint32_t i = 0; i < ft_graph_tensor_count(model); i++) {
        const ft_tensor *t = &ft_graph_tensors(model)[i];
        double elements = 1;
        if (t->role != FT_CONSTANT || !ft_dtype_is_float(t->dtype)) continue;
        for (int32_t d = 0; d < t->rank; d++) elements *= t->dims[d] > 0 ? (double)t->dims[d] : 0;
        *(is_narrow(t->dtype) ? &counts[t->dtype] : &others) += elements;
    }
    ft_dtype most = counts[FT_BFLOAT16] > counts[FT_FLOAT16] ? FT_BFLOAT16 : FT_FLOAT16;
    return counts[most] > counts[FT_FLOAT16] + counts[FT_BFLOAT16] - counts[most] + others ? most : FT_DTYPE_UNKNOWN;
}

/* --- The device ---------------------------------------------------------------------------------------------- */

bool job_is_torch_gpu(const ft_device *sheet) {
    return sheet != NULL && strcmp(ft_device_kind(sheet), "gpu") == 0 &&
           strncmp(ft_device_runtime(sheet), "torch", 5) == 0;
}

ft_dtype job_usual_dtype(const ft_device *sheet) {
    if (sheet != NULL && strcmp(ft_device_runtime(sheet), "vela") == 0) return FT_INT8;
    return job_is_torch_gpu(sheet) ? FT_FLOAT16 : FT_FLOAT32;
}

/* The predictor of times that is tried first, with its index of the device (FT_NONE: it reads the data sheet); NULL:
 * there is none. */
static const ft_predictor *first_predictor(const forecast_job *job, uint32_t *device) {
    predictor_choice choice;
    for (uint32_t i = 0; i < JOB_RANKS * job->context->set->count; i++) {
        if (!job_candidate(job, "time_us", i, &choice)) continue;
        *device = choice.target.index;
        return choice.predictor;
    }
    *device = FT_NONE;
    return NULL;
}

/* --- Type ---------------------------------------------------------------------------------------------------- */

/* Whether intervals of a predictor hold for a type that it was trained on, among others perhaps. */
static bool is_trained_on(const ft_predictor *predictor, ft_dtype dtype) {
    return predictor == NULL || predictor->about.dtypes == 0 || (predictor->about.dtypes & 1U << dtype) != 0;
}

static ft_dtype default_dtype(const forecast_job *job, const ft_predictor *predictor, uint32_t device,
                              ft_dtype weights) {
    ft_dtype trained = predictor != NULL ? predictor_usual_dtype(predictor, device) : FT_DTYPE_UNKNOWN;
    if (is_narrow(weights) && job_is_torch_gpu(job->sheet) && is_trained_on(predictor, weights)) return weights;
    return trained != FT_DTYPE_UNKNOWN ? trained : job_usual_dtype(job->sheet);
}

/* --- Setting ------------------------------------------------------------------------------------------------- */

static bool has_key(const char *setting, const char *key) {
    size_t length = strlen(key);
    for (const char *at = setting; *at != '\0'; at += strcspn(at, ";"), at += *at == ';')
        if (strncmp(at, key, length) == 0 && at[length] == '=') return true;
    return false;
}

/* A model of 16 bits runs without autocast, unless the request asks for it. */
static ft_status set_plain(forecast_job *job, ft_dtype weights, ft_error *error) {
    ft_request *request = &job->out->request;
    char text[512];
    const char *after = request->setting; /* keys are sorted */
    while (*after != '\0' && strncmp(after, "amp=", 4) < 0) {
        after += strcspn(after, ";");
        after += *after == ';';
    }
    int before = (int)(after - request->setting);
    const char *comma = before > 0 && after[-1] != ';' ? ";" : "";
    int length = snprintf(text, sizeof text, "%.*s%samp=no%s%s", before, request->setting, comma,
                          *after != '\0' ? ";" : "", after);
    if (length < 0 || (size_t)length >= sizeof text) return FT_OK; /* no predictor reads a setting of that length */
    request->setting = arena_string(&job->context->memory, text, (size_t)length);
    if (request->setting == NULL) return FT_NOMEM(error);
    return job_note(job, error, "the model is %s in its file: predicted in %s without autocast (amp=no)",
                    ft_dtype_name(weights), ft_dtype_name(request->dtype));
}

/* --- Both ---------------------------------------------------------------------------------------------------- */

ft_status job_set_defaults(forecast_job *job, ft_error *error) {
    ft_request *request = &job->out->request;
    uint32_t device;
    const ft_predictor *predictor = first_predictor(job, &device);
    const char *keys = predictor != NULL ? predictor_family(predictor)->setting_keys : NULL;
    ft_dtype weights = request->mode == FT_INFER ? narrow_weights(job->context->model) : FT_DTYPE_UNKNOWN;
    if (request->dtype == FT_DTYPE_UNKNOWN) request->dtype = default_dtype(job, predictor, device, weights);
    job->given_setting = request->setting;
    bool can_mix = keys != NULL && text_has_word(keys, "amp", 3) && is_narrow(request->dtype);
    if (!can_mix || !is_narrow(weights) || !job_is_torch_gpu(job->sheet) || has_key(request->setting, "amp"))
        return FT_OK;
    return set_plain(job, weights, error);
}
