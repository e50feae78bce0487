/* crowd.c - walks models and counts what they are like.
 *
 * What is found of a model is a list of numbers with the feature they belong to, then the words of its operators; lists
 * are counted in the order of the models, so the result does not depend on the number of threads. */
#include "learn/evaluate/crowd.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/fuse.h"
#include "graph/geometry.h"
#include "graph/graph.h"

static const uint64_t MEMORY_LIMIT = (uint64_t)1 << 26; /* of the words: a hostile data set may have any number */

const char *crowd_feature_key(uint32_t feature) {
#define KEY_OF(name, key, text, unit, of_operators) key,
    static const char *const keys[] = {CROWD_FEATURE_LIST(KEY_OF)};
#undef KEY_OF
    return keys[feature];
}

const char *crowd_feature_text(uint32_t feature) {
#define TEXT_OF(name, key, text, unit, of_operators) text,
    static const char *const texts[] = {CROWD_FEATURE_LIST(TEXT_OF)};
#undef TEXT_OF
    return texts[feature];
}

const char *crowd_feature_unit(uint32_t feature) {
#define UNIT_OF(name, key, text, unit, of_operators) unit,
    static const char *const units[] = {CROWD_FEATURE_LIST(UNIT_OF)};
#undef UNIT_OF
    return units[feature];
}

/* --- What is found of a model -------------------------------------------------------------------------------- */

typedef struct finding {
    uint32_t feature;
    double value;
} finding;

static void found_number(buf *found, crowd_feature feature, double value) {
    finding f;
    memset(&f, 0, sizeof f);
    f.feature = (uint32_t)feature;
    f.value = value;
    buf_add(found, &f, sizeof f);
}

static void find_window(const ft_graph *g, const ft_op *op, buf *found) {
    conv_geometry conv;
    pool_geometry pool;
    if (op->def->op_class == FT_CLASS_CONV && conv_geometry_of(g, op, &conv) && conv.spatial > 0) {
        found_number(found, CROWD_OP_WINDOW, (double)conv.kernel[conv.spatial - 1]);
        found_number(found, CROWD_OP_STRIDE, (double)conv.stride[conv.spatial - 1]);
        found_number(found, CROWD_OP_GROUPS, (double)conv.groups);
    } else if (op->def->op_class == FT_CLASS_POOL && pool_geometry_of(g, op, &pool) && pool.spatial > 0) {
        found_number(found, CROWD_OP_WINDOW, (double)pool.kernel[pool.spatial - 1]);
        found_number(found, CROWD_OP_STRIDE, (double)pool.stride[pool.spatial - 1]);
    }
}

static void find_operator(const ft_graph *g, const ft_op *op, const ft_op_cost *cost, buf *found) {
    found_number(found, CROWD_OP_FLOPS, (double)cost->forward.flops);
    found_number(found, CROWD_OP_ELEMS, (double)cost->activation_elems);
    const ft_tensor *out = op->output_count > 0 && op->outputs[0] != FT_NONE ? &g->tensors[op->outputs[0]] : NULL;
    if (out != NULL && out->rank > 0) {
        bool is_nchw = g->layout == FT_NCHW && out->rank == 4;
        found_number(found, CROWD_OP_CHANNELS, (double)out->dims[is_nchw ? 1 : out->rank - 1]);
        if (out->rank == 4) found_number(found, CROWD_OP_ROWS, (double)out->dims[is_nchw ? 2 : 1]);
    }
    find_window(g, op, found);
}

