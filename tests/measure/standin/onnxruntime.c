/* A stand-in for ONNX Runtime: the functions that foretell calls, at the same indexes of the table. It computes
 * nothing. STANDIN_MODE selects what a test needs: nan, refuse, memory, crash, killed, old. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TABLE_SIZE = 400, OUTPUTS = 4 };

typedef void (*function)(void);
static function table[TABLE_SIZE];
static char profile[4096];
static int env, session, options, memory, allocator, shape, input;
static float output[OUTPUTS];

static int mode_is(const char *mode) {
    const char *value = getenv("STANDIN_MODE");
    return value != NULL && strcmp(value, mode) == 0;
}

/* An error is its own text. */
static const char *error_text(const char *status) {
    return status;
}

static int error_code(const char *status) {
    return status != NULL;
}

static void release(void *object) {
    (void)object;
}

static const char *make_env(int severity, const char *name, void **made) {
    (void)severity, (void)name;
    *made = &env;
    return NULL;
}

static const char *make_session(void *in, const char *path, void *with, void **made) {
    (void)in, (void)with;
    if (access(path, R_OK) != 0) return "no such file";
    if (mode_is("refuse")) return "stand-in: no kernel for the operator Nonsense";
    if (mode_is("memory")) return "std::bad_alloc";
    *made = &session;
    return NULL;
}

static const char *make_options(void **made) {
    profile[0] = '\0';
    *made = &options;
    return NULL;
}

static const char *set_profile(void *of, const char *prefix) {
    (void)of;
    snprintf(profile, sizeof profile, "%s_standin.json", prefix);
    return NULL;
}

static const char *set_number(void *of, int number) {
    (void)of, (void)number;
    return NULL;
}

static const char *set_text(void *of, const char *key, const char *value) {
    (void)of, (void)key, (void)value;
    return NULL;
}

static const char *count_one(const void *of, size_t *count) {
    (void)of;
    *count = 1;
    return NULL;
}

static const char *input_name(const void *of, size_t index, void *with, char **name) {
    static char text[] = "input";
    (void)of, (void)index, (void)with;
    *name = text;
    return NULL;
}

static const char *output_name(const void *of, size_t index, void *with, char **name) {
    static char text[] = "output";
    (void)of, (void)index, (void)with;
    *name = text;
    return NULL;
}

static const char *make_tensor(const void *in, void *data, size_t size, const long long *dims, size_t rank, int type,
                               void **made) {
    (void)in, (void)data, (void)size, (void)dims, (void)rank, (void)type;
    *made = &input;
    return NULL;
}

/* Spins for 0.2 ms of processor time. */
static void work(void) {
    struct timespec begin, now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    do {
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < 200000);
}

static const char *run(void *in, const void *with, const char *const *input_names, const void *const *inputs,
                       size_t input_count, const char *const *output_names, size_t output_count, void **outputs) {
    (void)in, (void)with, (void)input_names, (void)inputs, (void)input_count, (void)output_names;
    if (mode_is("crash")) abort();
    if (mode_is("killed")) kill(getpid(), SIGKILL);
    work();
    for (int i = 0; i < OUTPUTS; i++) output[i] = mode_is("nan") ? NAN : 1;
    for (size_t i = 0; i < output_count; i++) outputs[i] = output;
    return NULL;
}

static const char *is_tensor(const void *value, int *is) {
    (void)value;
    *is = 1;
    return NULL;
}

static const char *tensor_data(void *value, void **data) {
    *data = value;
    return NULL;
}

static const char *tensor_shape(const void *value, void **made) {
    (void)value;
    *made = &shape;
    return NULL;
}

static const char *element_type(const void *of, int *type) {
    (void)of;
    *type = 1;
    return NULL;
}

static const char *element_count(const void *of, size_t *count) {
    (void)of;
    *count = OUTPUTS;
    return NULL;
}

static const char *cpu_memory(int kind, int type, void **made) {
    (void)kind, (void)type;
    *made = &memory;
    return NULL;
}

static const char *default_allocator(void **made) {
    *made = &allocator;
    return NULL;
}

static const char *end_profile(void *in, void *with, char **path) {
    static const char text[] =
        "[{\"cat\": \"Session\", \"name\": \"model_run\", \"dur\": 300},\n"
        " {\"cat\": \"Node\", \"name\": \"first_kernel_time\", \"dur\": 120, \"args\": {\"op_name\": \"Conv\"}},\n"
        " {\"cat\": \"Node\", \"name\": \"last_kernel_time\", \"dur\": 90, \"args\": {\"op_name\": \"Gemm\"}},\n"
        " {\"cat\": \"Node\", \"name\": \"first_kernel_time\", \"dur\": 110, \"args\": {\"op_name\": \"Conv\"}}]\n";
    (void)in, (void)with;
    FILE *file = fopen(profile, "w");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) return "cannot write the profile";
    *path = profile;
    return NULL;
}

static void set(int index, function f) {
    table[index] = f;
}

static const function *get_api(unsigned version) {
    if (version > 20 || mode_is("old")) return NULL;
    set(1, (function)error_code), set(2, (function)error_text), set(3, (function)make_env);
    set(7, (function)make_session), set(9, (function)run), set(10, (function)make_options);
    set(14, (function)set_profile), set(22, (function)set_number), set(23, (function)set_number);
    set(24, (function)set_number), set(25, (function)set_number), set(30, (function)count_one);
    set(31, (function)count_one), set(36, (function)input_name), set(37, (function)output_name);
    set(49, (function)make_tensor), set(50, (function)is_tensor), set(51, (function)tensor_data);
    set(60, (function)element_type), set(64, (function)element_count), set(65, (function)tensor_shape);
    set(69, (function)cpu_memory), set(78, (function)default_allocator), set(93, (function)release);
    set(95, (function)release), set(96, (function)release), set(99, (function)release);
    set(100, (function)release), set(110, (function)end_profile), set(130, (function)set_text);
    return table;
}

static const char *get_version(void) {
    return "0 (stand-in, not ONNX Runtime)";
}

const void *OrtGetApiBase(void);
const void *OrtGetApiBase(void) {
    static function base[2];
    base[0] = (function)get_api;
    base[1] = (function)get_version;
    return base;
}
