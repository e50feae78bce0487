/* space.c - points of a search space: drawing them, and converting them to settings. space_parse.c parses spaces. */
#include "learn/search/space.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/error.h"

uint32_t space_find(const space *s, const char *name) {
    for (uint32_t i = 0; i < s->count; i++)
        if (strcmp(s->keys[i].name, name) == 0) return i;
    return FT_NONE;
}

bool space_is_active(const space *s, uint32_t key, const double *values) {
    const space_key *k = &s->keys[key];
    if (k->when == FT_NONE) return true;
    assert(k->when < key);
    double chosen = values[k->when];
    return !isnan(chosen) && (k->when_mask >> (uint32_t)chosen & 1) != 0;
}

/* --- Unit interval ------------------------------------------------------------------------------------------- */

/* The range of a key in the scale that it is drawn in. An integer covers all numbers that round to it, so that the ends
 * are as likely as the rest. */
static void scaled_range(const space_key *k, double *lo, double *hi) {
    double half = k->kind == SPACE_INT ? 0.5 : 0;
    *lo = k->is_log ? log(k->lo - (k->lo > half ? half : 0)) : k->lo - half;
    *hi = k->is_log ? log(k->hi + half) : k->hi + half;
}

double space_to_unit(const space_key *k, double value) {
    double lo, hi;
    scaled_range(k, &lo, &hi);
    double at = k->is_log ? log(value) : value;
    return hi > lo ? fmin(fmax((at - lo) / (hi - lo), 0), 1) : 0;
}

/* Four significant digits: finer differences do not matter to a search, and short numbers are easier to read. */
static double round_to_four_digits(double value) {
    if (fabs(value) < 1e-200 || !isfinite(value)) return value;
    double digits = 3 - floor(log10(fabs(value)));
    double scale = pow(10, fabs(digits));
    return digits >= 0 ? round(value * scale) / scale : round(value / scale) * scale;
}

double space_from_unit(const space_key *k, double unit) {
    double lo, hi;
    scaled_range(k, &lo, &hi);
    double at = lo + unit * (hi - lo), value = k->is_log ? exp(at) : at;
    value = k->kind == SPACE_INT ? round(value) : round_to_four_digits(value);
    return fmin(fmax(value, k->lo), k->hi);
}

double space_draw_key(const space_key *k, rng *random) {
    return k->kind == SPACE_CHOICE ? rng_below(random, k->choice_count) : space_from_unit(k, rng_uniform(random));
}

void space_draw(const space *s, rng *random, double *values) {
    for (uint32_t i = 0; i < s->count; i++)
        values[i] = space_is_active(s, i, values) ? space_draw_key(&s->keys[i], random) : NAN;
}

/* The index of the default among the choices; NaN when it is none of them. */
static double choice_of(const space_key *k, const ft_setting *setting) {
    for (uint32_t i = 0; i < k->choice_count; i++) {
        const json_t *choice = k->choices[i];
        bool is_word = setting->kind == FT_SETTING_WORD && json_is_string(choice);
        if (is_word && strcmp(json_string_value(choice), setting->words[(uint32_t)setting->usual]) == 0) return i;
        if (setting->kind != FT_SETTING_WORD && json_is_number(choice) && json_number_value(choice) == setting->usual)
            return i;
    }
    return NAN;
}

static double default_of(const space_key *k, const ft_setting *setting) {
    if (k->kind == SPACE_CHOICE) return choice_of(k, setting);
    bool is_inside = setting->kind != FT_SETTING_WORD && setting->usual >= k->lo && setting->usual <= k->hi;
    return is_inside ? setting->usual : NAN;
}

void space_defaults(const space *s, const ft_setting *settings, uint32_t count, double *values) {
    for (uint32_t i = 0; i < s->count; i++) {
        values[i] = NAN;
        for (uint32_t k = 0; k < count && space_is_active(s, i, values); k++)
            if (strcmp(settings[k].name, s->keys[i].name) == 0) values[i] = default_of(&s->keys[i], &settings[k]);
    }
}

/* --- Settings ------------------------------------------------------------------------------------------------ */

static json_t *value_json(const space_key *k, double value) {
    assert(k->kind != SPACE_CHOICE || (value >= 0 && value < k->choice_count));
    if (k->kind == SPACE_CHOICE) return json_incref(k->choices[(uint32_t)value]);
    return k->kind == SPACE_INT ? json_integer((json_int_t)value) : json_real(value);
}

json_t *space_config(const space *s, const double *values, const json_t *base) {
    json_t *config = base != NULL ? json_clone_object(base) : json_object();
    for (uint32_t i = 0; i < s->count; i++)
        if (!isnan(values[i])) config = json_with(config, s->keys[i].name, value_json(&s->keys[i], values[i]));
    return config;
}

/* {"kind": ..., "lo": ..., ...} */
static json_t *key_json(const space *s, const space_key *k) {
    static const char *const kinds[] = {"int", "real", "choice"};
    json_t *object = json_pack("{s:s}", "kind", kinds[k->kind]);
    if (k->kind == SPACE_CHOICE) {
        json_t *list = json_array();
        for (uint32_t i = 0; i < k->choice_count; i++) list = json_list_with(list, json_incref(k->choices[i]));
        object = json_with(object, "choices", list);
    } else {
        object = json_with(object, "is_log", json_boolean(k->is_log));
        object = json_with(object, "lo", json_real(k->lo));
        object = json_with(object, "hi", json_real(k->hi));
    }
    if (k->when != FT_NONE) {
        object = json_with(object, "when", json_string(s->keys[k->when].name));
        object = json_with(object, "when_choices", json_integer((json_int_t)k->when_mask));
    }
    return object;
}

json_t *space_json(const space *s) {
    json_t *object = json_object();
    for (uint32_t i = 0; i < s->count; i++) object = json_with(object, s->keys[i].name, key_json(s, &s->keys[i]));
    return object;
}
