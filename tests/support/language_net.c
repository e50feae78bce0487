#include "support/language_net.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "support/onnx_model.h"

language_net language_net_usual(void) {
    return (language_net){.layers = 4, .width = 64, .heads = 8, .kv_heads = 2, .inner = 128, .words = 96};
}

int64_t language_net_layer_params(const language_net *net) {
    int64_t w = net->width, kv = w / net->heads * net->kv_heads;
    int64_t mlp = 3 * w * net->inner;
    if (net->experts > 0) mlp = net->experts * 3 * w * net->inner + w * net->experts;
    return 2 * w * w + 2 * w * kv + mlp + 2 * w;
}

int64_t language_net_params(const language_net *net) {
    return net->layers * language_net_layer_params(net) + 2 * (int64_t)net->words * net->width + net->width;
}

/* --- Building ---------------------------------------------------------------------------------------------------- */

static const char *text(onnx_model *m, const char *format, ...) {
    char made[256];
    va_list args;
    va_start(args, format);
    vsnprintf(made, sizeof made, format, args);
    va_end(args);
    return arena_string(&m->memory, made, strlen(made));
}

static void product(onnx_model *m, const char *x, const char *weight, int rows, int columns, const char *y) {
    onnx_initializer(m, m->graph, weight, ONNX_FLOAT16, text(m, "%d,%d", rows, columns));
    onnx_node(m, m->graph, "MatMul", text(m, "%s %s", x, weight), y);
}

static void norm(onnx_model *m, const language_net *net, const char *x, const char *weight, const char *y) {
    onnx_initializer(m, m->graph, weight, ONNX_FLOAT16, text(m, "%d", net->width));
    Onnx__NodeProto *node = onnx_node(m, m->graph, "SimplifiedLayerNormalization", text(m, "%s %s", x, weight), y);
    onnx_attr_int(m, node, "axis", -1);
}

static void attention(onnx_model *m, const language_net *net, int layer) {
    int size = net->width / net->heads, kv = size * net->kv_heads;
    const char *cache = text(m, "B,%d,P,%d", net->kv_heads, size), *at = text(m, "model.layers.%d.attn", layer);
    const char *key = text(m, "past_key_values.%d.key", layer), *value = text(m, "past_key_values.%d.value", layer);
    onnx_input(m, m->graph, key, ONNX_FLOAT16, cache);
    onnx_input(m, m->graph, value, ONNX_FLOAT16, cache);
    const char *x = text(m, "n%d", layer);
    product(m, x, text(m, "%s.q_proj.weight", at), net->width, net->width, text(m, "q%d", layer));
    product(m, x, text(m, "%s.k_proj.weight", at), net->width, kv, text(m, "k%d", layer));
    product(m, x, text(m, "%s.v_proj.weight", at), net->width, kv, text(m, "v%d", layer));
    const char *present = text(m, "present.%d.key present.%d.value", layer, layer);
    Onnx__NodeProto *node = onnx_node(m, m->graph, "GroupQueryAttention",
                                      text(m, "q%d k%d v%d %s %s lengths", layer, layer, layer, key, value),
                                      text(m, "a%d %s", layer, present));
    node->domain = "com.microsoft";
    onnx_attr_int(m, node, "num_heads", net->heads);
    onnx_attr_int(m, node, "kv_num_heads", net->kv_heads);
    onnx_output(m, m->graph, text(m, "present.%d.key", layer), ONNX_FLOAT16, NULL);
    onnx_output(m, m->graph, text(m, "present.%d.value", layer), ONNX_FLOAT16, NULL);
    product(m, text(m, "a%d", layer), text(m, "%s.o_proj.weight", at), net->width, net->width, text(m, "o%d", layer));
}

