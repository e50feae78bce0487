/* Tests of training with a family made for this test: the same bytes for any number of threads and any interruptions,
 * and no partial files after errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/input.h"
#include "base/outfile.h"
#include "base/rng.h"
#include "learn/train/train.h"
#include "predictor/core/family.h"
#include "support/factor_model.h"
#include "support/failing.h"
#include "support/folder.h"
#include "support/toy_data.h"

/* --- A family ------------------------------------------------------------------------------------------------ */

/* Learns a factor per device by small steps with noise in them, so that a step too many, too few, or with other random
 * numbers shows in the result. */
enum { STEPS = 6, PARTS = 8 };

typedef struct fit_state {
    uint32_t step;
    double log_factor[MAX_DEVICES];
} fit_state;

static uint32_t kill_after_step; /* 0: never */
static uint32_t steps_made;      /* in this process */
static uint64_t seed_seen;

/* Operators of a graph of toy_data. */
static double size_of(const fit_row *row) {
    return row->graph % 9 + 1;
}

typedef struct step_work {
    const fit_set *set;
    const fit_state *state;
    double sums[PARTS][MAX_DEVICES];
} step_work;

static void add_errors(void *user, uint32_t part, uint32_t worker) {
    (void)worker;
    step_work *work = user;
    for (uint32_t i = part; i < work->set->train.count; i += PARTS) {
        const fit_row *row = &work->set->train.items[i];
        work->sums[part][row->device] += log(row->label / size_of(row)) - work->state->log_factor[row->device];
    }
}

static void make_step(const fit_set *set, const fit_context *context, fit_state *state) {
    step_work work = {.set = set, .state = state};
    pool_run(context->threads, PARTS, add_errors, &work);
    rng random;
    rng_init(&random, context->seed, state->step);
    for (uint32_t d = 0; d < set->device_count; d++) {
        double sum = 0;
        for (uint32_t part = 0; part < PARTS; part++) sum += work.sums[part][d];
        state->log_factor[d] += sum / set->train.count * 1.5 + 0.001 * rng_normal(&random);
    }
    state->step++;
    steps_made++;
}

static ft_status fake_fit(const fit_set *set, const fit_context *context, void **out, ft_error *error) {
    fit_state state = {0};
    size_t size;
    const void *kept = context->load(context->user, &size);
    const json_t *steps = json_object_get(context->config, "steps");
    if (json_object_size(context->config) > (steps != NULL))
        return ft_fail(error, FT_ERR_USAGE, "the only setting is 'steps'");
    if (kept != NULL) memcpy(&state, kept, sizeof state);
    seed_seen = context->seed;
    uint32_t count = steps != NULL ? (uint32_t)json_integer_value(steps) : STEPS;
    while (state.step < count) {
        if (!context->progress(context->user, (double)state.step / count, "stepping")) return FT_ERR_CANCELLED;
        make_step(set, context, &state);
        context->log(context->user, json_pack("{s:i}", "step", (int)state.step));
        FT_TRY(context->save(context->user, &state, sizeof state, error));
        if (state.step == kill_after_step) raise(SIGKILL);
    }
    factor_model *m = *out = calloc(1, sizeof *m);
    if (m == NULL) return FT_NOMEM(error);
    m->device_count = set->device_count;
    memcpy(m->log_factor, state.log_factor, sizeof state.log_factor);
    return FT_OK;
}

static family fake = {.name = "fake",
                      .text = "for tests",
                      .schema = "fake-1",
                      .fit = fake_fit,
                      .save = factor_save,
                      .load = factor_load,
                      .predict = factor_predict,
                      .free = factor_free};

/* --- Helpers ------------------------------------------------------------------------------------------------- */

static const char *const results[] = {"predictor.ftm", "metrics.json", "config.json"};
enum { RESULT_COUNT = 3, FILES_OF_A_RUN = 4 };

