/* ort.h - the functions of ONNX Runtime that measuring calls.
 *
 * The runtime's C interface is a table of functions that only grows at its end, so that an index means the same
 * function in all versions from the one that introduced it. foretell needs no header of the runtime. */
#ifndef MEASURE_ORT_H
#define MEASURE_ORT_H

#include <stddef.h>
#include <stdint.h>

#include "foretell/graph.h"

typedef struct ort_status ort_status; /* NULL: ok */
typedef struct ort_env ort_env;
typedef struct ort_session ort_session;
typedef struct ort_options ort_options;
typedef struct ort_value ort_value;
typedef struct ort_memory ort_memory;
typedef struct ort_allocator ort_allocator;
typedef struct ort_shape ort_shape;

/* Indexes in the table, and the version of the interface that has all of them. */
enum {
    ORT_VERSION = 14,
    ORT_ERROR_CODE = 1,
    ORT_ERROR_MESSAGE = 2,
    ORT_CREATE_ENV = 3,
    ORT_CREATE_SESSION = 7,
    ORT_RUN = 9,
    ORT_CREATE_OPTIONS = 10,
    ORT_ENABLE_PROFILING = 14,
    ORT_LOG_SEVERITY = 22,
    ORT_OPTIMIZATION_LEVEL = 23,
    ORT_INTRA_THREADS = 24,
    ORT_INTER_THREADS = 25,
    ORT_INPUT_COUNT = 30,
    ORT_OUTPUT_COUNT = 31,
    ORT_INPUT_NAME = 36,
    ORT_OUTPUT_NAME = 37,
    ORT_TENSOR_WITH_DATA = 49,
    ORT_IS_TENSOR = 50,
    ORT_TENSOR_DATA = 51,
    ORT_ELEMENT_TYPE = 60,
    ORT_ELEMENT_COUNT = 64,
    ORT_TENSOR_SHAPE = 65,
    ORT_CPU_MEMORY = 69,
    ORT_DEFAULT_ALLOCATOR = 78,
    ORT_RELEASE_STATUS = 93,
    ORT_RELEASE_SESSION = 95,
    ORT_RELEASE_VALUE = 96,
    ORT_RELEASE_SHAPE = 99,
    ORT_RELEASE_OPTIONS = 100,
    ORT_END_PROFILING = 110,
    ORT_ADD_CONFIG = 130,
    ORT_TABLE_SIZE,
};

typedef struct ort {
    ort_status *(*create_env)(int severity, const char *name, ort_env **env);
    ort_status *(*create_session)(const ort_env *env, const char *path, const ort_options *options,
                                  ort_session **session);
    ort_status *(*run)(ort_session *session, const void *run_options, const char *const *input_names,
                       const ort_value *const *inputs, size_t input_count, const char *const *output_names,
                       size_t output_count, ort_value **outputs);
    ort_status *(*create_options)(ort_options **options);
    ort_status *(*enable_profiling)(ort_options *options, const char *prefix);
    ort_status *(*log_severity)(ort_options *options, int severity);
    ort_status *(*optimization_level)(ort_options *options, int level);
    ort_status *(*intra_threads)(ort_options *options, int threads);
    ort_status *(*inter_threads)(ort_options *options, int threads);
    ort_status *(*input_count)(const ort_session *session, size_t *count);
    ort_status *(*output_count)(const ort_session *session, size_t *count);
    ort_status *(*input_name)(const ort_session *session, size_t index, ort_allocator *allocator, char **name);
    ort_status *(*output_name)(const ort_session *session, size_t index, ort_allocator *allocator, char **name);
    ort_status *(*tensor_with_data)(const ort_memory *memory, void *data, size_t size, const int64_t *dims, size_t rank,
                                    int type, ort_value **value);
    ort_status *(*is_tensor)(const ort_value *value, int *is_tensor);
    ort_status *(*tensor_data)(ort_value *value, void **data);
    ort_status *(*element_type)(const ort_shape *shape, int *type);
    ort_status *(*element_count)(const ort_shape *shape, size_t *count);
    ort_status *(*tensor_shape)(const ort_value *value, ort_shape **shape);
    ort_status *(*cpu_memory)(int allocator, int kind, ort_memory **memory);
    ort_status *(*default_allocator)(ort_allocator **allocator);
    ort_status *(*end_profiling)(ort_session *session, ort_allocator *allocator, char **path);
    ort_status *(*add_config)(ort_options *options, const char *key, const char *value);
    int (*error_code)(const ort_status *status);
    const char *(*error_message)(const ort_status *status);
    void (*release_status)(ort_status *status);
    void (*release_session)(ort_session *session);
    void (*release_value)(ort_value *value);
    void (*release_shape)(ort_shape *shape);
    void (*release_options)(ort_options *options);
    ort_env *env;
    ort_memory *memory;
    ort_allocator *allocator;
} ort;

/* Loads the library, which stays loaded until the process ends. */
ft_status ort_load(const char *path, ort *o, ft_error *error);
/* The text of the runtime's error, which is released; FT_ERR_NOMEM where it is one of memory. NULL is FT_OK. */
ft_status ort_check(const ort *o, ort_status *status, const char *what, ft_error *error);
/* The number of an element type in the runtime; 0: it has none. */
int ort_type(ft_dtype dtype);

typedef struct ort_session_options {
    uint32_t threads;
    const char *profile; /* prefix of the file of its profile; NULL: none */
} ort_session_options;

ft_status ort_session_open(const ort *o, const char *path, const ort_session_options *options, ort_session **session,
                           ft_error *error);

#endif
