/* Tests of choosing models to measure: every method chooses different models, the same for any number of threads; lists
 * can be read back; and errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foretell/foretell.h"
#include "learn/sample/sample_pick.h"
#include "support/failing.h"
#include "support/fitted.h"
#include "support/folder.h"
#include "support/small_set.h"

static double rule(const ft_graph *bound, const char *device) {
    return (device[0] == 'a' ? 1e-3 : 3e-3) * (double)synth_cost(bound).forward.flops + 5;
}

static ft_sample sample(const fitted *f, const ft_sample_options *options) {
    ft_sample s;
    ft_error error;
    if (ft_sample_make(f->opened, f->data, options, &s, &error) != FT_OK) fail_msg("%s", error.message);
    return s;
}

static void refuses(const fitted *f, const ft_dataset *data, const ft_sample_options *options, const char *part) {
    ft_sample s;
    ft_error error;
    assert_int_equal(ft_sample_make(f->opened, data, options, &s, &error), FT_ERR_USAGE);
    if (strstr(error.message, part) == NULL) fail_msg("'%s' has no '%s'", error.message, part);
}

static void test_every_method(void **state) {
    (void)state;
    fitted f = fit_synth("kernel-nnls", rule, NULL);
    for (uint32_t m = 0; m < ft_sample_method_count(); m++) {
        assert_non_null(ft_sample_method_text(m));
        const ft_sample_options options = {.count = 9, .method = ft_sample_method_name(m), .threads = 1, .seed = 3};
        ft_sample_options more = options;
        more.threads = 3;
        ft_sample a = sample(&f, &options), b = sample(&f, &more);
        double weights = 0;
        assert_int_equal(a.count, 9);
        assert_int_equal(a.pool_count, FITTED_NETWORKS);
        for (uint32_t i = 0; i < a.count; i++) {
            weights += a.items[i].weight;
            assert_int_equal(a.items[i].record, b.items[i].record);
            assert_true(a.items[i].reason[0] != '\0');
            for (uint32_t k = 0; k < i; k++) assert_string_not_equal(a.items[i].graph, a.items[k].graph);
        }
        assert_true(fabs(weights - 1) < 1e-9);
        assert_true(a.random_discrepancy > 0);
        if (strcmp(a.method, "cmd") == 0) assert_true(a.discrepancy < a.random_discrepancy);
        ft_sample_free(&a);
        ft_sample_free(&b);
    }
    assert_null(ft_sample_method_name(99));
    fitted_free(&f);
}

/* Of two clouds and a point far out, three picks of variance or of k-means leave none out. */
static void test_picks_are_spread(void **state) {
    (void)state;
    enum { COUNT = 21 };
    double points[COUNT * 3] = {0}, uncertainty[COUNT] = {0}, members[COUNT];
    uint32_t records[COUNT] = {0}, items[3];
    double values[3];
    for (uint32_t i = 0; i < COUNT; i++) {
        points[3 * i + (i == COUNT - 1 ? 2 : i % 2)] = 1 + 0.001 * i;
        uncertainty[i] = i % 7;
        members[i] = 1;
    }
    const sample_space space = {.count = COUNT,
                                .width = 3,
                                .points = points,
                                .uncertainty = uncertainty,
                                .records = records,
                                .members = members};
    for (uint32_t m = 0; m < 2; m++) {
        sample_picks picks = {.items = items, .values = values};
        const sample_method *method;
        bool is_seen[3] = {false};
        assert_int_equal(sample_method_find(m == 0 ? "variance" : "kmeans", &method, NULL), FT_OK);
        assert_int_equal(method->pick(&space, 3, 1, &picks, NULL), FT_OK);
        for (uint32_t i = 0; i < 3; i++) is_seen[items[i] == COUNT - 1 ? 2 : items[i] % 2] = true;
        assert_true(is_seen[0] && is_seen[1] && is_seen[2]);
    }
    const sample_method *widest;
    sample_picks picks = {.items = items, .values = values};
    assert_int_equal(sample_method_find("uncertainty", &widest, NULL), FT_OK);
    assert_int_equal(widest->pick(&space, 3, 1, &picks, NULL), FT_OK);
    for (uint32_t i = 0; i < 3; i++) assert_int_equal(items[i] % 7, 6);
}

