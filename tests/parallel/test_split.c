/* The graph of a rank, against sizes computed by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "foretell/cost.h"
#include "foretell/parallel.h"
#include "support/language_net.h"
#include "support/onnx_model.h"

typedef struct fixture {
    ft_graph *graph, *bound, *rank;
    ft_status status;
    ft_error error;
} fixture;

static fixture split(language_net net, ft_parallel parallel, uint32_t stage) {
    fixture f = {.graph = language_net_graph(&net)};
    f.bound = language_net_bound(f.graph, 2, 16, 4);
    f.status = ft_parallel_split(f.bound, &parallel, stage, &f.rank, &f.error);
    return f;
}

static fixture split_well(language_net net, ft_parallel parallel, uint32_t stage) {
    fixture f = split(net, parallel, stage);
    if (f.status != FT_OK) fail_msg("%s", f.error.message);
    return f;
}

static void drop(fixture *f) {
    ft_graph_free(f->rank);
    ft_graph_free(f->bound);
    ft_graph_free(f->graph);
}

static int64_t params_of(const ft_graph *bound) {
    ft_cost_options options = ft_cost_options_default();
    ft_cost cost;
    ft_error error;
    if (ft_cost_compute(bound, &options, &cost, &error) != FT_OK) fail_msg("%s", error.message);
    int64_t params = (int64_t)cost.total.params;
    ft_cost_free(&cost);
    return params;
}

static int count_of(const ft_graph *graph, const char *type) {
    int count = 0;
    for (uint32_t i = 0; i < ft_graph_op_count(graph); i++) count += strcmp(ft_graph_ops(graph)[i].type, type) == 0;
    return count;
}

static void assert_dims(const ft_graph *graph, const char *name, int64_t a, int64_t b, int64_t c) {
    const ft_tensor *t = tensor_named(graph, name);
    const int64_t dims[] = {a, b, c};
    for (int32_t i = 0; i < t->rank && i < 3; i++) assert_int_equal(t->dims[i], dims[i]);
}

static void one_rank_has_the_whole(void **state) {
    (void)state;
    language_net net = language_net_usual();
    fixture f = split_well(net, (ft_parallel){0}, 0);
    assert_int_equal(ft_graph_op_count(f.rank), ft_graph_op_count(f.bound));
    assert_int_equal(params_of(f.rank), language_net_params(&net));
    drop(&f);
}

static void columns_then_rows_and_a_sum(void **state) {
    (void)state;
    language_net net = language_net_usual();
    fixture f = split_well(net, (ft_parallel){.tensor = 2}, 0);
    assert_dims(f.rank, "model.layers.0.attn.q_proj.weight", 64, 32, 0);
    assert_dims(f.rank, "model.layers.0.attn.k_proj.weight", 64, 8, 0);
    assert_dims(f.rank, "model.layers.0.attn.o_proj.weight", 32, 64, 0);
    assert_dims(f.rank, "model.layers.3.mlp.up_proj.weight", 64, 64, 0);
    assert_dims(f.rank, "model.layers.3.mlp.down_proj.weight", 64, 64, 0);
    assert_dims(f.rank, "model.layers.0.input_layernorm.weight", 64, 0, 0);
    assert_dims(f.rank, "model.embed_tokens.weight", 48, 64, 0);
    assert_dims(f.rank, "lm_head.weight", 64, 48, 0);
    assert_dims(f.rank, "q0", 2, 16, 32);
    assert_dims(f.rank, "h1", 2, 16, 64);
    assert_dims(f.rank, "past_key_values.0.key", 2, 1, 4);
    assert_int_equal(count_of(f.rank, "AllReduce"), 2 * net.layers + 1); /* one for the words */
    assert_int_equal(params_of(f.rank), (language_net_params(&net) + (2 * net.layers + 1) * net.width) / 2);
    drop(&f);
}

/* Two heads of keys and four ranks: each keeps one. */
static void a_rank_keeps_a_head_of_keys(void **state) {
    (void)state;
    fixture f = split_well(language_net_usual(), (ft_parallel){.tensor = 4}, 0);
    assert_dims(f.rank, "model.layers.0.attn.q_proj.weight", 64, 16, 0);
    assert_dims(f.rank, "model.layers.0.attn.v_proj.weight", 64, 8, 0);
    assert_dims(f.rank, "past_key_values.1.value", 2, 1, 4);
    drop(&f);
}

/* As with latent attention: one head, which every rank keeps whole. */
static void a_single_head_of_keys_is_never_divided(void **state) {
    (void)state;
    language_net net = language_net_usual();
    net.kv_heads = 1;
    fixture f = split_well(net, (ft_parallel){.tensor = 8}, 0);
    assert_dims(f.rank, "model.layers.0.attn.k_proj.weight", 64, 8, 0);
    assert_dims(f.rank, "past_key_values.0.key", 2, 1, 4);
    drop(&f);
}

