/* gnn_settings.c - settings of graph networks: those shared by all kinds and those of a kind; defaults, JSON, and the
 * table for searches and ablations. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "predictor/gnn/gnn_family.h"
#include "predictor/gnn/gnn_model.h"

/* In the order of the enums. */
static const char *const losses[] = {"mse", "mae", "huber", "relative", "log", "mape", "hybrid"};
static const char *const schedules[] = {"constant", "step", "plateau", "cosine", "one-cycle", "cyclic"};
static const char *const optimizers[] = {"sgd", "adam", "adamw"};

/* Defaults of all kinds; each kind overrides some. */
static gnn_options default_options(void) {
    return (gnn_options){.hidden = 64,
                         .layers = 3,
                         .members = 1,
                         .steps = 3000,
                         .batch = 64,
                         .rate = 0.003,
                         .check = 250,
                         .delta = 0.05,
                         .loss = LOSS_HUBER,
                         .target = LABEL_LOG,
                         .schedule = SCHEDULE_ONE_CYCLE,
                         .optimizer = OPTIM_ADAM};
}

static void add_shared(gnn_options *o, config_list *list) {
    config_add_whole(list, "hidden", 1, GNN_MAX_HIDDEN, &o->hidden);
    config_add_whole(list, "layers", 0, GNN_MAX_LAYERS, &o->layers);
    config_add_whole(list, "members", 1, GNN_MAX_MEMBERS, &o->members);
    config_add_whole(list, "steps", 1, 1e7, &o->steps);
    config_add_whole(list, "batch", 1, 1e5, &o->batch);
    config_add_number(list, "rate", 1e-9, 10, &o->rate);
    config_add_number(list, "dropout", 0, 0.95, &o->dropout);
    config_add_number(list, "weight_decay", 0, 10, &o->weight_decay);
    config_add_number(list, "clip", 0, 1e6, &o->clip);
    config_add_number(list, "average", 0, 0.99999, &o->average);
    config_add_number(list, "level", 0, 0.99, &o->offset_share);
    config_add_number(list, "forget", 0, 0.5, &o->forget);
    config_add_whole(list, "check", 1, 1e6, &o->check);
    config_add_whole(list, "patience", 0, 1e6, &o->patience);
    config_add_whole(list, "keep_best", 0, 1, &o->keep_best);
    config_add_number(list, "delta", 1e-4, 100, &o->delta);
    config_add_choice(list, "loss", losses, LOSS_COUNT, &o->loss);
    config_add_choice(list, "target", label_form_names, LABEL_FORMS, &o->target);
    config_add_choice(list, "schedule", schedules, sizeof schedules / sizeof schedules[0], &o->schedule);
    config_add_choice(list, "optimizer", optimizers, sizeof optimizers / sizeof optimizers[0], &o->optimizer);
}

void gnn_plan_list(const gnn_kind *kind, gnn_plan *plan, config_list *list) {
    *list = (config_list){0};
    add_shared(&plan->shared, list);
    if (kind->keys != NULL) kind->keys(plan->own, list);
}

/* Relative losses need targets that are not shifted. The hybrid loss is mostly squared and used with shifted targets,
 * as in CDMPP. */
static ft_status check_shared(const gnn_options *o, ft_error *error) {
    bool is_relative = o->loss == LOSS_RELATIVE || o->loss == LOSS_MAPE || o->loss == LOSS_LOG;
    if (is_relative && o->target != LABEL_RAW)
        return ft_fail(error, FT_ERR_USAGE, "config: the loss '%s' goes with target=raw", losses[o->loss]);
    return FT_OK;
}

bool gnn_plan_open(const gnn_kind *kind, gnn_plan *plan) {
    *plan = (gnn_plan){.shared = default_options(), .own = calloc(1, kind->own_size + 1)};
    if (plan->own != NULL && kind->defaults != NULL) kind->defaults(&plan->shared, plan->own);
    return plan->own != NULL;
}

ft_status gnn_plan_read(const gnn_kind *kind, const json_t *config, gnn_plan *plan, ft_error *error) {
    config_list list;
    if (!gnn_plan_open(kind, plan)) return FT_NOMEM(error);
    gnn_plan_list(kind, plan, &list);
    ft_status status = config_read_list(config, &list, error);
    if (status == FT_OK) status = check_shared(&plan->shared, error);
    if (status == FT_OK && kind->check != NULL) status = kind->check(&plan->shared, plan->own, error);
    if (status == FT_OK)
        plan->widths = kind->widths(plan->own);
    else
        gnn_plan_free(plan);
    return status;
}

json_t *gnn_plan_write(const gnn_kind *kind, const gnn_plan *plan) {
    config_list list;
    gnn_plan copy = *plan; /* the list points into it, and is only read */
    gnn_plan_list(kind, &copy, &list);
    return config_write_list(&list);
}

void gnn_plan_free(gnn_plan *plan) {
    free(plan->own);
    plan->own = NULL;
}

/* --- Table --------------------------------------------------------------------------------------------------- */

