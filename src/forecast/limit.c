/* limit.c - times of predictors against the limit of the data sheet (cost/limit.h): none is shorter. */
#include "forecast/job.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "cost/limit.h"

/* --- Rates ----------------------------------------------------------------------------------------------------- */

/* The larger of two numbers, either of which may be missing. */
static double larger(double a, double b) {
    return fmax(a, b); /* ignores NaN */
}

static double or_else(double value, double other) {
    return isnan(value) ? other : value;
}

/* Rates that a data sheet lacks are assumed to be higher than those of any device. A type is at least as fast as the
 * next wider one; float32 may run as TensorFloat-32, and as float16 in the GPU delegates of phones. */
limit_rates limit_rates_of(const ft_device *sheet) {
    static const double NARROWER = 4, LARGEST_CACHE = 256 << 20;
    limit_rates rates;
    double *rate = rates.flops_per_s;
    const char *kind = ft_device_kind(sheet);
    double halves =
        larger(ft_device_number(sheet, "peak_float16_flops"), ft_device_number(sheet, "peak_bfloat16_flops"));
    bool is_phone = strcmp(kind, "gpu") == 0 && strncmp(ft_device_runtime(sheet), "torch", 5) != 0;
    rate[LIMIT_BITS_32] =
        larger(ft_device_number(sheet, "peak_float32_flops"), ft_device_number(sheet, "peak_tensorfloat32_flops"));
    rate[LIMIT_BITS_16] = larger(halves, rate[LIMIT_BITS_32]);
    if (isnan(halves)) rate[LIMIT_BITS_16] = NARROWER * rate[LIMIT_BITS_32];
    if (is_phone || isnan(rate[LIMIT_BITS_32])) rate[LIMIT_BITS_32] = rate[LIMIT_BITS_16];
    double bytes = ft_device_number(sheet, "peak_int8_ops");
    rate[LIMIT_BITS_8] = isnan(bytes) ? NARROWER * rate[LIMIT_BITS_16] : larger(bytes, rate[LIMIT_BITS_16]);
    rate[LIMIT_BITS_4] = NARROWER * rate[LIMIT_BITS_8];
    rates.cache_bytes = or_else(ft_device_number(sheet, "cache_bytes"), LARGEST_CACHE);
    /* The compiler of an NPU keeps activations in its own memory. */
    rates.bytes_per_s = strcmp(kind, "npu") == 0 ? NAN : ft_device_number(sheet, "bandwidth_bytes_per_s");
    return rates;
}

/* --- Clipping -------------------------------------------------------------------------------------------------- */

static ft_status find_work(forecast_job *job, const limit_work **work, ft_error *error) {
    static const char key;
    limit_work *made = model_view_cached(job->view, &key); /* the same for all devices */
    *work = made;
    if (made != NULL) return FT_OK;
    const ft_cost_options options = job_cost_options(job);
    made = ARENA_NEW(&job->view->memory, limit_work);
    if (made == NULL || !limit_work_make(job->view->bound, job->cost, &options, &job->view->memory, made))
        return FT_NOMEM(error);
    model_view_cache(job->view, &key, made);
    *work = made;
    return FT_OK;
}

ft_status job_limit_time(forecast_job *job, ft_error *error) {
    ft_metric_result *time = &job->metrics[METRIC_TIME];
    const limit_work *work;
    if (isnan(time->value) || job->sheet == NULL) return FT_OK;
    const limit_rates rates = limit_rates_of(job->sheet);
    FT_TRY(find_work(job, &work, error));
    double limit = limit_us(work, &rates);
    assert(limit >= 0);
    if (time->lo < limit) time->lo = limit;
    if (time->hi < limit) time->hi = limit;
    if (time->value >= limit) return FT_OK;
    double predicted = time->value;
    FT_TRY(job_scale_parts(job, time, limit, error));
    time->value = limit;
    metric_result_set_provenance(time, FT_ASSUMED, 0);
    return job_note(job, error,
                    "the predicted time, %.3g us, is raised to %.3g us: peak rate and bandwidth of %s allow no less",
                    predicted, limit, job->out->request.device);
}
