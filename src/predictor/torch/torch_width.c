/* torch_width.c - held-out architectures, errors on them, and the quantiles of these errors. */
#include "predictor/torch/torch_width.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "predictor/torch/torch_shard.h"

static const double LEVEL = 0.9, SPREAD_LEVEL = 0.95; /* of errors; of disagreements of the networks */
static const double MIN_WIDTH = 0.01;
static const double WIDTH_UNKNOWN = 0.5; /* without held-out or validation labels */
static const double MIN_NARROWING = 0.5;
enum {
    MIN_ROWS = 50,      /* or families: with fewer, a setting has the quantile of its side */
    SHARES = 10,        /* of the architectures; each network holds out one */
    FAMILY_SHARES = 20, /* of the families; smaller, since a missing family hurts more */
};

/* --- Held-out graphs ------------------------------------------------------------------------------------- */

static size_t key_length(const char *key, bool by_family) {
    return by_family ? strlen(key) : strcspn(key, ".");
}

static bool comes_before(const char *a, size_t a_length, const char *b, size_t b_length) {
    int order = memcmp(a, b, a_length < b_length ? a_length : b_length);
    return order != 0 ? order < 0 : a_length < b_length;
}

ft_status torch_leave_out(const fit_set *set, uint32_t members, bool by_family, uint8_t **left_by, ft_error *error) {
    uint32_t graphs = ft_dataset_graph_count(set->data);
    const ft_record *records = ft_dataset_records(set->data);
    *left_by = NULL;
    if (members < 2) return FT_OK;
    uint32_t shares = by_family ? FAMILY_SHARES : SHARES;
    const char **keys = calloc((size_t)graphs + 1, sizeof *keys); /* of each graph: the first in alphabetical order */
    uint8_t *left = calloc((size_t)graphs + 1, sizeof *left);
    for (uint32_t i = 0; keys != NULL && i < set->train.count; i++) {
        const fit_row *row = &set->train.items[i];
        const char *key = by_family ? records[row->record].family : records[row->record].name, *old = keys[row->graph];
        if (old == NULL || comes_before(key, key_length(key, by_family), old, key_length(old, by_family)))
            keys[row->graph] = key;
    }
    for (uint32_t i = 0; keys != NULL && left != NULL && i < graphs; i++)
        if (keys[i] != NULL)
            left[i] = (uint8_t)(hash_bytes(keys[i], key_length(keys[i], by_family)).low %
                                (members > shares ? members : shares));
    bool has_memory = keys != NULL && left != NULL;
    free(keys);
    if (!has_memory) {
        free(left);
        return FT_NOMEM(error);
    }
    *left_by = left;
    return FT_OK;
}

/* --- Errors of the networks ------------------------------------------------------------- */

/* The width that the interval of a label needs. */
typedef struct needed {
    double width, weight;
    uint32_t family;
} needed;

typedef struct width_search {
    const torch_data *data;
    const uint8_t *left_by;
    pool *threads;
    torch_model *m;
    torch_side side;
    float *inputs;
    uint32_t *order;  /* held-out labels of a member */
    float *logs;      /* predictions for them */
    double *errors;   /* per training label: of the network that it is held out from; NaN: none */
    float *predicted; /* members x validation labels */
    double *scores;   /* to sort */
    needed *needs;
    ft_error *error;
} width_search;

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int compare_widths(const void *a, const void *b) {
    return compare(&((const needed *)a)->width, &((const needed *)b)->width);
}

static int compare_families(const void *a, const void *b) {
    uint32_t x = ((const needed *)a)->family, y = ((const needed *)b)->family;
    return (x > y) - (x < y);
}

static double quantile(double *scores, uint32_t count, double level) {
    assert(count > 0);
    qsort(scores, count, sizeof *scores, compare);
    uint32_t rank = (uint32_t)ceil(((double)count + 1) * level - 1e-9);
    return scores[rank < 1 ? 0 : rank <= count ? rank - 1 : count - 1];
}

static bool is_of_side(const width_search *f, const torch_label *label) {
    return torch_label_side(f->data, label) == f->side;
}