static void stages_add_up_to_the_model(void **state) {
    (void)state;
    language_net net = language_net_usual();
    net.layers = 5;
    int64_t sum = 0;
    for (uint32_t stage = 0; stage < 3; stage++) {
        fixture f = split_well(net, (ft_parallel){.pipeline = 3}, stage);
        sum += params_of(f.rank);
        assert_int_equal(count_of(f.rank, "GroupQueryAttention"), stage == 2 ? 1 : 2);
        assert_int_equal(count_of(f.rank, "SendRecv"), stage == 2 ? 0 : 1);
        drop(&f);
    }
    assert_int_equal(sum, language_net_params(&net));
}

static void experts_are_divided_before_they_are_cut(void **state) {
    (void)state;
    language_net net = language_net_usual();
    net.experts = 8;
    fixture f = split_well(net, (ft_parallel){.tensor = 4, .expert = 2}, 0);
    assert_dims(f.rank, "model.layers.0.mlp.experts.gate_up_proj", 4, 128, 64);
    assert_dims(f.rank, "model.layers.0.mlp.experts.down_proj", 4, 64, 64);
    assert_dims(f.rank, "model.layers.0.mlp.gate.weight", 64, 8, 0);
    assert_int_equal(count_of(f.rank, "AllReduce"), 2 * net.layers + 1);
    drop(&f);
    f = split_well(net, (ft_parallel){.expert = 8}, 0); /* data-parallel ranks have the others */
    assert_dims(f.rank, "model.layers.0.mlp.experts.down_proj", 1, 64, 128);
    assert_int_equal(count_of(f.rank, "AllToAll"), net.layers);
    drop(&f);
}

static void sequence_parallel_norms_run_on_a_part(void **state) {
    (void)state;
    language_net net = language_net_usual();
    fixture f = split_well(net, (ft_parallel){.tensor = 2, .has_sequence = true}, 0);
    assert_dims(f.rank, "x1", 2, 8, 64);
    assert_dims(f.rank, "n1", 2, 8, 64);
    assert_dims(f.rank, "n1.all_gather", 2, 16, 64);
    assert_dims(f.rank, "q1", 2, 16, 32);
    assert_int_equal(count_of(f.rank, "ReduceScatter"), 2 * net.layers + 1);
    assert_int_equal(count_of(f.rank, "AllGather"), 2 * net.layers + 1);
    assert_int_equal(count_of(f.rank, "AllReduce"), 0);
    drop(&f);
}

static void refused(language_net net, ft_parallel parallel, const char *message) {
    fixture f = split(net, parallel, 0);
    assert_int_equal(f.status, FT_ERR_USAGE);
    if (strstr(f.error.message, message) == NULL) fail_msg("'%s' lacks '%s'", f.error.message, message);
    drop(&f);
}

static void sizes_that_do_not_divide_are_refused(void **state) {
    (void)state;
    language_net net = language_net_usual();
    refused(net, (ft_parallel){.tensor = 3}, "num_heads 8 cannot be divided between 3");
    refused(net, (ft_parallel){.pipeline = 5}, "4 layers cannot be divided into 5");
    refused(net, (ft_parallel){.tensor = 4, .expert = 3}, "one of them must divide the other");
    refused(net, (ft_parallel){.tensor = FT_MAX_RANKS + 1}, "at most 65536");
    net.experts = 6;
    refused(net, (ft_parallel){.expert = 4}, "6 experts cannot be divided between 4");
    net = language_net_usual();
    net.heads = 12;
    net.kv_heads = 3;
    net.width = 96;
    refused(net, (ft_parallel){.tensor = 2}, "kv_num_heads 3");
}

static void a_graph_must_be_bound(void **state) {
    (void)state;
    language_net net = language_net_usual();
    ft_graph *graph = language_net_graph(&net), *rank = NULL;
    ft_error error;
    assert_int_equal(ft_parallel_split(graph, &(ft_parallel){0}, 0, &rank, &error), FT_ERR_USAGE);
    ft_graph_free(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rank_has_the_whole),
        cmocka_unit_test(columns_then_rows_and_a_sum),
        cmocka_unit_test(a_rank_keeps_a_head_of_keys),
        cmocka_unit_test(a_single_head_of_keys_is_never_divided),
        cmocka_unit_test(stages_add_up_to_the_model),
        cmocka_unit_test(experts_are_divided_before_they_are_cut),
        cmocka_unit_test(sequence_parallel_norms_run_on_a_part),
        cmocka_unit_test(sizes_that_do_not_divide_are_refused),
        cmocka_unit_test(a_graph_must_be_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
