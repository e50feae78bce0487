/* settings.c - reading settings by a table, and telling the tables of families. */
#include "predictor/core/settings.h"

#include "predictor/core/config.h"

ft_status settings_take(const json_t *config, const ft_setting *settings, uint32_t count, double *values,
                        ft_error *error) {
    config_list list = {0};
    uint32_t words[CONFIG_CHOICES_MAX], word_count = 0;
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
    FT_TRY(config_take_list(config, &list, error));
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
    return index < family_total ? settings_of(families[index], settings, room) : 0;
}

const char *ft_setting_kind_name(ft_setting_kind kind) {
    static const char *const names[] = {"real", "int", "word"};
    return kind <= FT_SETTING_WORD ? names[kind] : "?";
}