static void expect_same_file(const char *a, const char *b) {
    input first, second;
    ft_error error;
    assert_int_equal(input_open(a, 1 << 24, &first, &error), FT_OK);
    assert_int_equal(input_open(b, 1 << 24, &second, &error), FT_OK);
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.bytes, second.bytes, first.size);
    input_close(&first);
    input_close(&second);
}

static void expect_same_run(const char *a, const char *b) {
    for (int i = 0; i < RESULT_COUNT; i++) {
        char first[64], second[64];
        snprintf(first, sizeof first, "%s/%s", a, results[i]);
        snprintf(second, sizeof second, "%s/%s", b, results[i]);
        expect_same_file(first, second);
    }
    assert_int_equal(folder_count(a), FILES_OF_A_RUN);
    assert_int_equal(folder_count(b), FILES_OF_A_RUN);
}

static json_t *read_json(const char *path) {
    input in;
    ft_error error;
    json_t *value = NULL;
    assert_int_equal(input_open(path, 1 << 24, &in, &error), FT_OK);
    assert_int_equal(json_parse(in.bytes, in.size, &value, &error), FT_OK);
    input_close(&in);
    return value;
}

static ft_train_options usual(void) {
    ft_train_options options = ft_train_options_default();
    options.seed = 7;
    options.threads = 1;
    return options;
}

static ft_status train(const ft_dataset *data, const char *folder, const ft_train_options *options, ft_error *error) {
    return train_run(data, folder, options, 0, NULL, error);
}

static void train_well(const ft_dataset *data, const char *folder, const ft_train_options *options) {
    ft_error error = {0};
    ft_status status = train(data, folder, options, &error);
    if (status != FT_OK) print_message("%s\n", error.message);
    assert_int_equal(status, FT_OK);
}

/* Stops at the n-th call. */
static bool stop_later(void *user, uint64_t done, uint64_t total, const char *what) {
    int *left = user;
    assert_non_null(what);
    assert_true(done <= total);
    return (*left)-- > 0;
}

/* --- A run --------------------------------------------------------------------------------------------------- */

static void test_a_whole_run(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", NULL);
    ft_train_options options = usual();
    ft_evaluation tested;
    ft_error error;
    assert_int_equal(train_run(data, "run", &options, 0, &tested, &error), FT_OK);
    assert_true(tested.score_count > 0);
    assert_true(tested.case_count >= 10);
    assert_true(tested.scores[0].mape > 0 && tested.scores[0].mape < 15);
    ft_evaluation_free(&tested);
    assert_int_equal(folder_count("."), 2);
    assert_int_equal(folder_count("run"), FILES_OF_A_RUN);

    json_t *config = read_json("run/config.json"), *metrics = read_json("run/metrics.json");
    assert_string_equal(json_string_value(json_object_get(config, "family")), "fake");
    assert_string_equal(json_string_value(json_object_get(config, "metric")), "time_us");
    assert_int_equal(json_integer_value(json_object_get(config, "seed")), 7);
    assert_string_equal(json_string_value(json_object_get(json_object_get(config, "data"), "hash")),
                        ft_dataset_hash(data));
    json_t *calibration = json_object_get(metrics, "calibration");
    const json_t *cpu = json_object_get(calibration, "cortex-a76");
    double q90 = json_number_value(json_object_get(cpu, "q90"));
    assert_true(q90 > 0.01 && q90 < 0.4); /* errors of up to a tenth, in units of a spread of a half */
    const json_t *rows = json_object_get(config, "rows");
    assert_int_equal(json_integer_value(json_object_get(cpu, "n")) * 2, /* both devices have all graphs */
                     json_integer_value(json_object_get(rows, "calibration")));
    assert_int_equal(seed_seen, 7);
    bool has_valid = false, has_test = false;
    size_t i;
    json_t *result;
    json_array_foreach(json_object_get(metrics, "results"), i, result) {
        const char *part = json_string_value(json_object_get(result, "part"));
        has_valid = has_valid || strcmp(part, "valid") == 0;
        has_test = has_test || strcmp(part, "test") == 0;
        assert_true(json_is_number(json_object_get(result, "mape")));
    }
    assert_true(has_valid && has_test);
    json_decref(config);
    json_decref(metrics);

    ft_predictor *predictor;
    assert_int_equal(ft_predictor_open("run/predictor.ftm", &predictor, &error), FT_OK);
    assert_int_equal(ft_predictor_device_count(predictor), 2);
    assert_string_equal(ft_predictor_device(predictor, 0), "adreno-640");
    ft_predictor_free(predictor);
    ft_dataset_free(data);
}

