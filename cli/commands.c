/* commands.c - the table of commands, made from the list in commands.h. */
#include "commands.h"

#include <string.h>

const command commands[] = {
#define COMMAND_ROW(id, group, name, summary) {name, group, summary, cmd_##id, &cmd_##id##_options},
    COMMAND_LIST(COMMAND_ROW)
#undef COMMAND_ROW
        {0},
};

const char *command_group_title(command_group group) {
    static const char *const titles[] = {
#define COMMAND_GROUP_TITLE(id, title) [id] = (title),
        COMMAND_GROUP_LIST(COMMAND_GROUP_TITLE)
#undef COMMAND_GROUP_TITLE
    };
    return titles[group];
}

/* Levenshtein distance; names of commands are short. */
static size_t distance(const char *a, const char *b) {
    enum { MAX_COMPARED = 31 };
    size_t rows = strnlen(a, MAX_COMPARED), columns = strnlen(b, MAX_COMPARED), line[MAX_COMPARED + 1];
    for (size_t c = 0; c <= columns; c++) line[c] = c;
    for (size_t r = 1; r <= rows; r++) {
        size_t diagonal = line[0];
        line[0] = r;
        for (size_t c = 1; c <= columns; c++) {
            size_t change = diagonal + (a[r - 1] != b[c - 1]), insert = line[c - 1] + 1, remove = line[c] + 1;
            diagonal = line[c];
            line[c] = change < insert ? change : insert;
            if (remove < line[c]) line[c] = remove;
        }
    }
    return line[columns];
}

const char *command_similar(const char *name, bool is_listed) {
    const char *similar = NULL;
    size_t min = 2 + strlen(name) / 5; /* two mistakes at most in a name of usual length */
    for (const command *c = commands; c->name != NULL; c++) {
        if ((c->group == GROUP_LIST) != is_listed || distance(name, c->name) >= min) continue;
        similar = c->name;
        min = distance(name, similar);
    }
    return similar;
}

const command *command_find(const char *name, bool is_listed) {
    for (const command *c = commands; c->name != NULL; c++)
        if (strcmp(name, c->name) == 0 && (c->group == GROUP_LIST) == is_listed) return c;
    return NULL;
}
