/* fold.c - groups of related graphs, and their assignment to folds.
 *
 * A key is the name of a model up to the first dot (timm appends the training data after it), its leading letters, a
 * family or a graph. A graph with two keys merges their groups, as it can be in one fold only. The fold of a group
 * is drawn from its alphabetically first key and the seed, so that neither the order of the records nor other groups
 * matter.
 *
 * Where few groups hold most of the graphs, drawn folds differ much in size. Dealt folds do not: groups are placed
 * by size, so that other groups do matter. */
#include "data/fold.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/text.h"

static const char *const key_names[] = {
    [FOLD_BY_NAME] = "name", [FOLD_BY_LETTERS] = "letters", [FOLD_BY_FAMILY] = "family", [FOLD_BY_GRAPH] = "graph"};

enum { KEY_COUNT = sizeof key_names / sizeof key_names[0], MAX_FOLDS = 1000 };

static const double VALID_SHARE = 0.1;

ft_status fold_parse(const char *text, bool is_dealt, fold_spec *spec, ft_error *error) {
    const char *count = text != NULL ? strchr(text, ':') : NULL;
    const char *number = count != NULL ? strchr(count + 1, ':') : NULL;
    bool is_good = number != NULL && text_int(count + 1, (size_t)(number - count) - 1, &spec->count) &&
                   text_int(number + 1, strlen(number + 1), &spec->number) && spec->count >= 2 &&
                   spec->count <= MAX_FOLDS && spec->number >= 1 && spec->number <= spec->count;
    for (int i = 0; is_good && i < KEY_COUNT; i++) {
        size_t length = strlen(key_names[i]);
        if (length != (size_t)(count - text) || memcmp(text, key_names[i], length) != 0) continue;
        spec->key = (fold_key)i;
        spec->is_dealt = is_dealt;
        return FT_OK;
    }
    return ft_fail(error, FT_ERR_USAGE,
                   "expected '%s:KEY:K:I': KEY is name, letters, family or graph, K from 2 to %d, I from 1 to K",
                   is_dealt ? "deal" : "fold", MAX_FOLDS);
}

typedef struct groups {
    const ft_dataset *data;
    fold_key key;
    arena memory;
    map by_key;
    const char **keys;
    uint32_t *parents; /* union-find parents of the keys */
    uint32_t count;
    uint32_t *graph_keys; /* a key of each graph, or FT_NONE */
    uint32_t *folds;      /* of the root key of each group, from 0; with folds only */
} groups;

/* ASCII letters only, independent of the locale. */
static size_t leading_letters(const char *name) {
    size_t length = 0;
    while ((name[length] >= 'a' && name[length] <= 'z') || (name[length] >= 'A' && name[length] <= 'Z')) length++;
    return length;
}

static size_t key_length(fold_key key, const char *text) {
    if (key != FOLD_BY_NAME && key != FOLD_BY_LETTERS) return strlen(text);
    size_t letters = key == FOLD_BY_LETTERS ? leading_letters(text) : 0;
    return letters > 0 ? letters : strcspn(text, ".");
}

static const char *key_of(groups *g, const ft_record *r) {
    const char *text = g->key == FOLD_BY_GRAPH    ? ft_dataset_graph_id(g->data, r->graph)
                       : g->key == FOLD_BY_FAMILY ? r->family
                                                  : r->name;
    size_t length = key_length(g->key, text);
    return text[length] == '\0' ? text : arena_string(&g->memory, text, length);
}

static uint32_t find_root(groups *g, uint32_t key) {
    assert(key < g->count);
    while (g->parents[key] != key) {
        g->parents[key] = g->parents[g->parents[key]];
        key = g->parents[key];
    }
    return key;
}

/* Merges two groups; the alphabetically first key is the root. */
static void unite(groups *g, uint32_t a, uint32_t b) {
    a = find_root(g, a);
    b = find_root(g, b);
    if (a == b) return;
    bool is_a_first = strcmp(g->keys[a], g->keys[b]) < 0;
    g->parents[is_a_first ? b : a] = is_a_first ? a : b;
}

