/* options.c - tables of options for argp, and parsers of their values. */
#include "options.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum { MAX_ROWS = 64 };

/* Rows of a command and of its parts, beside each other for argp. */
typedef struct parsing {
    const option_set *set;
    char *input;
    struct argp_option list[MAX_ROWS + 2]; /* and -h, and the end */
    const option_row *rows[MAX_ROWS];
    char *inputs[MAX_ROWS];
    uint32_t count;
} parsing;

/* --- Values -------------------------------------------------------------------------------------------------- */

void option_text(void *field, const char *text, const option_row *row, struct argp_state *state) {
    (void)row, (void)state;
    *(const char **)field = text;
}

void option_flag(void *field, const char *text, const option_row *row, struct argp_state *state) {
    (void)text, (void)row, (void)state;
    *(bool *)field = true;
}

void option_u32(void *field, const char *text, const option_row *row, struct argp_state *state) {
    *(uint32_t *)field = (uint32_t)cli_parse_number(state, row->name, text, row->min, row->max);
}

void option_u64(void *field, const char *text, const option_row *row, struct argp_state *state) {
    *(uint64_t *)field = cli_parse_number(state, row->name, text, row->min, row->max);
}

void option_name(void *field, const char *text, const option_row *row, struct argp_state *state) {
    name_list *names = field;
    if (names->count == OPTION_MAX_NAMES) argp_error(state, "--%s: at most %d of them", row->name, OPTION_MAX_NAMES);
    names->items[names->count++] = text;
}

void option_bytes(void *field, const char *text, const option_row *row, struct argp_state *state) {
    *(double *)field = cli_parse_bytes(state, row->name, text);
}

void option_whole_bytes(void *field, const char *text, const option_row *row, struct argp_state *state) {
    *(uint64_t *)field = (uint64_t)cli_parse_bytes(state, row->name, text);
}

void option_positive(void *field, const char *text, const option_row *row, struct argp_state *state) {
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value > 0) || value > 1e18)
        argp_error(state, "--%s: '%s' is no number above 0", row->name, text);
    *(double *)field = value;
}

void option_mode(void *field, const char *text, const option_row *row, struct argp_state *state) {
    if (strcmp(text, "infer") != 0 && strcmp(text, "train") != 0)
        argp_error(state, "--%s %s: expected infer or train", row->name, text);
    *(ft_mode *)field = strcmp(text, "train") == 0 ? FT_TRAIN : FT_INFER;
}

void option_optimizer(void *field, const char *text, const option_row *row, struct argp_state *state) {
    if (!ft_optimizer_parse(text, field))
        argp_error(state,
                   "--%s %s: expected sgd, momentum, adam, adamw, adafactor, lion, muon, adamw-8bit, adamw-paged or "
                   "adamw-8bit-paged",
                   row->name, text);
}

void option_format(void *field, const char *text, const option_row *row, struct argp_state *state) {
    if (!ft_output_parse(text, field)) argp_error(state, "--%s %s: expected table, json or csv", row->name, text);
}

void option_plot(void *field, const char *text, const option_row *row, struct argp_state *state) {
    const char *end = strlen(text) > 4 ? text + strlen(text) - 4 : "";
    if (strcmp(end, ".svg") != 0 && strcmp(end, ".png") != 0)
        argp_error(state, "--%s %s: expected a file that ends in .svg or .png", row->name, text);
    *(const char **)field = text;
}

/* --- --config ------------------------------------------------------------------------------------------------- */

void config_list_add(void *field, const char *text, const option_row *row, struct argp_state *state) {
    config_list *s = field;
    bool is_object = text[strspn(text, " \t\r\n")] == '{'; /* may contain '=' */
    if (is_object || strchr(text, '=') == NULL) {
        if (s->path != NULL)
            argp_error(state, "--%s %s: only one file or object of settings is possible", row->name, text);
        s->path = text;
        s->is_object = is_object;
        return;
    }
    if (s->count == CONFIG_MAX_ITEMS) argp_error(state, "--%s: at most %d of them", row->name, CONFIG_MAX_ITEMS);
    s->items[s->count++] = text;
}

