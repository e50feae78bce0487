/* gnn_settings.c - the settings of graph networks as a table: names, bounds and defaults are those of the kind's list,
 * what a search tries and an ablation leaves out is said here, by name, for all kinds. */
#include <string.h>

#include "predictor/gnn/gnn_family.h"
#include "predictor/gnn/gnn_model.h"

/* What is known of a setting by its name. */
static const ft_setting hints[] = {
    {.name = "hidden", .text = "width of the layers", .is_searched = true, .is_log = true, .from = 32, .to = 256},
    {.name = "layers", .text = "of message passing", .is_searched = true, .from = 1, .to = 6},
    {.name = "members", .text = "networks that are averaged", .off = "1"},
    {.name = "steps", .text = "of each network", .is_effort = true},
    {.name = "batch", .text = "models in a step", .is_searched = true, .is_log = true, .from = 16, .to = 256},
    {.name = "rate", .text = "highest learning rate", .is_searched = true, .is_log = true, .from = 3e-4, .to = 0.02},
    {.name = "dropout", .text = "share of units that a step leaves out", .off = "0"},
    {.name = "weight_decay", .text = "how much weights shrink", .off = "0"},
    {.name = "clip", .text = "longest gradient; 0: any", .off = "0"},
    {.name = "average",
     .text = "decay of the moving average of weights that is kept; 0: the last ones are",
     .off = "0"},
    {.name = "level", .text = "share of what all labels of a name are off together that is forgiven", .off = "0"},
    {.name = "forget", .text = "share of the nodes whose kind training hides", .off = "0"},
    {.name = "check", .text = "steps between two looks at the validation part"},
    {.name = "patience", .text = "looks without a better one after which it stops; 0: never", .off = "0"},
    {.name = "keep_best", .text = "1: keeps what was best on the validation part", .off = "0"},
    {.name = "delta",
     .text = "where the Huber loss turns from squares to absolute values",
     .is_searched = true,
     .is_log = true,
     .from = 0.01,
     .to = 0.3},
    {.name = "loss", .text = "what is made small"},
    {.name = "target", .text = "labels as the network sees them"},
    {.name = "schedule", .text = "of the learning rate"},
    {.name = "optimizer", .text = "how steps are taken"},
    {.name = "columns", .text = "an output for each device, or one for what data sheets say", .off = "\"device\""},
    {.name = "head", .text = "hidden layers behind the read-out"},
    {.name = "heads", .text = "of attention"},
    {.name = "vectors", .text = "eigenvectors of the Laplacian that tell where a node stands"},
    {.name = "charge", .text = "of the magnetic Laplacian: what part of a circle an edge turns"},
    {.name = "encoding", .text = "what tells where a node stands", .off = "\"none\""},
    {.name = "encoding_form", .text = "as features of nodes, or of edges that do not depend on the solver"},
    {.name = "layer", .text = "what passes messages"},
    {.name = "direction", .text = "along which edges messages go", .off = "\"undirected\""},
    {.name = "readout", .text = "what is made of all nodes", .off = "\"sum\""},
    {.name = "nodes", .text = "what a node is"},
    {.name = "aggregator", .text = "what a node makes of its neighbours"},
    {.name = "scaling", .text = "of the features of nodes"},
    {.name = "embedding", .text = "width of what stands for the kind of an operator"},
    {.name = "inner", .text = "width inside an aggregator; 0: as the layer"},
    {.name = "unit", .text = "1: rows are brought to length 1 after each layer", .off = "0"},
};

/* Only what the kind can take: a search never leaves its bounds, and what is off has to be one of its words. */
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
    if (s->from >= s->to) s->is_searched = false;
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

static bool can_be(const gnn_kind *kind, const gnn_plan *plan, double *place, double value) {
    ft_error ignored;
    double usual = *place;
    *place = value;
    bool is_taken = kind->check == NULL || kind->check(&plan->shared, plan->own, &ignored) == FT_OK;
    *place = usual;
    return is_taken;
}

/* A kind may take less than the bounds of all: SeerNet has one layer. */
static void keep_to_kind(const gnn_kind *kind, const gnn_plan *plan, const config_key *key, ft_setting *s) {
    if (strcmp(s->name, "delta") == 0 && plan->shared.loss != LOSS_HUBER) s->is_searched = false;
    if (!s->is_searched) return;
    while (s->kind == FT_SETTING_INT && s->to > s->from && !can_be(kind, plan, key->value, s->to)) s->to--;
    if (s->to <= s->from || !can_be(kind, plan, key->value, s->from) || !can_be(kind, plan, key->value, s->to))
        s->is_searched = false;
}

uint32_t gnn_settings(const gnn_kind *kind, ft_setting *settings, uint32_t room) {
    gnn_plan plan;
    config_list list;
    if (!gnn_plan_open(kind, &plan)) return 0;
    gnn_plan_list(kind, &plan, &list);
    uint32_t count = list.key_count + list.choice_count;
    for (uint32_t i = 0; i < count && i < room; i++) {
        settings[i] = i < list.key_count ? number_of(&list.keys[i], list.is_whole[i])
                                         : choice_of(&list.choices[i - list.key_count]);
        fit_hint(&settings[i]);
        if (i < list.key_count) keep_to_kind(kind, &plan, &list.keys[i], &settings[i]);
    }
    gnn_plan_free(&plan);
    return count;
}
