/* settings.c - see settings.h. */
#include "settings.h"

#include <stdlib.h>
#include <string.h>

#include "cli.h"

void settings_parse(settings *s, uint32_t *count, const char *text, struct argp_state *state) {
    if (strchr(text, '=') == NULL) {
        if (s->path != NULL) argp_error(state, "--config %s: only one file of settings is possible", text);
        s->path = text;
        return;
    }
    if (*count == SETTINGS_MAX) argp_error(state, "--config: at most %d of them", SETTINGS_MAX);
    s->items[(*count)++] = text;
}

ft_status settings_read(settings *s) {
    if (s->path == NULL) return FT_OK;
    s->text = cli_read_file(s->path);
    return s->text != NULL ? FT_OK : FT_ERR_IO;
}

void settings_free(settings *s) {
    free(s->text);
    s->text = NULL;
}
