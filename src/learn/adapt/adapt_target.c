/* adapt_target.c - see adapt_target.h. */
#include "learn/adapt/adapt_target.h"

#include <string.h>

#include "base/error.h"
#include "data/dataset.h"
#include "data/devices.h"
#include "foretell/device.h"

/* In the box, or beside the records. A device that nobody describes has no sheet. */
static ft_status open_sheet(const ft_dataset *data, adapt_target *t, ft_error *error) {
    FT_TRY(device_open(data->folder, t->name, &t->sheet, error));
    t->runtime = ft_device_runtime(t->sheet);
    return FT_OK;
}

/* Two devices of one name would be mixed up: what the predictor learned of one says nothing of the other. */
static ft_status check_clash(const ft_predictor *from, const adapt_target *t, ft_error *error) {
    const family *f = predictor_family(from);
    uint32_t known = predictor_device_index(from, t->name);
    if (f->optional.rules == NULL || known >= predictor_known_count(from)) return FT_OK;
    const ft_rules *rules = f->optional.rules(predictor_model(from), known);
    if (rules == NULL || strcmp(ft_rules_name(rules), t->runtime) == 0) return FT_OK;
    return ft_fail(error, FT_ERR_UNSUPPORTED,
                   "the names of devices clash: the predictor knows '%s' with the runtime %s, but the data set "
                   "describes one with %s; give one of them another name",
                   t->name, ft_rules_name(rules), t->runtime);
}

static ft_status find_bases(const ft_predictor *from, adapt_target *t, ft_error *error) {
    const family *f = predictor_family(from);
    uint32_t known = predictor_known_count(from), own = predictor_device_index(from, t->name);
    t->is_new = own == FT_NONE || own >= known;
    if (!t->is_new) {
        t->bases[t->base_count++] = own;
        return FT_OK;
    }
    /* A data sheet comes first, but a device that behaves like the new one may tell more of it than numbers do. */
    if (predictor_takes_any_device(from) && ft_device_canonical(t->name) != NULL) t->bases[t->base_count++] = FT_NONE;
    if (f->optional.rules != NULL) FT_TRY(ft_rules_open(t->runtime, &t->rules, error));
    for (uint32_t i = 0; i < known && t->base_count < ADAPT_MOST_BASES; i++) {
        const ft_rules *rules = f->optional.rules != NULL ? f->optional.rules(predictor_model(from), i) : NULL;
        t->has_rules[t->base_count] = rules != NULL && strcmp(ft_rules_name(rules), t->runtime) != 0;
        t->bases[t->base_count++] = i;
    }
    return FT_OK;
}

ft_status adapt_target_open(adapt_target *t, const char *name, const ft_predictor *from, const ft_dataset *data,
                            ft_error *error) {
    t->name = name;
    FT_TRY(open_sheet(data, t, error));
    FT_TRY(check_clash(from, t, error));
    return find_bases(from, t, error);
}

void adapt_target_free(adapt_target *t) {
    ft_device_free(t->sheet);
    ft_rules_free(t->rules);
}
