/* skip.c - what imports and merges left out: counted by reason, named when somebody wants to know. */
#include <string.h>

#include "cli.h"

void skip_note(void *user, const char *where, const char *why) {
    skip_list *list = user;
    if (list->is_verbose) cli_note("skipped: %s: %s", where, why);
    size_t i = 0;
    while (i < list->count && strncmp(list->items[i].text, why, sizeof list->items[i].text - 1) != 0) i++;
    if (i == SKIP_REASONS) i--; /* reasons are few; a surplus counts with the last */
    if (i == list->count) {
        snprintf(list->items[i].text, sizeof list->items[i].text, "%s", why);
        list->count++;
    }
    list->items[i].times++;
}

void skip_summary(const skip_list *list, const char *source) {
    for (size_t i = 0; i < list->count; i++)
        cli_note("%s: skipped %llu: %s", source, (unsigned long long)list->items[i].times, list->items[i].text);
    if (list->count > 0 && !list->is_verbose) cli_note("--verbose names what was skipped");
}
