/* split.c - assignment of records to training, validation and test.
 *
 * The part of a graph is derived from its own id and the seed, never from its position: the order of the records
 * does not matter, and records added later do not move existing ones. A graph whose records would fall into two
 * parts keeps those of one part only (test before validation before training); its other records are unused.
 * docs/splits.md explains the use of each kind of split. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "data/dataset.h"
#include "data/fold.h"
#include "data/networks.h"
#include "data/split_small.h"
#include "foretell/dataset.h"
#include "foretell/device.h"

enum { SPEC_BYTES = sizeof((ft_split *)NULL)->spec };

/* Default fractions of graphs. */
static const double VALID_SHARE = 0.1, DEVICE_TEST_SHARE = 0.2;

static const char *const part_names[] = {"unused", "train", "valid", "test"};

const char *ft_split_part_name(ft_split_part part) {
    return (size_t)part < sizeof part_names / sizeof part_names[0] ? part_names[part] : "unknown";
}

bool ft_split_part_parse(const char *text, ft_split_part *part) {
    if (text == NULL || part == NULL) return false;
    for (size_t i = 0; i < sizeof part_names / sizeof part_names[0]; i++) {
        if (strcmp(text, part_names[i]) == 0) {
            *part = (ft_split_part)i;
            return true;
        }
    }
    return false;
}

/* --- Parsing the spec -------------------------------------------------------------------------------------------- */

typedef enum split_kind {
    BY_RANDOM,
    BY_FAMILY,
    BY_NETWORK,
    BY_DEVICE,
    BY_ORDER,
    BY_FEWSHOT,
    BY_FOLD,
    BY_DEAL,
    BY_NAME,
    BY_NOTHING,
    KIND_COUNT
} split_kind;

typedef struct plan {
    const ft_dataset *data;
    uint64_t seed;
    split_kind kind;
    double shares[2];      /* random: train, valid */
    char name[SPEC_BYTES]; /* of the held-out family or device; "test" or "test_ood" with order */
    bool is_shared;        /* device: a graph may be in training and test */
    bool has_valid;        /* order: records are published for validation */
    int64_t shots;
    bool *is_marked;   /* per graph: has a held-out record */
    bool *is_few_shot; /* per graph: chosen for few-shot training */
    fold_spec fold;
    uint8_t *fold_parts; /* per graph */
} plan;

static ft_status parse_random(const char *text, plan *p, ft_error *error) {
    double shares[3] = {80, 10, 10}, sum = 0;
    const char *at = text;
    for (int i = 0; text != NULL && i < 3; i++) {
        size_t length = strcspn(at, "/");
        if (!text_double(at, length, &shares[i]) || shares[i] < 0 || (at[length] == '\0') != (i == 2))
            return ft_fail(error, FT_ERR_USAGE, "'%s' is not of the form 80/10/10", text);
        at += length + 1;
    }
    for (int i = 0; i < 3; i++) sum += shares[i];
    if (fabs(sum - 100) > 1e-9) return ft_fail(error, FT_ERR_USAGE, "the percentages %s do not add up to 100", text);
    p->shares[0] = shares[0] / 100;
    p->shares[1] = shares[1] / 100;
    return FT_OK;
}

/* The same fractions, of names instead of graphs. */
static ft_status parse_by_name(const char *text, plan *p, ft_error *error) {
    FT_TRY(parse_random(text, p, error));
    p->fold = (fold_spec){.key = FOLD_BY_NAME, .shares = {p->shares[0], p->shares[1]}};
    return FT_OK;
}

static ft_status parse_name(const char *text, const char *what, plan *p, ft_error *error) {
    if (text == NULL || text[0] == '\0') return ft_fail(error, FT_ERR_USAGE, "the name is missing: '%s:NAME'", what);
    snprintf(p->name, sizeof p->name, "%s", text);
    return FT_OK;
}

