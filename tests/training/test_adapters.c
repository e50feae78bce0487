/* The graph of a training step: adapters, frozen and packed weights, caches, the loss. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "foretell/cost.h"
#include "support/language_net.h"
#include "support/onnx_model.h"
#include "training/training.h"

typedef struct fixture {
    ft_graph *graph, *bound, *made, *loss;
    ft_status status;
    ft_error error;
} fixture;

static fixture make(ft_training training) {
    language_net net = language_net_usual();
    fixture f = {.graph = language_net_graph(&net)};
    f.bound = language_net_bound(f.graph, 2, 16, 0);
    f.status = training_graph_make(f.bound, &training, &f.made, &f.error);
    return f;
}

static void drop(fixture *f) {
    ft_graph_free(f->loss);
    ft_graph_free(f->made);
    ft_graph_free(f->bound);
    ft_graph_free(f->graph);
}

static uint64_t params_of(const ft_graph *bound) {
    ft_cost_options options = ft_cost_options_default();
    ft_cost cost;
    ft_error error;
    if (ft_cost_compute(bound, &options, &cost, &error) != FT_OK) fail_msg("%s", error.message);
    uint64_t params = cost.total.params;
    ft_cost_free(&cost);
    return params;
}

static int count_of(const ft_graph *graph, const char *type) {
    int count = 0;
    for (uint32_t i = 0; i < ft_graph_op_count(graph); i++) count += strcmp(ft_graph_ops(graph)[i].type, type) == 0;
    return count;
}

static void without_adapters_only_the_caches_go(void **state) {
    (void)state;
    language_net net = language_net_usual();
    fixture f = make((ft_training){0});
    assert_int_equal(f.status, FT_OK);
    assert_int_equal(params_of(f.made), language_net_params(&net));
    assert_int_equal(ft_graph_op_count(f.made), ft_graph_op_count(f.bound));
    assert_int_equal(ft_graph_output_count(f.made), 1); /* the logits */
    assert_true(ft_graph_input_count(f.made) + 2 * (uint32_t)net.layers == ft_graph_input_count(f.bound));
    drop(&f);
}

static void adapters_are_all_that_is_trained(void **state) {
    (void)state;
    fixture f = make((ft_training){.lora_rank = 4, .lora_targets = "q_proj,down_proj"});
    assert_int_equal(f.status, FT_OK);
    /* 4 layers: 64 x 4 + 4 x 64 beside q_proj, 128 x 4 + 4 x 64 beside down_proj. */
    assert_int_equal(params_of(f.made), 4 * (512 + 768));
    assert_int_equal(count_of(f.made, "MatMul") - count_of(f.bound, "MatMul"), 4 * 2 * 2);
    assert_true(tensor_named(f.made, "model.layers.2.attn.k_proj.weight")->is_frozen);
    drop(&f);
}

static void all_products_of_layers_get_adapters(void **state) {
    (void)state;
    fixture f = make((ft_training){.lora_rank = 4});
    assert_int_equal(f.status, FT_OK);
    assert_int_equal(count_of(f.made, "Dropout"), 4 * 7);
    drop(&f);
}

static void a_packed_base_is_held_in_four_bits(void **state) {
    (void)state;
    fixture f = make((ft_training){.lora_rank = 4, .lora_targets = "q_proj", .has_packed_base = true});
    assert_int_equal(f.status, FT_OK);
    /* 4,096 elements in 2,048 bytes; 64 blocks with a byte each, and one scale of float32 for these. */
    assert_int_equal(tensor_named(f.made, "model.layers.0.attn.q_proj.weight")->held_bytes, 2048 + 64 + 4);
    assert_int_equal(tensor_named(f.made, "lm_head.weight")->held_bytes, 0);
    drop(&f);
    f = make((ft_training){.lora_rank = 4, .has_packed_base = true, .has_packed_head = true});
    assert_int_equal(f.status, FT_OK);
    assert_int_equal(tensor_named(f.made, "lm_head.weight")->held_bytes, 64 * 96 / 2 + 96 + 4);
    drop(&f);
}

static void a_target_that_matches_nothing_is_an_error(void **state) {
    (void)state;
    fixture f = make((ft_training){.lora_rank = 4, .lora_targets = "q_proj,query"});
    assert_int_equal(f.status, FT_ERR_USAGE);
    assert_non_null(strstr(f.error.message, "'query'"));
    assert_non_null(strstr(f.error.message, "k_proj"));
    drop(&f);
}

static void the_loss_follows_the_logits_in_float32(void **state) {
    (void)state;
    fixture f = make((ft_training){0});
    ft_error error;
    assert_int_equal(training_loss_add(f.made, FT_DTYPE_UNKNOWN, &f.loss, &error), FT_OK);
    assert_int_equal(ft_graph_output_count(f.loss), 1);
    assert_string_equal(ft_graph_tensors(f.loss)[ft_graph_outputs(f.loss)[0]].name, "loss");
    assert_int_equal(tensor_named(f.loss, "logits.log_softmax")->held_bytes, 2 * 16 * 96 * 4);
    assert_int_equal(ft_graph_op_count(f.loss), ft_graph_op_count(f.made) + 3);
    ft_graph_free(f.loss);
    assert_int_equal(training_loss_add(f.made, FT_FLOAT32, &f.loss, &error), FT_OK);
    assert_int_equal(ft_graph_op_count(f.loss), ft_graph_op_count(f.made) + 2); /* they are in float32 */
    drop(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_adapters_only_the_caches_go),
        cmocka_unit_test(adapters_are_all_that_is_trained),
        cmocka_unit_test(all_products_of_layers_get_adapters),
        cmocka_unit_test(a_packed_base_is_held_in_four_bits),
        cmocka_unit_test(a_target_that_matches_nothing_is_an_error),
        cmocka_unit_test(the_loss_follows_the_logits_in_float32),
    };
    return cmocka_run_group_tests_name("training/adapters", tests, NULL, NULL);
}
