/* test_catalogue.c - bundled models: every one is read and bound, has the parameters of its row, and those that were
 * published; names, and paths that win over them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "foretell/foretell.h"
#include "support/folder.h"

static ft_graph *read_model(const char *name) {
    ft_graph *graph = NULL;
    ft_error error;
    if (ft_model_read(name, &graph, &error) != FT_OK) fail_msg("%s: %s", name, error.message);
    return graph;
}

static bool has_word(const char *words, const char *word) {
    const char *at = strstr(words, word);
    return at != NULL && (at[strlen(word)] == ' ' || at[strlen(word)] == '\0');
}

/* Its symbols are those that are open, and its parameters those that are counted. */
static void check_model(uint32_t index) {
    ft_graph *graph = read_model(ft_model_name(index)), *bound = NULL;
    ft_open_dim dims[512];
    ft_error error;
    uint32_t count;
    ft_cost cost = {0};
    ft_cost_options options = ft_cost_options_default();
    const char *symbols = ft_model_symbols(index);
    assert_int_equal(ft_graph_open_dims(graph, NULL, dims, 512, &count, &error), FT_OK);
    assert_int_equal(count > 0, symbols[0] != '\0');
    for (uint32_t i = 0; i < count; i++)
        if (!has_word(symbols, dims[i].symbol)) fail_msg("%s: %s is open", ft_model_name(index), dims[i].symbol);
    if (ft_graph_bind(graph, &(ft_binding){.batch = 1, .open_size = 8}, &bound, &error) != FT_OK)
        fail_msg("%s: %s", ft_model_name(index), error.message);
    assert_int_equal(ft_cost_compute(bound, &options, &cost, &error), FT_OK);
    if (cost.total.params != ft_model_params(index))
        fail_msg("%s: %llu parameters", ft_model_name(index), (unsigned long long)cost.total.params);
    assert_true(cost.coverage_ratio == 1);
    ft_cost_free(&cost);
    ft_graph_free(bound);
    ft_graph_free(graph);
}

static void models_have_the_parameters_of_their_rows(void **state) {
    (void)state;
    assert_true(ft_model_count() >= 50);
    for (uint32_t i = 0; i < ft_model_count(); i++) check_model(i);
}

/* Parameters and multiply-accumulates of an image, as torchvision publishes them (thousandths of 10^9); diffusers. */
static const struct {
    const char *name;
    unsigned long long params;
    double giga_macs; /* 0: not published */
} published[] = {{"resnet18", 11689512, 1.814},
                 {"resnet34", 21797672, 3.664},
                 {"resnet50", 25557032, 4.089},
                 {"resnet101", 44549160, 7.801},
                 {"resnet152", 60192808, 11.514},
                 {"resnext50", 25028904, 4.23},
                 {"resnext101", 88791336, 16.414},
                 {"wide-resnet50", 68883240, 11.398},
                 {"alexnet", 61100840, 0.714},
                 {"vgg11", 132863336, 7.609},
                 {"vgg16", 138357544, 15.47},
                 {"vgg19", 143667240, 19.632},
                 {"squeezenet", 1235496, 0.349},
                 {"densenet121", 7978856, 2.834},
                 {"densenet169", 14149480, 3.36},
                 {"mobilenet-v2", 3504872, 0.301},
                 {"mobilenet-v3-small", 2542856, 0.057},
                 {"mobilenet-v3-large", 5483032, 0.217},
                 {"efficientnet-b0", 5288548, 0.386},
                 {"efficientnet-b4", 19341616, 4.394},
                 {"efficientnet-b7", 66347960, 37.746},
                 {"convnext-tiny", 28589128, 4.456},
                 {"convnext-small", 50223688, 8.684},
                 {"convnext-base", 88591464, 15.355},
                 {"vit-base", 86567656, 17.564},
                 {"vit-large", 304326632, 61.555},
                 {"swin-tiny", 0, 4.491},
                 {"swin-small", 0, 8.741},
                 {"swin-base", 0, 15.431},
                 {"retinanet", 0, 151.54},
                 {"stable-diffusion-unet", 859520964, 0}};

static void images_take_the_published_work(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
        ft_graph *graph = read_model(published[i].name), *bound = NULL;
        ft_cost cost = {0};
        ft_cost_options options = ft_cost_options_default();
        assert_int_equal(ft_graph_bind(graph, &(ft_binding){.batch = 1}, &bound, NULL), FT_OK);
        assert_int_equal(ft_cost_compute(bound, &options, &cost, NULL), FT_OK);
        double giga = (double)cost.total.forward.macs / 1e9;
        if (published[i].params > 0) assert_int_equal(cost.total.params, published[i].params);
        if (published[i].giga_macs > 0 &&
            !(giga > published[i].giga_macs - 6e-4 && giga < published[i].giga_macs + 6e-4))
            fail_msg("%s: %.4f G MACs", published[i].name, giga);
        ft_cost_free(&cost);
        ft_graph_free(bound);
        ft_graph_free(graph);
    }
}

