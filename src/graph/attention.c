/* attention.c - geometry of attention operators: which argument is what in each of them, and the sizes that follow.
 *
 * ONNX and ONNX Runtime have a dozen attention operators that differ in where keys, weights and caches are, in the
 * layout of the queries and in what is packed into one tensor. Shape rules and costs depend on this geometry alone.
 * A query may attend to fewer keys than there are (causal masks); every runtime computes whole tiles of scores, so all
 * keys of the window count. */
#include "graph/geometry.h"

#include <assert.h>

enum {
    STACKED = 1 << 0,      /* the cache holds keys and values: 2 x batch x heads x length x size */
    TOKENS = 1 << 1,       /* sequences without padding, one after the other: tokens x width */
    TIME_FIRST = 1 << 2,   /* sequence x batch x width */
    PAGED = 1 << 3,        /* the cache is blocks x block size x heads x size */
    WINDOWED = 1 << 4,     /* keys within attribute "window" on both sides */
    SHARES_CACHE = 1 << 5, /* past and present are one buffer: a run writes the new rows */
};

/* Arguments by their index; 0: absent, for queries or data are always input 0 and the result output 0. */
struct attention_form {
    const char *name; /* of the table entry */
    uint8_t key, value;
    uint8_t weights[3]; /* of the projections inside of the operator */
    uint8_t past_key, past_value;
    uint8_t total;           /* scalar: keys with those of the cache */
    uint8_t blocks;          /* TOKENS: a tensor whose first dimension is the number of sequences */
    uint8_t typed;           /* input whose type the result has; 0: the data */
    uint8_t present, scores; /* outputs: of the keys (the values follow it), and of the probabilities */
    uint8_t flags;
};

static const attention_form forms[] = {
    /* name, key, value, weights, past, total, blocks, typed, present, scores, flags */
    {"Attention", 1, 2, {0}, 4, 5, 0, 0, 0, 1, 3, 0},
    {"MultiHeadAttention", 1, 2, {0}, 6, 7, 0, 0, 0, 1, 3, 0},
    {"DecoderMaskedMultiHeadAttention", 1, 2, {0}, 5, 6, 0, 0, 0, 1, 3, 0},
    {"GroupQueryAttention", 1, 2, {0}, 3, 4, 6, 0, 0, 1, 3, SHARES_CACHE},
    {"MultiHeadLatentAttention", 2, 0, {0}, 3, 0, 0, 0, 0, 1, 0, SHARES_CACHE},
    {"SparseAttention", 1, 2, {0}, 3, 4, 7, 0, 0, 1, 0, SHARES_CACHE},
    {"PagedAttention", 1, 2, {0}, 3, 4, 0, 7, 0, 1, 0, TOKENS | PAGED | SHARES_CACHE},
    {"PackedAttention", 0, 0, {1}, 0, 0, 0, 3, 0, 0, 0, TOKENS},
    {"PackedMultiHeadAttention", 1, 2, {0}, 0, 0, 0, 4, 0, 0, 0, TOKENS},
    {"LongformerAttention", 0, 0, {1}, 0, 0, 0, 0, 0, 0, 0, WINDOWED},
    {"DecoderAttention", 1, 0, {2, 3}, 6, 7, 0, 0, 0, 1, 0, TIME_FIRST},
    {"QAttention", 0, 0, {1}, 8, 0, 0, 0, 2, 1, 0, STACKED},
    {"QOrderedAttention", 0, 0, {5, 6, 7}, 18, 0, 0, 0, 0, 0, 0, STACKED},
    {"QOrderedLongformerAttention", 0, 0, {2}, 0, 0, 0, 0, 0, 0, 0, WINDOWED},
};
/* ONNX Runtime's Attention has the name of the standard one, but a matrix of weights where that has the keys. */
static const attention_form projecting = {"Attention", 0, 0, {1}, 4, 0, 0, 0, 0, 1, 0, STACKED};

static const ft_tensor *known_input(const ft_graph *graph, const ft_op *op, uint32_t i) {
    const ft_tensor *t = i == 0 ? NULL : op_input(graph, op, i);
    return t != NULL && shape_is_known(t) ? t : NULL;
}

static const attention_form *form_of(const ft_graph *graph, const ft_op *op) {
    const ft_tensor *second = known_input(graph, op, 1);
    if (op_is(op, "Attention") && second != NULL && second->rank == 2) return &projecting;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (op_is(op, forms[i].name)) return &forms[i];
    return NULL;
}

/* --- Queries, keys and values -------------------------------------------------------------------------------- */