static ft_status parse_device(const char *text, plan *p, ft_error *error) {
    FT_TRY(parse_name(text, "device", p, error));
    char *colon = strrchr(p->name, ':');
    p->is_shared = colon != NULL && strcmp(colon, ":shared") == 0;
    if (p->is_shared) *colon = '\0';
    const char *canonical = ft_device_canonical(p->name);
    if (canonical != NULL) snprintf(p->name, sizeof p->name, "%s", canonical);
    return FT_OK;
}

static ft_status parse_order(const char *text, plan *p, ft_error *error) {
    if (text != NULL && strcmp(text, "ood") != 0)
        return ft_fail(error, FT_ERR_USAGE, "'order' or 'order:ood', not 'order:%s'", text);
    snprintf(p->name, sizeof p->name, "%s", text == NULL ? "test" : "test_ood");
    return FT_OK;
}

static ft_status parse_fewshot(const char *text, plan *p, ft_error *error) {
    FT_TRY(parse_name(text, "fewshot", p, error));
    char *colon = strrchr(p->name, ':');
    if (colon == NULL || colon == p->name || !text_int(colon + 1, strlen(colon + 1), &p->shots) || p->shots < 1)
        return ft_fail(error, FT_ERR_USAGE, "'%s' is not of the form NAME:K with K at least 1", text);
    *colon = '\0';
    return FT_OK;
}

static ft_status parse_rest(const char *kind, size_t length, const char *rest, plan *p, ft_error *error) {
    static const char *const kinds[] = {
        [BY_RANDOM] = "random", [BY_FAMILY] = "family",   [BY_NETWORK] = "network", [BY_DEVICE] = "device",
        [BY_ORDER] = "order",   [BY_FEWSHOT] = "fewshot", [BY_FOLD] = "fold",       [BY_DEAL] = "deal",
        [BY_NAME] = "name",     [BY_NOTHING] = "all"};
    uint32_t found = 0;
    while (found < KIND_COUNT && (strlen(kinds[found]) != length || memcmp(kinds[found], kind, length) != 0)) found++;
    p->kind = (split_kind)found;
    switch (found) {
    case BY_RANDOM:
        return parse_random(rest, p, error);
    case BY_FAMILY:
        return parse_name(rest, "family", p, error);
    case BY_NETWORK:
        return parse_name(rest, "network", p, error);
    case BY_DEVICE:
        return parse_device(rest, p, error);
    case BY_ORDER:
        return parse_order(rest, p, error);
    case BY_FEWSHOT:
        return parse_fewshot(rest, p, error);
    case BY_FOLD:
    case BY_DEAL:
        return fold_parse(rest, found == BY_DEAL, &p->fold, error);
    case BY_NAME:
        return parse_by_name(rest, p, error);
    case BY_NOTHING:
        return rest == NULL ? FT_OK : ft_fail(error, FT_ERR_USAGE, "'all' takes no argument");
    default:
        return ft_fail(error, FT_ERR_USAGE,
                       "expected random[:80/10/10], name[:80/10/10], family:NAME, network:NAME, device:NAME[:shared], "
                       "order[:ood], fewshot:NAME:K, fold:KEY:K:I, deal:KEY:K:I, all");
    }
}

static ft_status parse(const char *spec, plan *p, ft_error *error) {
    if (strlen(spec) >= SPEC_BYTES)
        return ft_fail(error, FT_ERR_USAGE, "the split '%.40s...' is too long: at most %d characters", spec,
                       SPEC_BYTES - 1);
    const char *colon = strchr(spec, ':');
    size_t length = colon != NULL ? (size_t)(colon - spec) : strlen(spec);
    ft_status status = parse_rest(spec, length, colon != NULL ? colon + 1 : NULL, p, error);
    return status == FT_OK ? FT_OK : ft_fail_prefix(error, status, "split '%s'", spec);
}

/* --- Random numbers ---------------------------------------------------------------------------------------------- */

/* A pseudo-random number of a graph: a different one for each purpose, the same for all its records. */
static uint64_t draw(const plan *p, uint32_t graph, char purpose) {
    assert(graph < ft_dataset_graph_count(p->data));
    char key[FT_HASH_TEXT + 9] = {0};
    snprintf(key, sizeof key, "%s", ft_dataset_graph_id(p->data, graph));
    for (int i = 0; i < 8; i++) key[FT_HASH_TEXT - 1 + i] = (char)(p->seed >> 8 * i);
    key[FT_HASH_TEXT + 7] = purpose;
    return hash_bytes(key, sizeof key).low;
}

