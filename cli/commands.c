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

const command *command_find(const char *name, bool is_listed) {
    for (const command *c = commands; c->name != NULL; c++)
        if (strcmp(name, c->name) == 0 && (c->group == GROUP_LIST) == is_listed) return c;
    return NULL;
}