/* The numbers, how many there are, and then the words, each with its end. */
static ft_status visit(void *user, const scan_item *item, model_view *s, uint32_t worker, buf *found, ft_error *error) {
    (void)user;
    (void)item;
    (void)worker;
    const ft_graph *g = s->bound;
    const ft_cost *cost;
    FT_TRY(model_view_cost(s, &cost, error));
    uint64_t operators = 0, count;
    buf_add(found, &operators, sizeof operators); /* room for the count */
    for (uint32_t i = 0; i < g->op_count; i++) {
        if (g->ops[i].is_folded) continue;
        find_operator(g, &g->ops[i], &cost->ops[i], found);
        operators++;
    }
    const ft_work *work = &cost->total.forward;
    found_number(found, CROWD_OPERATORS, (double)operators);
    found_number(found, CROWD_FLOPS, (double)work->flops);
    found_number(found, CROWD_BYTES, (double)work->read_bytes + (double)work->write_bytes);
    found_number(found, CROWD_PARAMS, (double)cost->total.params);
    found_number(found, CROWD_INTENSITY, ft_work_intensity(work));
    if (found->failed) return FT_NOMEM(error);
    count = (found->length - sizeof count) / sizeof(finding);
    memcpy(found->data, &count, sizeof count);
    for (uint32_t i = 0; i < g->op_count; i++) {
        char buffer[KERNEL_NAME_BYTES];
        if (g->ops[i].is_folded) continue;
        const char *word = kernel_name_of(g, &g->ops[i], buffer);
        buf_add(found, word, strlen(word) + 1);
    }
    return found->failed ? FT_NOMEM(error) : FT_OK;
}

/* --- Counting ------------------------------------------------------------------------------------------------ */

typedef struct gathering {
    crowd *c;
    double *operators;
} gathering;

static ft_status count_word(crowd *c, const char *word, ft_error *error) {
    uint32_t at;
    if (map_get(&c->index, word, &at)) {
        c->words[at].count++;
        return FT_OK;
    }
    if (c->word_count == c->word_capacity) {
        uint32_t capacity = c->word_capacity > 0 ? 2 * c->word_capacity : 64;
        crowd_word *words = realloc(c->words, capacity * sizeof *words);
        if (words == NULL) return FT_NOMEM(error);
        c->words = words;
        c->word_capacity = capacity;
    }
    char *kept = arena_string(&c->memory, word, strlen(word));
    if (kept == NULL || !map_set(&c->index, kept, c->word_count)) return FT_NOMEM(error);
    c->words[c->word_count++] = (crowd_word){kept, 1};
    return FT_OK;
}

static ft_status gather(void *user, const scan_item *item, const buf *found, ft_error *error) {
    const gathering *g = user;
    uint64_t count;
    memcpy(&count, found->data, sizeof count);
    const char *at = (const char *)found->data + sizeof count, *end = (const char *)found->data + found->length;
    for (uint64_t i = 0; i < count; i++, at += sizeof(finding)) {
        finding f;
        memcpy(&f, at, sizeof f);
        spread_add(&g->c->features[f.feature], f.value);
        for (uint32_t k = 0; g->operators != NULL && f.feature == CROWD_OPERATORS && k < item->row_count; k++)
            g->operators[item->rows[k]] = f.value;
    }
    g->c->models++;
    for (; at < end; at += strlen(at) + 1) {
        FT_TRY(count_word(g->c, at, error));
        g->c->operators++;
    }
    return FT_OK;
}

ft_status crowd_gather(crowd *c, const ft_dataset *data, fit_rows rows, pool *threads, const fit_context *context,
                       double *operators, ft_error *error) {
    *c = (crowd){.features = calloc(CROWD_FEATURES, sizeof *c->features)};
    arena_init(&c->memory, MEMORY_LIMIT);
    map_init(&c->index, &c->memory);
    if (c->features == NULL) return FT_NOMEM(error);
    gathering g = {c, operators};
    const scan_job job = {.threads = threads,
                          .visit = visit,
                          .gather = gather,
                          .user = &g,
                          .context = context,
                          .to = 1,
                          .what = "looking at models"};
    return scan_once(data, rows, &job, error);
}

void crowd_free(crowd *c) {
    if (c == NULL) return;
    free(c->features);
    free(c->words);
    arena_free(&c->memory);
    *c = (crowd){0};
}

/* --- Comparing ----------------------------------------------------------------------------------------------- */

static int by_count(const void *a, const void *b) {
    const crowd_word *x = a, *y = b;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return strcmp(x->word, y->word);
}

crowd_word *crowd_unknown(const crowd *c, const crowd *known, uint32_t *count) {
    crowd_word *list = calloc((size_t)c->word_count + 1, sizeof *list);
    uint32_t at;
    *count = 0;
    if (list == NULL) return NULL;
    for (uint32_t i = 0; i < c->word_count; i++)
        if (!map_get(&known->index, c->words[i].word, &at)) list[(*count)++] = c->words[i];
    qsort(list, *count, sizeof *list, by_count);
    return list;
}