/* Text, search range and ablation value of settings, by name. */
static const ft_setting hints[] = {
    {.name = "hidden", .text = "width of the layers", .is_searched = true, .is_log = true, .from = 32, .to = 256},
    {.name = "layers", .text = "layers of message passing", .is_searched = true, .from = 1, .to = 6},
    {.name = "members", .text = "networks that are averaged", .off = "1"},
    {.name = "steps", .text = "training steps of each network", .is_effort = true},
    {.name = "batch", .text = "models in a step", .is_searched = true, .is_log = true, .from = 16, .to = 256},
    {.name = "rate", .text = "highest learning rate", .is_searched = true, .is_log = true, .from = 3e-4, .to = 0.02},
    {.name = "dropout", .text = "dropout rate", .off = "0"},
    {.name = "weight_decay", .text = "weight decay", .off = "0"},
    {.name = "clip", .text = "maximum norm of the gradient; 0: none", .off = "0"},
    {.name = "average",
     .text = "decay of the moving average of the weights, which is the result; 0: the last weights are",
     .off = "0"},
    {.name = "level", .text = "share of the common offset of labels of one name that training ignores", .off = "0"},
    {.name = "forget", .text = "share of nodes whose kind is hidden in training", .off = "0"},
    {.name = "check", .text = "steps between two validations"},
    {.name = "patience", .text = "validations without improvement before it stops; 0: never", .off = "0"},
    {.name = "keep_best", .text = "1: the result is the best on the validation part", .off = "0"},
    {.name = "delta",
     .text = "where the Huber loss changes from squared to absolute",
     .is_searched = true,
     .is_log = true,
     .from = 0.01,
     .to = 0.3},
    {.name = "loss", .text = "loss function"},
    {.name = "target", .text = "transform of labels"},
    {.name = "schedule", .text = "schedule of the learning rate"},
    {.name = "optimizer", .text = "optimizer"},
    {.name = "columns",
     .text = "an output for each device, or one that depends on the data sheet",
     .off = "\"device\""},
    {.name = "head", .text = "hidden layers after the read-out"},
    {.name = "heads", .text = "heads of attention"},
    {.name = "vectors", .text = "eigenvectors of the positional encoding"},
    {.name = "charge", .text = "charge of the magnetic Laplacian: phase of an edge in turns"},
    {.name = "encoding", .text = "positional encoding of nodes", .off = "\"none\""},
    {.name = "encoding_form", .text = "encoding as features of nodes, or as basis-invariant features of edges"},
    {.name = "layer", .text = "layer of message passing"},
    {.name = "direction", .text = "direction of messages", .off = "\"undirected\""},
    {.name = "readout", .text = "read-out over all nodes", .off = "\"sum\""},
    {.name = "nodes", .text = "nodes: operators, or kernels by fusion rules"},
    {.name = "aggregator", .text = "aggregator of neighbours"},
    {.name = "scaling", .text = "scaling of node features"},
    {.name = "embedding", .text = "width of the embedding of operators"},
    {.name = "inner", .text = "width inside an aggregator; 0: as the layer"},
    {.name = "unit", .text = "1: vectors of nodes are normalised to length 1", .off = "0"},
};

/* Clips the search range to the bounds of the setting, and drops an ablation value that is not one of its words. */
static void fit_hint(ft_setting *s) {
    if (s->kind == FT_SETTING_WORD) {
        bool is_there = false;
        for (uint32_t i = 0; s->off != NULL && i < s->word_count; i++)
            is_there = is_there || (strlen(s->words[i]) + 2 == strlen(s->off) &&
                                    strncmp(s->off + 1, s->words[i], strlen(s->words[i])) == 0);
        if (!is_there) s->off = NULL;
        return;
    }
    if (s->from < s->lo) s->from = s->lo;
    if (s->to > s->hi) s->to = s->hi;
}

static ft_setting hinted(const char *name) {
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++)
        if (strcmp(hints[i].name, name) == 0) return hints[i];
    return (ft_setting){.name = name, .text = "of this kind of network"};
}

static ft_setting number_of(const config_key *key, bool is_whole) {
    ft_setting s = hinted(key->name);
    s.kind = is_whole ? FT_SETTING_INT : FT_SETTING_REAL;
    s.usual = *key->value;
    s.lo = key->lo;
    s.hi = key->hi;
    return s;
}

static ft_setting choice_of(const config_choice *choice) {
    ft_setting s = hinted(choice->name);
    s.kind = FT_SETTING_WORD;
    s.usual = *choice->value;
    s.words = choice->names;
    s.word_count = choice->count;
    return s;
}

static bool is_accepted(const gnn_kind *kind, const gnn_plan *plan, double *setting, double value) {
    ft_error ignored;
    double usual = *setting;
    *setting = value;
    bool accepted = kind->check == NULL || kind->check(&plan->shared, plan->own, &ignored) == FT_OK;
    *setting = usual;
    return accepted;
}

/* Restricts the search range to values that the kind accepts: SeerNet has one layer. */
static void restrict_to_kind(const gnn_kind *kind, const gnn_plan *plan, const config_key *key, ft_setting *s) {
    if (strcmp(s->name, "delta") == 0 && plan->shared.loss != LOSS_HUBER) s->is_searched = false;
    if (!s->is_searched) return;
    while (s->kind == FT_SETTING_INT && s->to > s->from && !is_accepted(kind, plan, key->value, s->to)) s->to--;
    if (s->to <= s->from || !is_accepted(kind, plan, key->value, s->from) ||
        !is_accepted(kind, plan, key->value, s->to))
        s->is_searched = false;
}

uint32_t gnn_settings(const gnn_kind *kind, ft_setting *settings, uint32_t room) {
    gnn_plan plan;
    config_list list;
    if (!gnn_plan_open(kind, &plan)) return 0;
    gnn_plan_list(kind, &plan, &list);
    uint32_t count = list.key_count + list.choice_count;
    assert(count > 0);
    for (uint32_t i = 0; i < count && i < room; i++) {
        settings[i] = i < list.key_count ? number_of(&list.keys[i], list.is_whole[i])
                                         : choice_of(&list.choices[i - list.key_count]);
        fit_hint(&settings[i]);
        if (i < list.key_count) restrict_to_kind(kind, &plan, &list.keys[i], &settings[i]);
    }
    gnn_plan_free(&plan);
    return count;
}