static void test_every_line_of_the_log_is_json(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", NULL);
    ft_train_options options = usual();
    train_well(data, "run", &options);
    input in;
    ft_error error;
    int steps = 0, lines = 0;
    assert_int_equal(input_open("run/log.jsonl", 1 << 20, &in, &error), FT_OK);
    const char *at = (const char *)in.bytes, *end = at + in.size;
    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        assert_non_null(line_end);
        json_t *line = NULL;
        assert_int_equal(json_parse(at, (size_t)(line_end - at), &line, &error), FT_OK);
        assert_true(json_is_string(json_object_get(line, "time")));
        steps += json_object_get(line, "step") != NULL;
        lines++;
        json_decref(line);
        at = line_end + 1;
    }
    assert_int_equal(steps, STEPS);
    assert_true(lines >= STEPS + 3); /* start, fitted, complete */
    input_close(&in);
    ft_dataset_free(data);
}

static void test_threads_do_not_matter(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", NULL);
    ft_train_options options = usual();
    train_well(data, "run1", &options);
    options.threads = 2;
    train_well(data, "run2", &options);
    options.threads = 3;
    train_well(data, "run3", &options);
    expect_same_run("run1", "run2");
    expect_same_run("run1", "run3");
    options.seed = 8;
    train_well(data, "other", &options);
    input first, second;
    assert_int_equal(input_open("run1/predictor.ftm", 1 << 20, &first, NULL), FT_OK);
    assert_int_equal(input_open("other/predictor.ftm", 1 << 20, &second, NULL), FT_OK);
    assert_true(first.size != second.size || memcmp(first.bytes, second.bytes, first.size) != 0);
    input_close(&first);
    input_close(&second);
    ft_dataset_free(data);
}

static void test_split_that_tests_nothing(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", NULL);
    ft_train_options options = usual();
    ft_evaluation tested = {.score_count = 1};
    ft_error error;
    options.split = "all";
    assert_int_equal(train_run(data, "run", &options, 0, &tested, &error), FT_OK);
    assert_int_equal(tested.score_count, 0);
    ft_evaluation_free(&tested);
    /* a device that training has not seen cannot be tested */
    options.split = "device:adreno-640";
    assert_int_equal(train_run(data, "run2", &options, 0, &tested, &error), FT_OK);
    assert_int_equal(tested.score_count, 0);
    ft_dataset_free(data);
}

/* --- Stopped and resumed ------------------------------------------------------------------------------------- */

static void test_cancelled_and_resumed(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", NULL);
    ft_train_options options = usual();
    train_well(data, "whole", &options);
    bool was_stopped = true;
    for (int n = 0; was_stopped; n++) {
        int left = n;
        ft_error error = {0};
        ft_train_options stopped = options;
        stopped.progress = stop_later;
        stopped.user = &left;
        ft_status status = train(data, "run", &stopped, &error);
        was_stopped = status != FT_OK;
        if (was_stopped) {
            assert_int_equal(status, FT_ERR_CANCELLED);
            assert_non_null(strstr(error.message, "stopped"));
            assert_int_equal(access("run/metrics.json", F_OK), -1);
            if (n == 0) { /* nothing was done yet, and nothing is left */
                assert_int_equal(folder_count("run"), -1);
                continue;
            }
            assert_int_equal(access("run/checkpoint.bin", F_OK), 0);
            stopped.progress = NULL;
            stopped.is_resumed = true;
            steps_made = 0;
            train_well(data, "run", &stopped);
            assert_int_equal(steps_made, n < STEPS ? STEPS - n : 0); /* finished steps are not repeated */
        }
        expect_same_run("whole", "run");
        assert_int_equal(system("rm -r run"), 0);
        assert_true(n < 1000);
    }
    ft_dataset_free(data);
}

