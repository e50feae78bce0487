/* shards.c - parameters that data-parallel ranks hold in parts (ZeRO, FSDP).
 *
 * A layer runs with whole weights: they are gathered before it, with those of the layer that follows, and released
 * after it. Gradients appear whole, and are reduced to the rank's part when the layer's backward pass is done. What is
 * outside of the numbered layers (tables, the head) belongs to the root and stays gathered during the whole step. */
#include "cost/timeline.h"

enum { WEIGHTS, GRADIENTS, PARTS };

static uint32_t block_id(const timeline *t, uint32_t layer, uint32_t kind) {
    return timeline_layer_ids(t->graph) + LAYER_BLOCKS * layer + kind;
}

uint64_t shards_of(const timeline *t, const ft_tensor *tensor, ft_sharding sharding) {
    return t->options->sharding >= sharding && tensor->replicas > 1 ? tensor->replicas : 1;
}

static bool is_root(const timeline *t, uint32_t layer) {
    return layer == 0 || layer > t->lives.layers.count;
}

static void gather(timeline *t, uint32_t layer) {
    if (t->is_gathered[layer] || t->weight_bytes[layer] == 0) return;
    t->is_gathered[layer] = true;
    grow(&t->now.gathered_bytes, t->weight_bytes[layer]);
    timeline_emit(t, TIMELINE_ALLOC, block_id(t, layer, WEIGHTS), FT_NONE, t->weight_bytes[layer]);
}

static void release(timeline *t, uint32_t layer) {
    if (!t->is_gathered[layer]) return;
    t->is_gathered[layer] = false;
    shrink(&t->now.gathered_bytes, t->weight_bytes[layer]);
    timeline_emit(t, TIMELINE_FREE, block_id(t, layer, WEIGHTS), FT_NONE, t->weight_bytes[layer]);
}

static void reduce(timeline *t, uint32_t layer) {
    if (!t->is_pending[layer]) return;
    t->is_pending[layer] = false;
    shrink(&t->now.gathered_bytes, t->pending_bytes[layer]);
    if (!t->options->has_accumulation || t->options->keeps_gathered) {
        grow(&t->now.gradient_bytes, t->reduced_bytes[layer]);
        timeline_emit(t, TIMELINE_ALLOC, block_id(t, layer, PARTS), FT_NONE, t->reduced_bytes[layer]);
    }
    timeline_emit(t, TIMELINE_FREE, block_id(t, layer, GRADIENTS), FT_NONE, t->pending_bytes[layer]);
}

/* Sums of a layer: what is gathered for it, and its gradients before and after they are reduced. */
static void sum_layers(timeline *t) {
    for (uint32_t i = 0; i < t->graph->tensor_count; i++) {
        const ft_tensor *tensor = &t->graph->tensors[i];
        uint32_t first = t->params.first_reader[i], last = t->params.last_reader[i];
        uint64_t shards = shards_of(t, tensor, FT_SHARD_GRADIENTS);
        if (!tensor_has(&t->params, i, MARK_PARAM | MARK_BUFFER) || first == FT_NONE || shards == 1) continue;
        uint64_t bytes = size_of_tensor(t->graph, tensor, t->options);
        if (shards_of(t, tensor, FT_SHARD_WEIGHTS) > 1) grow(&t->weight_bytes[t->lives.layers.of_op[first]], bytes);
        if (!tensor_has(&t->params, i, MARK_PARAM)) continue;
        grow(&t->pending_bytes[t->lives.layers.of_op[last]], bytes);
        grow(&t->reduced_bytes[t->lives.layers.of_op[last]], num_div_up(bytes, shards));
    }
}

static void hold_gradients(timeline *t, uint32_t layer) {
    if (t->is_pending[layer] || t->pending_bytes[layer] == 0) return;
    t->is_pending[layer] = true;
    grow(&t->now.gathered_bytes, t->pending_bytes[layer]);
    timeline_emit(t, TIMELINE_ALLOC, block_id(t, layer, GRADIENTS), FT_NONE, t->pending_bytes[layer]);
}

bool shards_prepare(timeline *t) {
    if (t->options->mode != FT_TRAIN || t->options->sharding < FT_SHARD_GRADIENTS) return true;
    size_t count = (size_t)t->lives.layers.count + 2;
    t->weight_bytes = ARENA_ARRAY(&t->memory, uint64_t, count);
    t->pending_bytes = ARENA_ARRAY(&t->memory, uint64_t, count);
    t->reduced_bytes = ARENA_ARRAY(&t->memory, uint64_t, count);
    t->is_gathered = ARENA_ARRAY(&t->memory, bool, count);
    t->is_pending = ARENA_ARRAY(&t->memory, bool, count);
    if (t->weight_bytes == NULL || t->pending_bytes == NULL || t->reduced_bytes == NULL || t->is_gathered == NULL ||
        t->is_pending == NULL)
        return false;
    sum_layers(t);
    gather(t, 0);
    gather(t, t->lives.layers.count + 1);
    for (uint32_t layer = 0; layer < count && t->options->keeps_gathered; layer++) {
        if (t->options->is_mixed) t->pending_bytes[layer] = num_mul_sat(t->pending_bytes[layer], 2); /* of 16 bits */
        gather(t, layer);
        hold_gradients(t, layer);
    }
    return true;
}

void shards_enter(timeline *t, ft_phase phase, uint32_t k) {
    if (t->weight_bytes == NULL) return;
    uint32_t layer = t->lives.layers.of_op[k];
    if (is_root(t, layer)) return;
    gather(t, layer);
    uint32_t next = phase == FT_PHASE_FORWARD ? layer + 1 : layer - 1;
    if (!is_root(t, next)) gather(t, next);
}

void shards_leave(timeline *t, ft_phase phase, uint32_t k) {
    if (t->weight_bytes == NULL || t->options->keeps_gathered) return;
    uint32_t layer = t->lives.layers.of_op[k];
    if (is_root(t, layer)) return;
    bool is_done = k == (phase == FT_PHASE_FORWARD ? t->lives.last_op[layer] : t->lives.first_op[layer]);
    if (!is_done) return;
    release(t, layer);
    if (phase == FT_PHASE_BACKWARD) reduce(t, layer);
}

/* All gradients of a layer count from its first one on: they are reduced together, in one buffer. */
bool shards_hold_gradient(timeline *t, uint32_t tensor, uint64_t bytes) {
    const ft_tensor *p = &t->graph->tensors[tensor];
    if (t->pending_bytes == NULL || bytes == 0 || shards_of(t, p, FT_SHARD_GRADIENTS) == 1) return false;
    hold_gradients(t, t->lives.layers.of_op[t->params.last_reader[tensor]]);
    return true;
}

void shards_finish(timeline *t) {
    if (t->weight_bytes == NULL) return;
    for (uint32_t layer = 0; layer < t->lives.layers.count + 2; layer++) {
        release(t, layer);
        reduce(t, layer);
    }
}