ft_status config_list_read(config_list *s) {
    if (s->path == NULL) return FT_OK;
    s->text = s->is_object ? strdup(s->path) : cli_read_file(s->path);
    if (s->text != NULL) return FT_OK;
    return s->is_object ? cli_fail(FT_ERR_NOMEM, "out of memory") : FT_ERR_IO;
}

void config_list_free(config_list *s) {
    free(s->text);
    s->text = NULL;
}

/* --- Parsing ------------------------------------------------------------------------------------------------- */

int option_letter(const char *name) {
#define FIND_LETTER(letter, option)                                                                                    \
    if (strcmp(name, option) == 0) return letter;
    OPTION_LETTER_LIST(FIND_LETTER)
#undef FIND_LETTER
    return 0;
}

/* Options without a letter get keys above all letters. */
static void add_rows(parsing *p, const option_row *row, char *input) {
    for (; row != NULL && row->help != NULL; row++) {
        assert(p->count < MAX_ROWS);
        int letter = row->name != NULL ? option_letter(row->name) : 0;
        int key = row->name == NULL || letter != 0 ? letter : 256 + (int)p->count;
        int flags = row->is_value_optional ? OPTION_ARG_OPTIONAL : 0;
        if (row->name != NULL && p->set->hidden != NULL && strcmp(row->name, p->set->hidden) == 0)
            flags |= OPTION_HIDDEN;
        p->list[p->count] = (struct argp_option){row->name, key, row->value, flags, row->help, row->group};
        p->rows[p->count] = row;
        p->inputs[p->count++] = input;
    }
}

static void check(const parsing *p, struct argp_state *state) {
    for (int i = OPTION_MAX_PARTS - 1; i >= 0; i--) {
        const option_set *part = p->set->parts[i].set;
        if (part != NULL && part->check != NULL) part->check(p->input + p->set->parts[i].at, state);
    }
    if (p->set->check != NULL) p->set->check(p->input, state);
}

static error_t parse_argument(const parsing *p, char *text, struct argp_state *state) {
    if (p->set->arguments != 0) return ARGP_ERR_UNKNOWN; /* argp then passes all at once */
    const char *refusal = p->set->refusal != NULL ? p->set->refusal : "this command takes only options";
    if (p->set->argument != NULL)
        p->set->argument(p->input, text, state);
    else
        argp_error(state, "'%s': %s", text, refusal);
    return 0;
}

static error_t parse(int key, char *text, struct argp_state *state) {
    const parsing *p = state->input;
    switch (key) {
    case 'h':
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        return 0;
    case ARGP_KEY_ARG:
        return parse_argument(p, text, state);
    case ARGP_KEY_ARGS:
        *(argument_list *)(void *)(p->input + p->set->arguments) =
            (argument_list){state->argv + state->next, (uint32_t)(state->argc - state->next)};
        return 0;
    case ARGP_KEY_END:
        check(p, state);
        return 0;
    default:
        for (uint32_t i = 0; i < p->count; i++) {
            const option_row *row = p->rows[i];
            if (row->name == NULL || p->list[i].key != key) continue;
            row->parse(p->inputs[i] + row->at, text, row, state);
            return 0;
        }
        return ARGP_ERR_UNKNOWN;
    }
}

void options_parse(const option_set *set, int argc, char **argv, void *input) {
    parsing p = {.set = set, .input = input};
    add_rows(&p, set->rows, p.input);
    for (int i = 0; i < OPTION_MAX_PARTS && set->parts[i].set != NULL; i++)
        add_rows(&p, set->parts[i].set->rows, p.input + set->parts[i].at);
    /* -h is common; argp itself has only -?. */
    p.list[p.count] = (struct argp_option){.key = 'h', .flags = OPTION_HIDDEN};
    const struct argp parser = {.options = p.list, .parser = parse, .args_doc = set->args_doc, .doc = set->doc};
    error_t code = argp_parse(&parser, argc, argv, 0, NULL, &p); /* errors of users end the process */
    if (code != 0) exit((int)cli_fail(FT_ERR_NOMEM, "out of memory: %s", strerror(code)));
}