static double uniform(const plan *p, uint32_t graph, char purpose) {
    return (double)(draw(p, graph, purpose) >> 11) * 0x1p-53;
}

static ft_split_part train_or_valid(const plan *p, uint32_t graph) {
    return uniform(p, graph, 'v') < VALID_SHARE ? FT_PART_VALID : FT_PART_TRAIN;
}

/* --- The part of a record ---------------------------------------------------------------------------------------- */

static ft_split_part random_part(const plan *p, uint32_t graph) {
    double u = uniform(p, graph, 'r');
    return u < p->shares[0] ? FT_PART_TRAIN : u < p->shares[0] + p->shares[1] ? FT_PART_VALID : FT_PART_TEST;
}

/* Whether a record belongs to the family, network or device that the spec names. */
static bool is_held_out(const plan *p, const ft_record *r) {
    if (p->kind == BY_NETWORK) return networks_has(r->family, p->name);
    return strcmp(p->kind == BY_DEVICE ? r->device : r->family, p->name) == 0;
}

static ft_split_part family_part(const plan *p, const ft_record *r) {
    if (!p->is_marked[r->graph]) return train_or_valid(p, r->graph);
    if (p->kind == BY_FEWSHOT && p->is_few_shot[r->graph]) return FT_PART_TRAIN;
    return is_held_out(p, r) ? FT_PART_TEST : FT_PART_UNUSED;
}

/* A graph tested on the device is not used for training on any other, unless the spec ends in ":shared". */
static ft_split_part device_part(const plan *p, const ft_record *r) {
    bool is_tested = is_held_out(p, r);
    if (p->is_shared) return is_tested ? FT_PART_TEST : train_or_valid(p, r->graph);
    bool is_test_graph = p->is_marked[r->graph] && uniform(p, r->graph, 'd') < DEVICE_TEST_SHARE;
    if (is_tested) return is_test_graph ? FT_PART_TEST : FT_PART_UNUSED;
    return is_test_graph ? FT_PART_UNUSED : train_or_valid(p, r->graph);
}

static ft_split_part order_part(const plan *p, const ft_record *r) {
    if (strcmp(r->part, p->name) == 0) return FT_PART_TEST;
    if (strcmp(r->part, "train") == 0) return p->has_valid ? FT_PART_TRAIN : train_or_valid(p, r->graph);
    return strcmp(r->part, "valid") == 0 ? FT_PART_VALID : FT_PART_UNUSED;
}

/* Records that only support training (single operators, not models) are never tested. */
static ft_split_part support_part(const plan *p, const ft_record *r) {
    return p->kind == BY_DEVICE && is_held_out(p, r) ? FT_PART_UNUSED : FT_PART_TRAIN;
}

static ft_split_part part_of(const plan *p, const ft_record *r) {
    if (strcmp(r->part, "support") == 0) return support_part(p, r);
    switch (p->kind) {
    case BY_RANDOM:
        return random_part(p, r->graph);
    case BY_DEVICE:
        return device_part(p, r);
    case BY_ORDER:
        return order_part(p, r);
    case BY_FOLD:
    case BY_DEAL:
    case BY_NAME:
        return (ft_split_part)p->fold_parts[r->graph];
    case BY_NOTHING:
        return train_or_valid(p, r->graph);
    default:
        return family_part(p, r);
    }
}

/* --- Held-out graphs --------------------------------------------------------------------------------------------- */

static ft_status mark_held_out(plan *p, ft_error *error) {
    const ft_record *records = ft_dataset_records(p->data);
    bool is_there = false;
    for (uint32_t i = 0; i < ft_dataset_record_count(p->data); i++) {
        if (!is_held_out(p, &records[i])) continue;
        p->is_marked[records[i].graph] = true;
        is_there = true;
    }
    if (is_there) return FT_OK;
    if (p->kind == BY_NETWORK)
        return ft_fail(
            error, FT_ERR_USAGE,
            "no task belongs to a network '%s'; import the logs with 'foretell import ansor --networks TABLE'",
            p->name);
    return p->kind == BY_DEVICE ? dataset_unknown_device(p->data, p->name, error)
                                : dataset_unknown_family(p->data, p->name, error);
}