static void test_lists_lead_to_adapting(void **state) {
    (void)state;
    fitted f = fit_synth("flops-mem", rule, NULL);
    ft_error error;
    ft_adaptation a;
    ft_sample s = sample(&f, &(ft_sample_options){.count = 6, .threads = 1});
    static const char *const parts[] = {"Represents", "\"discrepancy\":", "model,name,family,graph,weight,reason\n"};
    for (uint32_t i = FT_TABLE; i <= FT_CSV; i++) {
        ft_style style = ft_style_default();
        style.output = (ft_output)i;
        FILE *file = fopen("list.csv", "w");
        assert_int_equal(ft_sample_write(&s, &style, file, &error), FT_OK);
        fclose(file);
        char *text = read_text("list.csv");
        assert_non_null(strstr(text, parts[i]));
        free(text);
    }
    if (ft_adapt(f.opened, f.data, &(ft_adapt_options){.models = "list.csv", .threads = 1}, "a.ftm", &a, &error) !=
        FT_OK)
        fail_msg("%s", error.message);
    assert_int_equal(a.model_count, 6);
    ft_adaptation_free(&a);
    ft_sample_free(&s);
    assert_true(s.owner == NULL && s.count == 0); /* nothing is left */
    fitted_free(&f);
}

/* Names and reasons are needed in full, so they wrap instead of being truncated. */
static void test_narrow_tables_cut_nothing(void **state) {
    (void)state;
    ft_error error;
    ft_style style = ft_style_default();
    ft_sampled item = {.name = "conv2d_layer 128 1024 14 14 2048 1 1 2 0",
                       .family = "conv2d_layer",
                       .weight = 0.5,
                       .reason = "lowers the variance that is left by 63.2 %"};
    ft_sample s = {.method = "variance", .items = &item, .count = 1, .pool_count = 3};
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    style.width = 60;
    assert_int_equal(ft_sample_write(&s, &style, stream, &error), FT_OK);
    fclose(stream);
    assert_non_null(strstr(text, " 1  conv2d_layer 128         50.0 %  lowers the variance\n"
                                 "     1024 14 14 2048 1 1              that is left by 63.2 %\n"
                                 "     2 0\n"));
    free(text);
}

static void test_what_is_refused(void **state) {
    (void)state;
    const char *const absent[] = {"absent"};
    fitted f = fit_synth("flops-mem", rule, NULL);
    builder *b = synth_begin("empty");
    ft_dataset *empty = synth_end(b, "empty");
    refuses(&f, f.data, &(ft_sample_options){0}, "number of models to choose is 0");
    refuses(&f, f.data, &(ft_sample_options){.count = 65}, "the pool has 64");
    refuses(&f, f.data, &(ft_sample_options){.count = 1, .method = "magic"}, "no method 'magic'");
    refuses(&f, f.data, &(ft_sample_options){.count = 1, .devices = absent, .device_count = 1}, "'absent'");
    refuses(&f, f.data, &(ft_sample_options){.count = 1, .families = absent, .family_count = 1}, "absent");
    refuses(&f, empty, &(ft_sample_options){.count = 1}, "the pool has no graphs");
    ft_dataset_free(empty);
    fitted_free(&f);
}

static void test_memory_runs_out(void **state) {
    (void)state;
    fitted f = fit_synth("flops-mem", rule, NULL);
    const char *const devices[] = {"adreno-640"};
    ft_dataset *data = synth_data("few", 5, devices, 1, rule);
    for (uint32_t m = 0; m < ft_sample_method_count(); m++) {
        for (long n = 0;; n++) {
            const ft_sample_options options = {.count = 2, .method = ft_sample_method_name(m), .threads = 1};
            ft_sample s;
            ft_error error;
            failing_start(n);
            ft_status status = ft_sample_make(f.opened, data, &options, &s, &error);
            bool has_failed = failing_stop();
            ft_sample_free(&s);
            if (!has_failed) break;
            assert_int_equal(status, FT_ERR_NOMEM);
        }
    }
    ft_dataset_free(data);
    fitted_free(&f);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_every_method),           TEST(test_picks_are_spread),
        TEST(test_lists_lead_to_adapting), TEST(test_narrow_tables_cut_nothing),
        TEST(test_what_is_refused),        TEST(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
