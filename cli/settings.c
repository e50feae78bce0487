/* settings.c - see settings.h. */
#include "settings.h"

#include <stdlib.h>
#include <string.h>

#include "cli.h"

void settings_add(void *field, const char *text, const option_row *row, struct argp_state *state) {
    settings *s = field;
    if (strchr(text, '=') == NULL) {
        if (s->path != NULL) argp_error(state, "--%s %s: only one file of settings is possible", row->name, text);
        s->path = text;
        return;
    }
    if (s->count == SETTINGS_MAX) argp_error(state, "--%s: at most %d of them", row->name, SETTINGS_MAX);
    s->items[s->count++] = text;
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