/* Data that the operator itself projects by one matrix for all three, or by several. */
static bool read_projection(const ft_graph *graph, const ft_op *op, attention_geometry *g) {
    uint32_t sizes_count;
    const int64_t *sizes = op_attr_ints(op, "qkv_hidden_sizes", &sizes_count);
    const ft_tensor *first = known_input(graph, op, g->form->weights[0]);
    if (first == NULL || first->rank != 2 || g->rank != ((g->form->flags & TOKENS) != 0 ? 2 : 3)) return false;
    bool is_whole = g->form->weights[1] == 0; /* queries, keys and values side by side */
    int64_t width = sizes_count == 3 ? sizes[0] : is_whole ? first->dims[1] / 3 : first->dims[1];
    int64_t value_width = sizes_count == 3 ? sizes[2] : is_whole ? first->dims[1] - 2 * width : width;
    if (width <= 0 || value_width <= 0) return false;
    g->head_size = width / g->heads;
    g->value_size = value_width / g->heads;
    g->kv_heads = g->heads;
    return true;
}

/* Queries of rank 2 and 3 end in all heads, those of rank 4 and 5 have a dimension for them; what is packed in one
 * tensor has 3 (or, for grouped queries, all heads of all three) in it. */
static bool read_queries(const ft_graph *graph, const ft_op *op, attention_geometry *g) {
    const ft_tensor *x = op_input(graph, op, 0);
    const ft_tensor *key = known_input(graph, op, g->form->key), *value = known_input(graph, op, g->form->value);
    bool is_tokens = (g->form->flags & TOKENS) != 0;
    if (g->rank == (is_tokens ? 4 : 5)) { /* tokens or batch x sequence, heads, 3, size */
        g->heads = g->kv_heads = x->dims[g->rank - 3];
        g->head_size = x->dims[g->rank - 1];
    } else if (g->rank == 4) {
        g->heads = x->dims[1];
        g->head_size = x->dims[3];
        g->has_head_axis = true;
    } else if (g->rank == 3 || (is_tokens && g->rank == 2)) {
        bool is_packed = key == NULL && g->form->key < op->input_count && op_input(graph, op, g->form->key) == NULL;
        g->head_size = x->dims[g->rank - 1] / (is_packed || key == NULL ? g->heads + 2 * g->kv_heads : g->heads);
    } else {
        return false;
    }
    if (key != NULL && key->rank == 4) g->kv_heads = key->dims[1];
    g->value_size = g->head_size;
    if (value != NULL && value->rank == 4) g->value_size = value->dims[3];
    if (value != NULL && value->rank <= 3 && value->rank >= 2)
        g->value_size = value->dims[value->rank - 1] / g->kv_heads;
    g->value_size = op_attr_int(op, "v_head_size", 0) > 0 ? op_attr_int(op, "v_head_size", 0) : g->value_size;
    return true;
}

/* Batch, queries of a sequence, and the keys that come with them. */
static void read_lengths(const ft_graph *graph, const ft_op *op, attention_geometry *g) {
    const ft_tensor *x = op_input(graph, op, 0), *key = known_input(graph, op, g->form->key);
    const ft_tensor *blocks = known_input(graph, op, g->form->blocks);
    g->tokens = x->dims[0];
    g->batch = x->dims[0];
    g->queries = g->rank == 2 ? 1 : x->dims[g->has_head_axis ? 2 : 1];
    if ((g->form->flags & TOKENS) != 0) {
        g->batch = blocks != NULL && blocks->rank == 2 && blocks->dims[0] > 0 ? blocks->dims[0] : 1;
        g->queries = (int64_t)num_div_up((uint64_t)g->tokens, (uint64_t)g->batch);
    } else if ((g->form->flags & TIME_FIRST) != 0) {
        g->queries = x->dims[0];
        g->batch = x->dims[1];
    }
    g->added = g->queries;
    if (key == NULL || (g->form->flags & TOKENS) != 0) return;
    g->added = key->dims[key->rank == 4 ? 2 : (g->form->flags & TIME_FIRST) != 0 ? 0 : 1];
}

/* --- Cache --------------------------------------------------------------------------------------------------- */

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static bool known_total(const ft_graph *graph, const ft_op *op, const attention_geometry *g, int64_t *total) {
    const ft_tensor *t = known_input(graph, op, g->form->total);
    if (t == NULL || t->value == NULL || t->value->count < 1 || t->value->ints == NULL) return false;
    *total = t->value->ints[0];
    return *total > 0 && *total <= FT_MAX_DIM;
}

/* Keys with those of the cache, and the length of the cache after the run. Where the number of keys is known and the
 * cache is longer, it is a buffer that is filled step by step. */