typedef struct ranked_graph {
    uint64_t number;
    uint32_t graph;
} ranked_graph;

static int compare_ranks(const void *a, const void *b) {
    const ranked_graph *x = a, *y = b;
    return x->number != y->number ? (x->number < y->number ? -1 : 1) : (x->graph > y->graph) - (x->graph < y->graph);
}

/* Chooses the held-out graphs with the smallest random numbers for training. */
static ft_status choose_few_shot(plan *p, ft_error *error) {
    uint32_t graphs = ft_dataset_graph_count(p->data), count = 0;
    ranked_graph *ranked = calloc(graphs > 0 ? graphs : 1, sizeof *ranked);
    if (ranked == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < graphs; i++) {
        if (p->is_marked[i]) ranked[count++] = (ranked_graph){draw(p, i, 'f'), i};
    }
    qsort(ranked, count, sizeof *ranked, compare_ranks);
    bool is_enough = p->shots < (int64_t)count;
    for (int64_t i = 0; is_enough && i < p->shots; i++) p->is_few_shot[ranked[i].graph] = true;
    free(ranked);
    if (is_enough) return FT_OK;
    return ft_fail(error, FT_ERR_USAGE, "'%s' has %u graphs: with %lld in training, none is left for testing", p->name,
                   count, (long long)p->shots);
}

/* --- Making the split -------------------------------------------------------------------------------------------- */

/* Each graph is in one part only: the highest of its records. */
static ft_status keep_graphs_whole(const plan *p, uint8_t *parts, ft_error *error) {
    const ft_record *records = ft_dataset_records(p->data);
    uint32_t count = ft_dataset_record_count(p->data), graphs = ft_dataset_graph_count(p->data);
    uint8_t *last = calloc(graphs > 0 ? graphs : 1, sizeof *last);
    if (last == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < count; i++) {
        if (parts[i] > last[records[i].graph]) last[records[i].graph] = parts[i];
    }
    for (uint32_t i = 0; i < count; i++) {
        if (parts[i] != last[records[i].graph]) parts[i] = FT_PART_UNUSED;
    }
    free(last);
    return FT_OK;
}

/* Shares of a few graphs may leave a part empty by chance. */
static void fill_small_parts(const plan *p, uint8_t *parts) {
    small_split small = {.data = p->data, .is_by_name = p->kind == BY_NAME, .seed = p->seed, .parts = parts};
    if (p->kind != BY_RANDOM && p->kind != BY_NAME && p->kind != BY_NOTHING) return;
    bool is_all = p->kind == BY_NOTHING;
    small.has_part[FT_PART_TRAIN] = is_all || p->shares[0] > 1e-9;
    small.has_part[FT_PART_VALID] = is_all || p->shares[1] > 1e-9;
    small.has_part[FT_PART_TEST] = !is_all && p->shares[0] + p->shares[1] < 1 - 1e-9;
    small_split_fill(&small);
}

/* A sum of hashes: the same records in the same parts have the same hash in any order. */
static ft_status hash_parts(const plan *p, ft_split *split, ft_error *error) {
    const ft_record *records = ft_dataset_records(p->data);
    hash128 sum = {0, 0};
    for (uint32_t i = 0; i < ft_dataset_record_count(p->data); i++) {
        if (split->parts[i] == FT_PART_UNUSED) continue;
        hasher *h = hasher_new();
        if (h == NULL) return FT_NOMEM(error);
        const ft_record *r = &records[i];
        const char *texts[] = {ft_dataset_graph_id(p->data, r->graph), r->name, r->device, r->setting};
        for (size_t j = 0; j < sizeof texts / sizeof texts[0]; j++) hasher_add(h, texts[j], strlen(texts[j]) + 1);
        int64_t numbers[] = {r->batch, (int64_t)r->dtype, (int64_t)r->mode, split->parts[i]};
        for (size_t j = 0; j < sizeof numbers / sizeof numbers[0]; j++) {
            char text[24];
            int length = snprintf(text, sizeof text, "%lld", (long long)numbers[j]);
            hasher_add(h, text, (size_t)length + 1);
        }
        hash128 one = hasher_end(h);
        sum.low += one.low;
        sum.high += one.high;
    }
    hash_text(sum, split->hash);
    return FT_OK;
}

