/* ort.c - loads ONNX Runtime and opens models in it. */
#include "measure/ort.h"

#include <string.h>

#include "base/error.h"
#include "base/library.h"

typedef struct api_base {
    const void *const *(*get_api)(uint32_t version);
    const char *(*version)(void);
} api_base;

typedef struct table_entry {
    int index;
    size_t at;
} table_entry;

#define ENTRY(index, field)                                                                                            \
    { index, offsetof(ort, field) }

static const table_entry entries[] = {
    ENTRY(ORT_ERROR_CODE, error_code),
    ENTRY(ORT_ERROR_MESSAGE, error_message),
    ENTRY(ORT_CREATE_ENV, create_env),
    ENTRY(ORT_CREATE_SESSION, create_session),
    ENTRY(ORT_RUN, run),
    ENTRY(ORT_CREATE_OPTIONS, create_options),
    ENTRY(ORT_ENABLE_PROFILING, enable_profiling),
    ENTRY(ORT_LOG_SEVERITY, log_severity),
    ENTRY(ORT_OPTIMIZATION_LEVEL, optimization_level),
    ENTRY(ORT_INTRA_THREADS, intra_threads),
    ENTRY(ORT_INTER_THREADS, inter_threads),
    ENTRY(ORT_INPUT_COUNT, input_count),
    ENTRY(ORT_OUTPUT_COUNT, output_count),
    ENTRY(ORT_INPUT_NAME, input_name),
    ENTRY(ORT_OUTPUT_NAME, output_name),
    ENTRY(ORT_TENSOR_WITH_DATA, tensor_with_data),
    ENTRY(ORT_IS_TENSOR, is_tensor),
    ENTRY(ORT_TENSOR_DATA, tensor_data),
    ENTRY(ORT_ELEMENT_TYPE, element_type),
    ENTRY(ORT_ELEMENT_COUNT, element_count),
    ENTRY(ORT_TENSOR_SHAPE, tensor_shape),
    ENTRY(ORT_CPU_MEMORY, cpu_memory),
    ENTRY(ORT_DEFAULT_ALLOCATOR, default_allocator),
    ENTRY(ORT_RELEASE_STATUS, release_status),
    ENTRY(ORT_RELEASE_SESSION, release_session),
    ENTRY(ORT_RELEASE_VALUE, release_value),
    ENTRY(ORT_RELEASE_SHAPE, release_shape),
    ENTRY(ORT_RELEASE_OPTIONS, release_options),
    ENTRY(ORT_END_PROFILING, end_profiling),
    ENTRY(ORT_ADD_CONFIG, add_config),
};

enum { SEVERITY_FATAL = 4, ALLOCATOR_ARENA = 1, MEMORY_DEFAULT = 0, ALL_OPTIMIZATIONS = 99 };

ft_status ort_check(const ort *o, ort_status *status, const char *what, ft_error *error) {
    if (status == NULL) return FT_OK;
    const char *text = o->error_message(status);
    bool is_memory = strstr(text, "bad_alloc") != NULL || strstr(text, "Failed to allocate memory") != NULL;
    ft_status failed = is_memory ? ft_fail(error, FT_ERR_NOMEM, "out of memory in ONNX Runtime: %s", text)
                                 : ft_fail(error, FT_ERR_UNSUPPORTED, "%s: %s", what, text);
    o->release_status(status);
    return failed;
}

ft_status ort_load(const char *path, ort *o, ft_error *error) {
    const api_base *(*get_base)(void) = NULL;
    const library_function base = {"OrtGetApiBase", &get_base};
    FT_TRY(library_load(path, &base, 1, error));
    const api_base *found = get_base();
    const void *const *table = found != NULL ? found->get_api(ORT_VERSION) : NULL;
    if (table == NULL)
        return ft_fail(error, FT_ERR_UNSUPPORTED, "%s: ONNX Runtime %s is too old: 1.%d or later is needed", path,
                       found != NULL ? found->version() : "of an unknown version", ORT_VERSION);
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++)
        memcpy((char *)o + entries[i].at, &table[entries[i].index], sizeof table[0]);
    FT_TRY(ort_check(o, o->create_env(SEVERITY_FATAL, "foretell", &o->env), "ONNX Runtime", error));
    FT_TRY(ort_check(o, o->cpu_memory(ALLOCATOR_ARENA, MEMORY_DEFAULT, &o->memory), "ONNX Runtime", error));
    return ort_check(o, o->default_allocator(&o->allocator), "ONNX Runtime", error);
}

int ort_type(ft_dtype dtype) {
    switch (dtype) {
    case FT_FLOAT32:
        return 1;
    case FT_UINT8:
        return 2;
    case FT_INT8:
        return 3;
    case FT_UINT16:
        return 4;
    case FT_INT16:
        return 5;
    case FT_INT32:
        return 6;
    case FT_INT64:
        return 7;
    case FT_BOOL:
        return 9;
    case FT_FLOAT16:
        return 10;
    case FT_FLOAT64:
        return 11;
    case FT_UINT32:
        return 12;
    case FT_UINT64:
        return 13;
    case FT_BFLOAT16:
        return 16;
    default:
        return 0;
    }
}

static ft_status set_options(const ort *o, ort_options *options, const ort_session_options *wanted, ft_error *error) {
    static const char what[] = "session options";
    FT_TRY(ort_check(o, o->log_severity(options, SEVERITY_FATAL), what, error));
    FT_TRY(ort_check(o, o->optimization_level(options, ALL_OPTIMIZATIONS), what, error));
    FT_TRY(ort_check(o, o->intra_threads(options, (int)wanted->threads), what, error));
    FT_TRY(ort_check(o, o->inter_threads(options, 1), what, error));
    /* Threads that spin while they wait take the core from those that compute where cores are shared. */
    FT_TRY(ort_check(o, o->add_config(options, "session.intra_op.allow_spinning", "0"), what, error));
    if (wanted->profile == NULL) return FT_OK;
    return ort_check(o, o->enable_profiling(options, wanted->profile), what, error);
}

ft_status ort_session_open(const ort *o, const char *path, const ort_session_options *options, ort_session **session,
                           ft_error *error) {
    ort_options *made = NULL;
    *session = NULL;
    FT_TRY(ort_check(o, o->create_options(&made), "session options", error));
    ft_status status = set_options(o, made, options, error);
    if (status == FT_OK)
        status = ort_check(o, o->create_session(o->env, path, made, session), "ONNX Runtime refuses the model", error);
    o->release_options(made);
    return status;
}