static void read_cache(const ft_graph *graph, const ft_op *op, attention_geometry *g) {
    const ft_tensor *past = known_input(graph, op, g->form->past_key);
    bool is_stacked = (g->form->flags & STACKED) != 0;
    int64_t total, window = op_attr_int(op, "local_window_size", 0);
    g->keys = g->present = g->added;
    if (past != NULL && (g->form->flags & PAGED) != 0 && past->rank == 4) {
        const ft_tensor *table = known_input(graph, op, g->form->blocks);
        int64_t blocks = table != NULL && table->rank == 2 ? table->dims[1] : past->dims[0];
        g->past = g->present = past->dims[0] * past->dims[1];
        g->keys = smaller(blocks * past->dims[1], g->past);
    } else if (past != NULL && past->rank == (is_stacked ? 5 : 4)) {
        bool is_buffer =
            op_attr_int(op, "past_present_share_buffer", 0) != 0 || op_attr_int(op, "sliding_window_cache", 0) != 0;
        g->past = past->dims[past->rank - 2];
        g->keys = g->present = is_buffer ? g->past : smaller(g->past + g->added, FT_MAX_DIM);
    }
    if (known_total(graph, op, g, &total)) {
        g->keys = total;
        g->present = total > g->past ? total : g->past;
    }
    if (window > 0) g->keys = smaller(g->keys, window);
    int64_t chosen = op_attr_int(op, "top_keys", 0); /* by an indexer */
    if (chosen > 0) g->keys = smaller(g->keys, chosen);
    if ((g->form->flags & WINDOWED) != 0 && op_attr_int(op, "window", 0) > 0)
        g->keys = smaller(g->keys, 2 * smaller(op_attr_int(op, "window", 0), FT_MAX_DIM) + 1);
    g->shares_cache = (g->form->flags & SHARES_CACHE) != 0 || op_attr_int(op, "past_present_share_buffer", 0) != 0;
}

bool attention_geometry_of(const ft_graph *graph, const ft_op *op, attention_geometry *geometry) {
    attention_geometry g = {.form = form_of(graph, op)};
    const ft_tensor *x = op_input(graph, op, 0);
    if (op->def->cost != COST_ATTENTION || g.form == NULL || x == NULL || !shape_is_known(x) || x->rank < 2)
        return false;
    const ft_tensor *past = known_input(graph, op, g.form->past_key);
    bool has_head_axis = past != NULL && past->rank == 4 && (g.form->flags & PAGED) == 0;
    g.rank = x->rank;
    g.heads = op_attr_int(op, "num_heads", op_attr_int(op, "q_num_heads", 1));
    g.kv_heads = op_attr_int(op, "kv_num_heads", has_head_axis ? past->dims[1] : g.heads);
    if (g.heads <= 0 || g.heads > FT_MAX_DIM || g.kv_heads <= 0 || g.kv_heads > FT_MAX_DIM) return false;
    bool is_projecting = g.form->weights[0] != 0;
    if (is_projecting ? !read_projection(graph, op, &g) : !read_queries(graph, op, &g)) return false;
    if (g.heads <= 0 || g.kv_heads <= 0 || g.head_size <= 0 || g.value_size <= 0) return false;
    read_lengths(graph, op, &g);
    read_cache(graph, op, &g);
    for (int i = 0; i < 3; i++) g.weights[i] = known_input(graph, op, g.form->weights[i]);
    g.past_key = g.form->past_key;
    g.past_value = g.form->past_value;
    g.present_key = g.form->present;
    g.present_value = g.form->past_value == 0 || g.form->present == 0 ? 0 : g.form->present + 1;
    g.scores = g.form->scores;
    g.typed = g.form->typed;
    g.kv_rank = op_is(op, "MultiHeadLatentAttention") ? op_attr_int(op, "kv_rank", 0) : 0;
    if (g.kv_rank < 0 || g.kv_rank > FT_MAX_DIM) return false;
    g.is_time_first = (g.form->flags & TIME_FIRST) != 0;
    g.is_tokens = (g.form->flags & TOKENS) != 0;
    g.is_stacked = (g.form->flags & STACKED) != 0;
    g.is_paged = (g.form->flags & PAGED) != 0;
    assert(g.batch >= 0 && g.queries >= 0 && g.keys >= 0);
    *geometry = g;
    return true;
}

/* --- Operators with a past --------------------------------------------------------------------------------------- */

bool op_past_inputs(const ft_graph *graph, const ft_op *op, uint32_t inputs[static 2]) {
    static const struct {
        const char *name;
        uint32_t input;
    } states[] = {{"LinearAttention", 3}, {"GatedDeltaNet", 6}, {"CausalConvWithState", 3}};
    const attention_form *form = op->def->cost == COST_ATTENTION ? form_of(graph, op) : NULL;
    inputs[0] = form != NULL ? form->past_key : 0;
    inputs[1] = form != NULL ? form->past_value : 0;
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
        if (op_is(op, states[i].name)) inputs[0] = states[i].input;
    return inputs[0] != 0;
}