static void test_stopped_again_and_again(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", NULL);
    ft_train_options options = usual();
    train_well(data, "whole", &options);
    ft_status status = FT_ERR_CANCELLED;
    options.progress = stop_later;
    for (int n = 0; status != FT_OK; n++) {
        int left = 2; /* one step, or one later stage */
        ft_error error;
        options.user = &left;
        if (n > 20) options.progress = NULL;
        options.is_resumed = n > 0;
        status = train(data, "run", &options, &error);
        assert_true(status == FT_OK || status == FT_ERR_CANCELLED);
    }
    expect_same_run("whole", "run");
    ft_dataset_free(data);
}

static void test_killed_and_resumed(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", NULL);
    ft_train_options options = usual();
    train_well(data, "whole", &options);
    for (uint32_t step = 1; step <= STEPS; step++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            kill_after_step = step;
            options.threads = 2;
            train(data, "run", &options, NULL);
            _exit(1); /* not reached */
        }
        int how;
        assert_int_equal(waitpid(child, &how, 0), child);
        assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
        options.is_resumed = true;
        steps_made = 0;
        train_well(data, "run", &options);
        assert_int_equal(steps_made, STEPS - step);
        options.is_resumed = false;
        expect_same_run("whole", "run");
        assert_int_equal(system("rm -r run"), 0);
    }
    ft_dataset_free(data);
}

static void test_complete_run_is_left_alone(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", NULL);
    ft_train_options options = usual();
    train_well(data, "run", &options);
    int left = 0; /* nothing may be begun */
    options.is_resumed = true;
    options.progress = stop_later;
    options.user = &left;
    train_well(data, "run", &options);
    assert_int_equal(folder_count("run"), FILES_OF_A_RUN);
    ft_dataset_free(data);
}

/* Checkpoints go to the disk now and then, and when the run is stopped. */
static void test_checkpoints_wait(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", NULL);
    ft_train_options options = usual();
    train_well(data, "whole", &options);
    int left = 3;
    ft_error error;
    options.progress = stop_later;
    options.user = &left;
    assert_int_equal(train_run(data, "run", &options, 1000, NULL, &error), FT_ERR_CANCELLED);
    assert_int_equal(access("run/checkpoint.bin", F_OK), 0);
    options.progress = NULL;
    options.is_resumed = true;
    train_well(data, "run", &options);
    expect_same_run("whole", "run");
    ft_dataset_free(data);
}

/* Leaves a run behind that was stopped after two steps. */
static void stop_a_run(const ft_dataset *data, const ft_train_options *options) {
    int left = 2;
    ft_error error;
    ft_train_options stopped = *options;
    stopped.progress = stop_later;
    stopped.user = &left;
    assert_int_equal(train(data, "run", &stopped, &error), FT_ERR_CANCELLED);
}

static void test_damaged_checkpoint(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", NULL);
    ft_train_options options = usual();
    ft_error error;
    stop_a_run(data, &options);
    assert_int_equal(truncate("run/checkpoint.bin", 90), 0);
    options.is_resumed = true;
    assert_int_equal(train(data, "run", &options, &error), FT_ERR_DAMAGED);
    assert_non_null(strstr(error.message, "run/checkpoint.bin"));
    assert_non_null(strstr(error.message, "remove it to restart the run"));
    /* which works */
    unlink("run/checkpoint.bin");
    train_well(data, "run", &options);
    options.is_resumed = false;
    train_well(data, "whole", &options);
    expect_same_run("whole", "run");
    ft_dataset_free(data);
}