static ft_status check_parts(const plan *p, const ft_split *split, ft_error *error) {
    const char *missing = split->counts[FT_PART_TRAIN] == 0                           ? "train"
                          : split->counts[FT_PART_TEST] == 0 && p->kind != BY_NOTHING ? "test"
                                                                                      : NULL;
    if (missing == NULL) return FT_OK;
    return ft_fail(error, FT_ERR_USAGE, "split '%s' with seed %llu: no record of %u falls into the part '%s'%s",
                   split->spec, (unsigned long long)split->seed, ft_dataset_record_count(p->data), missing,
                   p->kind == BY_ORDER
                       ? ": no record has it in the column 'part'"
                       : ": at least three different models are needed; measure more, or use other percentages");
}

static ft_status assign_parts(plan *p, ft_split *split, ft_error *error) {
    if (p->kind == BY_FAMILY || p->kind == BY_NETWORK || p->kind == BY_DEVICE || p->kind == BY_FEWSHOT)
        FT_TRY(mark_held_out(p, error));
    if (p->kind == BY_FEWSHOT) FT_TRY(choose_few_shot(p, error));
    if (p->kind == BY_FOLD || p->kind == BY_DEAL || p->kind == BY_NAME)
        FT_TRY(fold_parts(p->data, &p->fold, p->seed, p->fold_parts, error));
    const ft_record *records = ft_dataset_records(p->data);
    uint32_t count = ft_dataset_record_count(p->data);
    for (uint32_t i = 0; i < count; i++) p->has_valid = p->has_valid || strcmp(records[i].part, "valid") == 0;
    for (uint32_t i = 0; i < count; i++) split->parts[i] = (uint8_t)part_of(p, &records[i]);
    if (!p->is_shared) FT_TRY(keep_graphs_whole(p, split->parts, error));
    fill_small_parts(p, split->parts);
    for (uint32_t i = 0; i < count; i++) split->counts[split->parts[i]]++;
    FT_TRY(hash_parts(p, split, error));
    return check_parts(p, split, error);
}

ft_status ft_split_make(const ft_dataset *data, const char *spec, uint64_t seed, ft_split *split, ft_error *error) {
    FT_REQUIRE(error, data, spec, split);
    plan p = {.data = data, .seed = seed};
    FT_TRY(parse(spec, &p, error));
    uint32_t records = ft_dataset_record_count(data), graphs = ft_dataset_graph_count(data);
    ft_split made = {.seed = seed};
    snprintf(made.spec, sizeof made.spec, "%s", spec);
    made.parts = calloc((size_t)records + 1, sizeof *made.parts);
    p.is_marked = calloc((size_t)graphs + 1, sizeof *p.is_marked);
    p.is_few_shot = calloc((size_t)graphs + 1, sizeof *p.is_few_shot);
    p.fold_parts = calloc((size_t)graphs + 1, sizeof *p.fold_parts);
    bool has_memory = made.parts != NULL && p.is_marked != NULL && p.is_few_shot != NULL && p.fold_parts != NULL;
    ft_status status = has_memory ? assign_parts(&p, &made, error) : FT_NOMEM(error);
    free(p.is_marked);
    free(p.is_few_shot);
    free(p.fold_parts);
    if (status != FT_OK) {
        ft_split_free(&made);
        return status;
    }
    *split = made;
    return FT_OK;
}

void ft_split_free(ft_split *split) {
    if (split == NULL) return;
    free(split->parts);
    *split = (ft_split){0};
}