static void mlp(onnx_model *m, const language_net *net, int layer) {
    const char *at = text(m, "model.layers.%d.mlp", layer), *x = text(m, "p%d", layer);
    product(m, x, text(m, "%s.gate_proj.weight", at), net->width, net->inner, text(m, "g%d", layer));
    product(m, x, text(m, "%s.up_proj.weight", at), net->width, net->inner, text(m, "u%d", layer));
    onnx_node(m, m->graph, "Sigmoid", text(m, "g%d", layer), text(m, "s%d", layer));
    onnx_node(m, m->graph, "Mul", text(m, "g%d s%d", layer, layer), text(m, "t%d", layer));
    onnx_node(m, m->graph, "Mul", text(m, "t%d u%d", layer, layer), text(m, "h%d", layer));
    product(m, text(m, "h%d", layer), text(m, "%s.down_proj.weight", at), net->inner, net->width,
            text(m, "d%d", layer));
}

static void experts(onnx_model *m, const language_net *net, int layer) {
    const char *at = text(m, "model.layers.%d.mlp", layer), *x = text(m, "p%d", layer);
    product(m, x, text(m, "%s.gate.weight", at), net->width, net->experts, text(m, "r%d", layer));
    const char *up = text(m, "%s.experts.gate_up_proj", at), *down = text(m, "%s.experts.down_proj", at);
    onnx_initializer(m, m->graph, up, ONNX_FLOAT16, text(m, "%d,%d,%d", net->experts, 2 * net->inner, net->width));
    onnx_initializer(m, m->graph, down, ONNX_FLOAT16, text(m, "%d,%d,%d", net->experts, net->width, net->inner));
    Onnx__NodeProto *node =
        onnx_node(m, m->graph, "MoE", text(m, "%s r%d %s - %s", x, layer, up, down), text(m, "d%d", layer));
    node->domain = "com.microsoft";
    onnx_attr_int(m, node, "k", 2);
}

static void layer_of(onnx_model *m, const language_net *net, int layer) {
    norm(m, net, text(m, "x%d", layer), text(m, "model.layers.%d.input_layernorm.weight", layer),
         text(m, "n%d", layer));
    attention(m, net, layer);
    onnx_node(m, m->graph, "Add", text(m, "x%d o%d", layer, layer), text(m, "y%d", layer));
    norm(m, net, text(m, "y%d", layer), text(m, "model.layers.%d.post_layernorm.weight", layer), text(m, "p%d", layer));
    if (net->experts > 0)
        experts(m, net, layer);
    else
        mlp(m, net, layer);
    onnx_node(m, m->graph, "Add", text(m, "y%d d%d", layer, layer), text(m, "x%d", layer + 1));
}

ft_graph *language_net_graph(const language_net *net) {
    onnx_model *m = onnx_model_new();
    onnx_input(m, m->graph, "input_ids", ONNX_INT64, "B,S");
    onnx_input(m, m->graph, "lengths", ONNX_INT32, "B");
    onnx_initializer(m, m->graph, "model.embed_tokens.weight", ONNX_FLOAT16, text(m, "%d,%d", net->words, net->width));
    onnx_node(m, m->graph, "Gather", "model.embed_tokens.weight input_ids", "x0");
    for (int i = 0; i < net->layers; i++) layer_of(m, net, i);
    norm(m, net, text(m, "x%d", net->layers), "model.norm.weight", "last");
    product(m, "last", "lm_head.weight", net->width, net->words, "logits");
    onnx_output(m, m->graph, "logits", ONNX_FLOAT16, NULL);
    ft_graph *graph = onnx_model_read(m);
    onnx_model_free(m);
    return graph;
}

ft_graph *language_net_bound(const ft_graph *graph, int64_t batch, int64_t tokens, int64_t past) {
    ft_shape_binding shapes[] = {{.name = "S", .rank = 1, .dims = {tokens}}, {.name = "P", .rank = 1, .dims = {past}}};
    ft_graph *bound = NULL;
    ft_error error;
    if (ft_graph_bind(graph, &(ft_binding){.batch = batch, .shapes = shapes, .shape_count = 2}, &bound, &error) !=
        FT_OK)
        fail_msg("%s", error.message);
    return bound;
}