static void test_other_data_or_options(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", NULL), *edited = toy_data_open("edited", &(toy_data){.factor = 2});
    ft_train_options options = usual();
    ft_error error;
    stop_a_run(data, &options);
    options.is_resumed = true;
    assert_int_equal(train(edited, "run", &options, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "started with data"));
    const char *const settings[] = {"steps=9"};
    options.settings = settings;
    options.setting_count = 1;
    assert_int_equal(train(data, "run", &options, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "started with config"));
    options.setting_count = 0;
    options.seed = 8;
    assert_int_equal(train(data, "run", &options, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "started with seed"));
    options.seed = 7;
    train_well(data, "run", &options);
    ft_dataset_free(data);
    ft_dataset_free(edited);
}

static void test_replacing(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", NULL);
    ft_train_options options = usual();
    ft_error error;
    train_well(data, "run", &options);
    train_well(data, "first", &options);
    options.seed = 9;
    train_well(data, "second", &options);
    assert_int_equal(train(data, "run", &options, &error), FT_ERR_USAGE);
    expect_same_run("first", "run");
    options.is_forced = true;
    stop_a_run(data, &options);
    expect_same_run("first", "run");
    options.is_resumed = true;
    train_well(data, "run", &options);
    expect_same_run("second", "run");
    assert_int_equal(folder_count("."), 4);
    ft_dataset_free(data);
}

/* --- What may be wrong --------------------------------------------------------------------------------------- */

static void expect_failure(const ft_dataset *data, const ft_train_options *options, ft_status status,
                           const char *words) {
    ft_error error = {0};
    assert_int_equal(train(data, "run", options, &error), status);
    if (strstr(error.message, words) == NULL) print_message("'%s' has no '%s'\n", error.message, words);
    assert_non_null(strstr(error.message, words));
    assert_int_equal(folder_count("run"), -1);
}

static void test_wrong_options(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", NULL);
    const ft_train_options options = usual();
    ft_train_options bad = options;
    bad.metric = "power_w";
    expect_failure(data, &bad, FT_ERR_USAGE, "no metric 'power_w'; it has time_us, peak_bytes");
    bad.metric = "peak_bytes";
    expect_failure(data, &bad, FT_ERR_USAGE, "no training record with peak_bytes");
    bad = options;
    bad.family = "oracle";
    expect_failure(data, &bad, FT_ERR_USAGE, "no family 'oracle'; the families are fake");
    bad = options;
    bad.config = "[1]";
    expect_failure(data, &bad, FT_ERR_USAGE, "the config: is a list");
    bad.config = "{\"steps\": ";
    expect_failure(data, &bad, FT_ERR_DAMAGED, "the config: line 1");
    bad.config = "{\"depth\": 3}";
    expect_failure(data, &bad, FT_ERR_USAGE, "only setting");
    bad.config = "{\"a\":[[[[[[[[[1]]]]]]]]]}";
    expect_failure(data, &bad, FT_ERR_LIMIT, "nested");
    const char *const settings[] = {"=3"};
    bad = options;
    bad.settings = settings;
    bad.setting_count = 1;
    expect_failure(data, &bad, FT_ERR_USAGE, "write KEY=VALUE");
    bad = options;
    bad.is_resumed = true;
    expect_failure(data, &bad, FT_ERR_USAGE, "no such run");
    ft_dataset_free(data);
}

/* A family may learn one metric only. */
static void test_metric_of_the_family(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", NULL);
    ft_train_options options = usual();
    fake.metric = "peak_bytes";
    expect_failure(data, &options, FT_ERR_USAGE, "the family 'fake' predicts peak_bytes, not time_us");
    fake.metric = "time_us";
    train_well(data, "run", &options);
    fake.metric = NULL;
    ft_dataset_free(data);
}

/* A family that knows its intervals keeps them. */
static void test_intervals_of_the_family(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", NULL);
    ft_train_options options = usual();
    fake.capabilities |= FAMILY_OWN_INTERVALS;
    train_well(data, "run", &options);
    fake.capabilities &= ~(uint32_t)FAMILY_OWN_INTERVALS;
    json_t *metrics = read_json("run/metrics.json");
    const json_t *cpu = json_object_get(json_object_get(metrics, "calibration"), "cortex-a76");
    assert_true(json_number_value(json_object_get(cpu, "q90")) == 1);
    json_decref(metrics);
    ft_dataset_free(data);
}