static ft_status infer_member(width_search *f, uint32_t member) {
    assert(member < f->m->config.members);
    const torch_labels *train = &f->data->train, *valid = &f->data->valid;
    const torch_net *net = &f->m->nets[f->side * f->m->config.members + member];
    torch_infer *infer;
    FT_TRY(torch_infer_new(f->data, f->inputs, net, f->threads, &infer, f->error));
    uint32_t count = 0;
    for (uint32_t i = 0; f->left_by != NULL && i < train->count; i++)
        if (is_of_side(f, &train->items[i]) && f->left_by[f->data->programs[train->items[i].program].graph] == member)
            f->order[count++] = i;
    ft_status status = torch_infer_labels(infer, train->items, f->order, count, f->logs, f->error);
    for (uint32_t i = 0; status == FT_OK && i < count; i++)
        f->errors[f->order[i]] = fabs((double)f->logs[i] - train->items[f->order[i]].log_us);
    if (status == FT_OK)
        status = torch_infer_labels(infer, valid->items, NULL, valid->count,
                                    f->predicted + (size_t)member * valid->count, f->error);
    torch_infer_free(infer);
    return status;
}

/* Error of the average of the networks on a validation label. */
static double ensemble_error(const width_search *f, uint32_t label) {
    uint32_t members = f->m->config.members, valid = f->data->valid.count;
    double sum = 0;
    for (uint32_t j = 0; j < members; j++) sum += exp((double)f->predicted[(size_t)j * valid + label]) / members;
    return sum > 0 ? fabs(log(sum) - f->data->valid.items[label].log_us) : INFINITY;
}

/* Standard deviation of the networks' predictions for it. */
static double disagreement(const width_search *f, uint32_t label) {
    uint32_t members = f->m->config.members, valid = f->data->valid.count;
    double mean = 0, squares = 0;
    for (uint32_t j = 0; j < members; j++) mean += f->predicted[(size_t)j * valid + label] / (double)members;
    for (uint32_t j = 0; j < members; j++) {
        double off = f->predicted[(size_t)j * valid + label] - mean;
        squares += off * off;
    }
    return members > 1 ? sqrt(squares / (members - 1)) : 0;
}

/* --- Widths -------------------------------------------------------------------------------------------------- */

static bool is_in_setting(const width_search *f, const torch_label *label, uint32_t setting) {
    return is_of_side(f, label) && (setting == FT_NONE || label->setting == setting);
}

/* The width that a validation label needs, before it is widened for disagreement of the networks. */
static double needed_width(const width_search *f, uint32_t label) {
    double typical = f->m->typical_spread[f->side], error = ensemble_error(f, label);
    return typical > 0 ? error / fmax(disagreement(f, label) / typical, 1) : error;
}

/* Ratio of the widths that the average of all networks and a single network need: the average is better, and intervals
 * are widened where networks disagree. By means, since quantiles of a small validation part are unreliable. */
static double narrowing(const width_search *f) {
    const torch_labels *valid = &f->data->valid;
    uint32_t members = f->m->config.members, count = 0;
    double one = 0, all = 0;
    for (uint32_t i = 0; i < valid->count; i++) {
        if (!is_of_side(f, &valid->items[i])) continue;
        for (uint32_t j = 0; j < members; j++)
            one += fabs((double)f->predicted[(size_t)j * valid->count + i] - valid->items[i].log_us) / members;
        all += needed_width(f, i);
        count++;
    }
    if (count < MIN_ROWS) return 1;
    return all >= MIN_NARROWING * one ? fmin(all / one, 1) : MIN_NARROWING; /* also for NaN */
}

/* The need of a label. */
static needed need_of(const width_search *f, const torch_label *label, double width) {
    return (needed){.width = width, .weight = 1, .family = f->m->config.families ? label->family : 0};
}

/* Collects the widths needed in a setting, or (FT_NONE) on the whole side: `ratio` times the errors on held-out labels.
 * The validation part is included where nothing was held out, and where families were, since these are few. */
static uint32_t gather(width_search *f, uint32_t setting, double ratio) {
    uint32_t count = 0;
    const torch_labels *train = &f->data->train, *valid = &f->data->valid;
    for (uint32_t i = 0; f->left_by != NULL && i < train->count; i++)
        if (is_in_setting(f, &train->items[i], setting) && !isnan(f->errors[i]))
            f->needs[count++] = need_of(f, &train->items[i], ratio * f->errors[i]);
    for (uint32_t i = 0; (f->left_by == NULL || f->m->config.families) && i < valid->count; i++)
        if (is_in_setting(f, &valid->items[i], setting))
            f->needs[count++] = need_of(f, &valid->items[i], needed_width(f, i));
    return count;
}

/* Models of one family have correlated errors: with families held out, each family has the same weight, so that a large
 * one does not determine the intervals of all others. Returns the number of families. */
