/* settings.h - what --config gives: a file of settings, and single ones beside it. */
#ifndef CLI_SETTINGS_H
#define CLI_SETTINGS_H

#include "foretell/status.h"
#include "options.h"

enum { SETTINGS_MAX = 256 };

typedef struct settings {
    const char *path; /* of the file; NULL: none */
    char *text;       /* its content, once it is read */
    const char *items[SETTINGS_MAX];
    uint32_t count;
} settings;

/* FILE or KEY=VALUE, to settings. */
option_taker settings_add;
/* Reads the file, if there is one, and tells what goes wrong. */
ft_status settings_read(settings *s);
void settings_free(settings *s);

#endif