/* Those of the published checkpoints. */
static void language_models_have_the_published_parameters(void **state) {
    (void)state;
    static const struct {
        const char *name;
        unsigned long long params;
    } models[] = {{"bert-base", 109482240},     {"bert-large", 335141888},       {"distilbert-base", 66362880},
                  {"gpt2", 124439808},          {"gpt2-xl", 1557611200},         {"llama-2-7b", 6738415616},
                  {"llama-3-8b", 8030261248},   {"llama-3-70b", 70553706496},    {"llama-3.2-1b", 1235814400},
                  {"mistral-7b", 7241732096},   {"mixtral-8x7b", 46702792704},   {"qwen2.5-7b", 7615616512},
                  {"gemma-2-2b", 2614341888},   {"phi-3-mini", 3821079552},      {"t5-base", 222903552},
                  {"whisper-small", 241734912}, {"whisper-large-v3", 1543490560}};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        uint32_t k = 0;
        while (k < ft_model_count() && strcmp(ft_model_name(k), models[i].name) != 0) k++;
        assert_int_equal(ft_model_params(k), models[i].params);
    }
}

/* --- Names ------------------------------------------------------------------------------------------------------- */

static void names_may_be_spelled_in_any_way(void **state) {
    (void)state;
    assert_int_equal(ft_model_find("ResNet-50"), ft_model_find("resnet50"));
    assert_int_equal(ft_model_find("./resnet50"), FT_NONE);
    assert_int_equal(ft_model_find(NULL), FT_NONE);
    static const char *const names[] = {"ResNet-50", "resnet_50", "ViT_B_16", "Llama-3.1-8B", "bert-base-uncased"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) ft_graph_free(read_model(names[i]));
}

static void each_name_means_one_model(void **state) {
    (void)state;
    for (uint32_t i = 0; i < ft_model_count(); i++) {
        ft_graph *graph = read_model(ft_model_name(i));
        assert_true(ft_model_family(i)[0] != '\0' && ft_model_text(i)[0] != '\0');
        ft_graph_free(graph);
        for (uint32_t k = 0; k < ft_model_count(); k++)
            if (k != i && has_word(ft_model_other_names(k), ft_model_name(i))) fail_msg("%s twice", ft_model_name(i));
    }
}

static void unknown_names_have_suggestions(void **state) {
    (void)state;
    ft_graph *graph = NULL;
    ft_error error;
    assert_int_equal(ft_model_read("resnet5", &graph, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "there is no model 'resnet5'; similar names are resnet50"));
    assert_int_equal(ft_graph_read("resnet5", &graph, &error), FT_ERR_IO);
    assert_non_null(strstr(error.message, "resnet5: No such file or directory, and there is no model 'resnet5'"));
    assert_int_equal(ft_graph_read("resnet50.onnx", &graph, &error), FT_ERR_IO);
    assert_null(strstr(error.message, "no model"));
    assert_int_equal(ft_graph_read("./resnet50", &graph, &error), FT_ERR_IO);
    assert_int_equal(ft_model_read("", &graph, &error), FT_ERR_USAGE);
    assert_int_equal(ft_model_read("-", &graph, &error), FT_ERR_USAGE);
}

static void a_path_wins(void **state) {
    (void)state;
    ft_graph *graph = NULL;
    ft_error error;
    assert_int_equal(ft_graph_read("resnet50", &graph, &error), FT_OK);
    assert_string_equal(ft_graph_name(graph), "resnet50");
    ft_graph_free(graph);
    FILE *file = fopen("resnet50", "w");
    fputs("no model", file);
    fclose(file);
    assert_int_equal(ft_graph_read("resnet50", &graph, &error), FT_ERR_FORMAT);
}

static void beyond_the_last_there_is_none(void **state) {
    (void)state;
    uint32_t end = ft_model_count();
    assert_null(ft_model_name(end));
    assert_null(ft_model_text(end));
    assert_null(ft_model_family(end));
    assert_null(ft_model_other_names(end));
    assert_null(ft_model_symbols(end));
    assert_int_equal(ft_model_params(end), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_have_the_parameters_of_their_rows),
        cmocka_unit_test(images_take_the_published_work),
        cmocka_unit_test(language_models_have_the_published_parameters),
        cmocka_unit_test(names_may_be_spelled_in_any_way),
        cmocka_unit_test(each_name_means_one_model),
        cmocka_unit_test(unknown_names_have_suggestions),
        cmocka_unit_test_setup_teardown(a_path_wins, folder_enter, folder_leave),
        cmocka_unit_test(beyond_the_last_there_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