static uint32_t weigh_families(width_search *f, uint32_t count) {
    uint32_t families = 0;
    qsort(f->needs, count, sizeof *f->needs, compare_families);
    for (uint32_t first = 0, end = 0; first < count; first = end, families++) {
        while (end < count && f->needs[end].family == f->needs[first].family) end++;
        for (uint32_t i = first; i < end; i++) f->needs[i].weight = 1.0 / (end - first);
    }
    return families;
}

/* Number of independent items collected: labels, or families. */
static uint32_t independent(width_search *f, uint32_t count) {
    return f->m->config.families ? weigh_families(f, count) : count;
}

/* The LEVEL quantile of the collected widths. */
static double quantile_of_needs(width_search *f, uint32_t count) {
    double sum = 0;
    assert(count > 0);
    for (uint32_t i = 0; i < count; i++) sum += f->needs[i].weight;
    qsort(f->needs, count, sizeof *f->needs, compare_widths);
    double target = LEVEL * (sum + (f->m->config.families ? 0 : 1)) - 1e-9;
    uint32_t last = 0;
    double seen = f->needs[0].weight;
    while (last + 1 < count && seen < target) seen += f->needs[++last].weight;
    return f->needs[last].width;
}

static void set_widths(width_search *f) {
    uint32_t valid = 0;
    for (uint32_t i = 0; i < f->data->valid.count; i++)
        if (is_of_side(f, &f->data->valid.items[i])) f->scores[valid++] = disagreement(f, i);
    f->m->typical_spread[f->side] = valid < MIN_ROWS ? 0 : quantile(f->scores, valid, SPREAD_LEVEL);
    double ratio = f->left_by != NULL ? narrowing(f) : 1;
    uint32_t count = gather(f, FT_NONE, ratio);
    double pooled = independent(f, count) > 0 ? quantile_of_needs(f, count) : WIDTH_UNKNOWN;
    for (uint32_t c = 0; c < f->m->setting_count; c++) {
        if (torch_sheet_side(&f->data->sheets[f->data->settings[c].device]) != f->side) continue;
        count = gather(f, c, ratio);
        double width = independent(f, count) < MIN_ROWS ? pooled : quantile_of_needs(f, count);
        f->m->widths[c] = fmax(width, MIN_WIDTH);
    }
}

static ft_status find_side(width_search *f) {
    const torch_scaling *scaling = &f->m->scaling[f->side];
    for (uint32_t i = 0; i < f->data->kernels.count; i++)
        torch_scaling_apply(scaling, &torch_data_rows(f->data)[i], f->inputs + (size_t)i * TORCH_FEATURES);
    for (uint32_t i = 0; i < f->data->train.count; i++) f->errors[i] = NAN;
    for (uint32_t j = 0; j < f->m->config.members; j++) FT_TRY(infer_member(f, j));
    set_widths(f);
    return FT_OK;
}

ft_status torch_widths_find(const torch_data *data, const uint8_t *left_by, pool *threads, torch_model *m,
                            ft_error *error) {
    size_t train = data->train.count, predicted = (size_t)data->valid.count * m->config.members;
    width_search f = {.data = data, .left_by = left_by, .threads = threads, .m = m, .error = error};
    f.inputs = malloc(((size_t)data->kernels.count * TORCH_FEATURES + 1) * sizeof *f.inputs);
    f.order = malloc((train + 1) * sizeof *f.order);
    f.logs = malloc((train + 1) * sizeof *f.logs);
    f.errors = malloc((train + 1) * sizeof *f.errors);
    f.predicted = malloc((predicted + 1) * sizeof *f.predicted);
    f.scores = malloc((train + predicted + 1) * sizeof *f.scores);
    f.needs = malloc((train + data->valid.count + 1) * sizeof *f.needs);
    m->widths = calloc((size_t)m->setting_count + 1, sizeof *m->widths);
    bool has_memory = f.inputs != NULL && f.order != NULL && f.logs != NULL && f.errors != NULL &&
                      f.predicted != NULL && f.scores != NULL && f.needs != NULL && m->widths != NULL;
    ft_status status = has_memory ? FT_OK : FT_NOMEM(error);
    for (uint32_t side = 0; status == FT_OK && side < TORCH_SIDES; side++) {
        f.side = (torch_side)side;
        status = find_side(&f);
    }
    free(f.inputs);
    free(f.order);
    free(f.logs);
    free(f.errors);
    free(f.predicted);
    free(f.scores);
    free(f.needs);
    return status;
}