static bool add_record(groups *g, const ft_record *r) {
    const char *key = key_of(g, r);
    uint32_t at;
    if (key == NULL || !map_add(&g->by_key, key, g->count, &at)) return false;
    if (at == g->count) {
        g->keys[at] = key;
        g->parents[at] = at;
        g->count++;
    }
    if (g->graph_keys[r->graph] == FT_NONE)
        g->graph_keys[r->graph] = at;
    else
        unite(g, g->graph_keys[r->graph], at);
    return true;
}

static ft_status find_groups(groups *g, ft_error *error) {
    const ft_record *records = ft_dataset_records(g->data);
    uint32_t count = ft_dataset_record_count(g->data), graphs = ft_dataset_graph_count(g->data);
    g->keys = ARENA_ARRAY(&g->memory, const char *, (size_t)count + 1);
    g->parents = ARENA_ARRAY(&g->memory, uint32_t, (size_t)count + 1);
    g->graph_keys = ARENA_ARRAY(&g->memory, uint32_t, (size_t)graphs + 1);
    if (g->keys == NULL || g->parents == NULL || g->graph_keys == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < graphs; i++) g->graph_keys[i] = FT_NONE;
    for (uint32_t i = 0; i < count; i++) {
        bool is_support = strcmp(records[i].part, "support") == 0; /* never tested, so it merges no groups */
        if (!is_support && !add_record(g, &records[i])) return FT_NOMEM(error);
    }
    return FT_OK;
}

/* A pseudo-random number from key and seed, a different one for each purpose. */
static uint64_t draw(const char *key, uint64_t seed, char purpose) {
    char bytes[HASH_TEXT + 8];
    hash_text(hash_bytes(key, strlen(key)), bytes);
    for (int i = 0; i < 8; i++) bytes[HASH_TEXT - 1 + i] = (char)(seed >> 8 * i);
    bytes[HASH_TEXT + 7] = purpose;
    return hash_bytes(bytes, sizeof bytes).low;
}

static double uniform(uint64_t drawn) {
    return (double)(drawn >> 11) * 0x1p-53;
}

static ft_split_part shared_part(double u, const double shares[2]) {
    return u < shares[0] ? FT_PART_TRAIN : u < shares[0] + shares[1] ? FT_PART_VALID : FT_PART_TEST;
}

/* --- Dealing ----------------------------------------------------------------------------------------------------- */

typedef struct sized_group {
    uint64_t drawn;
    uint32_t key, graphs;
} sized_group;

/* The largest group first; equal sizes in random order. */
static int compare_groups(const void *a, const void *b) {
    const sized_group *x = a, *y = b;
    if (x->graphs != y->graphs) return x->graphs < y->graphs ? 1 : -1;
    return (x->drawn > y->drawn) - (x->drawn < y->drawn);
}

/* A random one of the folds with room for the group; when none has, the smallest fold. */
static uint32_t choose_fold(const sized_group *h, const uint32_t *held, uint32_t folds, uint32_t room) {
    assert(folds >= 2);
    uint32_t open = 0, min = 0;
    for (uint32_t f = 0; f < folds; f++) {
        open += held[f] + h->graphs <= room;
        if (held[f] < held[min]) min = f;
    }
    if (open == 0) return min;
    uint32_t nth = (uint32_t)(h->drawn % open), f = 0;
    while (held[f] + h->graphs > room || nth-- > 0) f++;
    return f;
}