static void test_too_little_data(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("two", &(toy_data){.graph_count = 2});
    ft_train_options options = usual();
    options.split = "random:80/10/10";
    expect_failure(data, &options, FT_ERR_USAGE, "at least three different models are needed");
    options.split = "random:90/0/10";
    expect_failure(data, &options, FT_ERR_USAGE, "for validation");
    ft_dataset_free(data);
    options.split = "random:80/10/10";
    data = toy_data_open("three", &(toy_data){.graph_count = 3});
    train_well(data, "run", &options);
    ft_dataset_free(data);
}

static void test_settings_count(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", NULL);
    ft_train_options options = usual();
    const char *const settings[] = {"steps=3"};
    options.config = "{\"steps\": 5}";
    options.settings = settings;
    options.setting_count = 1;
    train_well(data, "run", &options);
    options.config = "{\"steps\": 3}";
    options.setting_count = 0;
    train_well(data, "same", &options);
    expect_same_run("run", "same");
    ft_dataset_free(data);
}

/* A limit on the size of files stands in for a full disk. */
static ft_status train_on_full_disk(const ft_dataset *data, const ft_train_options *options, rlim_t room,
                                    ft_error *error) {
    struct rlimit old, small;
    getrlimit(RLIMIT_FSIZE, &old);
    small = (struct rlimit){.rlim_cur = room, .rlim_max = old.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    ft_status status = train(data, "run", options, error);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_DFL);
    return status;
}

static void test_full_disk(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", NULL);
    ft_train_options options = usual();
    ft_error error;
    train_well(data, "whole", &options);
    assert_int_equal(train_on_full_disk(data, &options, 60, &error), FT_ERR_IO); /* not even config.json */
    assert_int_equal(folder_count("."), 2);
    int resumed = 0;
    for (rlim_t room = 100; room < 100000; room = room * 3 / 2) {
        ft_status status = train_on_full_disk(data, &options, room, &error);
        if (status == FT_OK) break;
        assert_int_equal(status, FT_ERR_IO);
        assert_int_equal(access("run/metrics.json", F_OK), -1);
        if (folder_count("run") < 0) continue;
        options.is_resumed = true;
        resumed++;
    }
    train_well(data, "run", &options);
    expect_same_run("whole", "run");
    assert_true(resumed > 0);
    ft_dataset_free(data);
}

static void test_no_memory(void **state) {
    (void)state;
    ft_dataset *data = toy_data_open("data", &(toy_data){.graph_count = 30});
    ft_train_options options = usual();
    const char *const settings[] = {"steps=1"};
    options.settings = settings;
    options.setting_count = 1;
    options.split = "random:60/20/20";
    /* Every allocation of the beginning, and then fewer and fewer of them. */
    for (long n = 0;; n += 1 + n / 40) {
        ft_error error;
        failing_start(n);
        ft_status status = train(data, "run", &options, &error);
        if (!failing_stop()) {
            assert_int_equal(status, FT_OK);
            break;
        }
        if (folder_count("run") >= 0) assert_int_equal(system("rm -r run"), 0);
        assert_int_equal(folder_count("."), 1);
    }
    ft_dataset_free(data);
}

int main(void) {
    use_only_family(&fake);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_whole_run, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_every_line_of_the_log_is_json, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_threads_do_not_matter, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_split_that_tests_nothing, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_cancelled_and_resumed, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_stopped_again_and_again, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_killed_and_resumed, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_complete_run_is_left_alone, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_checkpoints_wait, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_damaged_checkpoint, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_other_data_or_options, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_replacing, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_wrong_options, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_metric_of_the_family, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_intervals_of_the_family, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_too_little_data, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_settings_count, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_full_disk, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_no_memory, folder_enter, folder_leave),
    };
    return cmocka_run_group_tests_name("learn/train", tests, NULL, NULL);
}
