/* settings.c - see settings.h. */
#include "predictor/core/settings.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

/* --- Numbers and choices by name ----------------------------------------------------------------------------- */

static void append(ft_error *error, const char *format, const char *name) {
    if (error == NULL) return;
    size_t length = strlen(error->message);
    snprintf(error->message + length, sizeof error->message - length, format, name);
}

static ft_status fail_unknown(const char *name, const config_list *list, ft_error *error) {
    uint32_t count = list->key_count + list->choice_count;
    ft_fail(error, FT_ERR_USAGE, "config: there is no setting '%s'; there %s", name, count == 0 ? "are none" : "are");
    for (uint32_t i = 0; i < count; i++) {
        append(error, i == 0 ? " %s" : ", %s",
               i < list->key_count ? list->keys[i].name : list->choices[i - list->key_count].name);
    }
    return FT_ERR_USAGE;
}

static ft_status read_choice(const json_t *value, const config_choice *choice, ft_error *error) {
    const char *text;
    FT_TRY(json_read_string(value, &text, error));
    for (uint32_t i = 0; i < choice->count; i++) {
        if (strcmp(choice->names[i], text) != 0) continue;
        *choice->value = i;
        return FT_OK;
    }
    ft_fail(error, FT_ERR_USAGE, "is '%s', but must be one of", text);
    for (uint32_t i = 0; i < choice->count; i++) append(error, i == 0 ? " %s" : ", %s", choice->names[i]);
    return FT_ERR_USAGE;
}

static ft_status read_number(const json_t *value, const config_key *key, bool is_whole, ft_error *error) {
    double number;
    FT_TRY(json_read_number(value, key->lo, key->hi, &number, error));
    if (is_whole && number != floor(number))
        return ft_fail(error, FT_ERR_USAGE, "is %g, but a whole number is expected", number);
    *key->value = number;
    return FT_OK;
}

static ft_status read_value(const char *name, const json_t *value, const config_list *list, ft_error *error) {
    for (uint32_t i = 0; i < list->key_count; i++) {
        if (strcmp(list->keys[i].name, name) == 0) return read_number(value, &list->keys[i], list->is_whole[i], error);
    }
    for (uint32_t i = 0; i < list->choice_count; i++) {
        if (strcmp(list->choices[i].name, name) == 0) return read_choice(value, &list->choices[i], error);
    }
    return FT_ERR_UNSUPPORTED; /* the caller reports it */
}

ft_status config_read_list(const json_t *config, const config_list *list, ft_error *error) {
    const char *name;
    const json_t *value;
    if (config != NULL && !json_is_object(config))
        return ft_fail(error, FT_ERR_USAGE, "config: is %s, but an object is expected", json_kind(config));
    json_object_foreach((json_t *)config, name, value) {
        ft_status status = read_value(name, value, list, error);
        if (status == FT_ERR_UNSUPPORTED) return fail_unknown(name, list, error);
        if (status != FT_OK) return ft_fail_prefix(error, FT_ERR_USAGE, "config: '%s'", name);
    }
    return FT_OK;
}

ft_status config_read(const json_t *config, const config_key *keys, uint32_t count, ft_error *error) {
    config_list list = {.key_count = count};
    assert(count <= CONFIG_MAX_KEYS);
    if (count > 0) memcpy(list.keys, keys, count * sizeof *keys);
    return config_read_list(config, &list, error);
}

/* --- Lists --------------------------------------------------------------------------------------------------- */

void config_add_number(config_list *list, const char *name, double lo, double hi, double *value) {
    assert(list->key_count < CONFIG_MAX_KEYS);
    list->keys[list->key_count++] = (config_key){name, lo, hi, value};
}

void config_add_whole(config_list *list, const char *name, double lo, double hi, double *value) {
    config_add_number(list, name, lo, hi, value);
    list->is_whole[list->key_count - 1] = true;
}

void config_add_choice(config_list *list, const char *name, const char *const *names, uint32_t count, uint32_t *value) {
    assert(list->choice_count < CONFIG_MAX_CHOICES);
    list->choices[list->choice_count++] = (config_choice){name, names, count, value};
}

json_t *config_write_list(const config_list *list) {
    json_t *object = json_object();
    for (uint32_t i = 0; i < list->key_count; i++) {
        const config_key *key = &list->keys[i];
        json_t *value = list->is_whole[i] ? json_integer((json_int_t)*key->value) : json_real(*key->value);
        object = json_with(object, key->name, value);
    }
    for (uint32_t i = 0; i < list->choice_count; i++) {
        const config_choice *choice = &list->choices[i];
        object = json_with(object, choice->name, json_string(choice->names[*choice->value]));
    }
    return object;
}

/* --- Settings of families ------------------------------------------------------------------------------------ */

ft_status settings_parse(const json_t *config, const ft_setting *settings, uint32_t count, double *values,
                         ft_error *error) {
    config_list list = {0};
    uint32_t words[CONFIG_MAX_CHOICES], word_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const ft_setting *s = &settings[i];
        values[i] = s->usual;
        if (s->kind == FT_SETTING_WORD) {
            words[word_count] = (uint32_t)s->usual;
            config_add_choice(&list, s->name, s->words, s->word_count, &words[word_count++]);
        } else if (s->kind == FT_SETTING_INT) {
            config_add_whole(&list, s->name, s->lo, s->hi, &values[i]);
        } else {
            config_add_number(&list, s->name, s->lo, s->hi, &values[i]);
        }
    }
    FT_TRY(config_read_list(config, &list, error));
    word_count = 0;
    for (uint32_t i = 0; i < count; i++)
        if (settings[i].kind == FT_SETTING_WORD) values[i] = words[word_count++];
    return FT_OK;
}

json_t *settings_value(const ft_setting *setting, double value) {
    if (setting->kind == FT_SETTING_WORD) return json_string(setting->words[(uint32_t)value]);
    return setting->kind == FT_SETTING_INT ? json_integer((json_int_t)value) : json_real(value);
}

uint32_t settings_of(const family *f, ft_setting *settings, uint32_t room) {
    if (f->optional.describe != NULL) return f->optional.describe(settings, room);
    for (uint32_t i = 0; i < f->setting_count && i < room; i++) settings[i] = f->settings[i];
    return f->setting_count;
}

uint32_t ft_family_settings(uint32_t index, ft_setting *settings, uint32_t room) {
    if (settings == NULL) room = 0;
    return index < family_total ? settings_of(families[index], settings, room) : 0;
}

const char *ft_setting_kind_name(ft_setting_kind kind) {
    static const char *const names[] = {"real", "int", "word"};
    return kind <= FT_SETTING_WORD ? names[kind] : "?";
}