static ft_status deal(groups *g, const fold_spec *spec, uint64_t seed, ft_error *error) {
    uint32_t folds = (uint32_t)spec->count, count = 0, total = 0;
    uint32_t *graphs = ARENA_ARRAY(&g->memory, uint32_t, (size_t)g->count + 1);
    uint32_t *held = ARENA_ARRAY(&g->memory, uint32_t, folds);
    sized_group *sized = ARENA_ARRAY(&g->memory, sized_group, (size_t)g->count + 1);
    if (graphs == NULL || held == NULL || sized == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < ft_dataset_graph_count(g->data); i++) {
        if (g->graph_keys[i] == FT_NONE) continue;
        graphs[find_root(g, g->graph_keys[i])]++;
        total++;
    }
    for (uint32_t i = 0; i < g->count; i++)
        if (graphs[i] > 0) sized[count++] = (sized_group){draw(g->keys[i], seed, 'd'), i, graphs[i]};
    qsort(sized, count, sizeof *sized, compare_groups);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t fold = choose_fold(&sized[i], held, folds, (total + folds - 1) / folds);
        g->folds[sized[i].key] = fold;
        held[fold] += sized[i].graphs;
    }
    return FT_OK;
}

/* --- Parts ------------------------------------------------------------------------------------------------------- */

static ft_status find_folds(groups *g, const fold_spec *spec, uint64_t seed, ft_error *error) {
    g->folds = ARENA_ARRAY(&g->memory, uint32_t, (size_t)g->count + 1);
    if (g->folds == NULL) return FT_NOMEM(error);
    if (spec->is_dealt) return deal(g, spec, seed, error);
    for (uint32_t i = 0; i < g->count; i++)
        g->folds[i] = (uint32_t)(draw(g->keys[i], seed, 'k') % (uint64_t)spec->count);
    return FT_OK;
}

static ft_split_part part_of(const groups *g, uint32_t key, const fold_spec *spec, uint64_t seed) {
    assert(spec->count == 0 || g->folds[key] < spec->count);
    if (spec->count == 0) return shared_part(uniform(draw(g->keys[key], seed, 'k')), spec->shares);
    if (g->folds[key] == spec->number - 1) return FT_PART_TEST;
    return uniform(draw(g->keys[key], seed, 'v')) < VALID_SHARE ? FT_PART_VALID : FT_PART_TRAIN;
}

ft_status fold_parts(const ft_dataset *data, const fold_spec *spec, uint64_t seed, uint8_t *parts, ft_error *error) {
    groups g = {.data = data, .key = spec->key};
    arena_init(&g.memory, UINT64_MAX);
    map_init(&g.by_key, &g.memory);
    ft_status status = find_groups(&g, error);
    if (status == FT_OK && spec->count > 0) status = find_folds(&g, spec, seed, error);
    for (uint32_t i = 0; status == FT_OK && i < ft_dataset_graph_count(data); i++) {
        bool has_key = g.graph_keys[i] != FT_NONE;
        parts[i] = (uint8_t)(has_key ? part_of(&g, find_root(&g, g.graph_keys[i]), spec, seed) : FT_PART_UNUSED);
    }
    arena_free(&g.memory);
    return status;
}

/* --- Units ---------------------------------------------------------------------------------------------------------
 */

typedef struct unit_row {
    const char *begin; /* of the spec, up to a colon or its end */
    const char *models, *programs;
} unit_row;

static const unit_row unit_rows[] = {
    {"random", "models", "programs"},         {"all", "models", "programs"},
    {"order", "models", "programs"},          {"name", "architectures", "tasks"},
    {"fold:name", "architectures", "tasks"},  {"deal:name", "architectures", "tasks"},
    {"fold:graph", "models", "programs"},     {"deal:graph", "models", "programs"},
    {"fold:letters", "families", "families"}, {"deal:letters", "families", "families"},
    {"fold:family", "families", "families"},  {"deal:family", "families", "families"},
    {"family", "families", "families"},       {"fewshot", "models", "programs"},
    {"network", "networks", "networks"},      {"device", "devices", "devices"},
};

const char *split_unit(const char *spec, bool are_programs) {
    for (size_t i = 0; i < sizeof unit_rows / sizeof unit_rows[0]; i++) {
        size_t length = strlen(unit_rows[i].begin);
        if (strncmp(spec, unit_rows[i].begin, length) != 0 || (spec[length] != '\0' && spec[length] != ':')) continue;
        return are_programs ? unit_rows[i].programs : unit_rows[i].models;
    }
    return NULL;
}
