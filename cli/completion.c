/* completion.c - completion scripts for bash, zsh and fish, written from the tables of commands and options. */
#include <string.h>

#include "commands.h"

/* --- Options of a command ------------------------------------------------------------------------------------- */

typedef void row_visitor(FILE *stream, const command *c, const option_row *row);

static void visit_rows(FILE *stream, const command *c, const option_row *rows, row_visitor *visit) {
    for (; rows != NULL && rows->help != NULL; rows++)
        if (rows->name != NULL && (c->options->hidden == NULL || strcmp(rows->name, c->options->hidden) != 0))
            visit(stream, c, rows);
}

static void visit_options(FILE *stream, const command *c, row_visitor *visit) {
    visit_rows(stream, c, c->options->rows, visit);
    for (int i = 0; i < OPTION_MAX_PARTS && c->options->parts[i].set != NULL; i++)
        visit_rows(stream, c, c->options->parts[i].set->rows, visit);
}

/* The words a value is completed with; "@files": paths; "": nothing. "@devices" stands for the names of `list devices`.
 */
static const char *choices_of(const option_row *row) {
    static const char *const paths[] = {"FILE", "DIR", "RUN", "CSV", "LIST"};
    if (row->choices != NULL) return row->choices;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        if (strstr(row->value, paths[i]) != NULL) return "@files";
    return "";
}

/* The help text up to its first aside, without characters that a shell would interpret. */
static void print_brief(FILE *stream, const char *help) {
    static const char *const asides[] = {" (", "; ", ": "};
    size_t length = strlen(help);
    for (size_t i = 0; i < sizeof asides / sizeof asides[0]; i++) {
        const char *aside = strstr(help, asides[i]);
        if (aside != NULL && (size_t)(aside - help) < length) length = (size_t)(aside - help);
    }
    for (size_t i = 0; i < length; i++)
        if (strchr("'\"`$\\[]", help[i]) == NULL) fputc(help[i], stream);
}

/* --- bash ------------------------------------------------------------------------------------------------------ */

static void bash_name(FILE *stream, const command *c, const option_row *row) {
    (void)c;
    fprintf(stream, " --%s", row->name);
}

static void bash_value(FILE *stream, const command *c, const option_row *row) {
    (void)c;
    if (row->value == NULL || row->is_value_optional) return;
    fprintf(stream, "        --%s", row->name);
    if (option_letter(row->name) != 0) fprintf(stream, " | -%c", option_letter(row->name));
    fprintf(stream, ") choices='%s' ;;\n", choices_of(row));
}

static void bash_command(FILE *stream, const command *c) {
    fprintf(stream, "    %s%s)\n        options='--help", c->group == GROUP_LIST ? "list-" : "", c->name);
    visit_options(stream, c, bash_name);
    fprintf(stream, "'\n        first='%s'\n        case $2 in\n",
            c->options->first_argument != NULL ? c->options->first_argument : "@files");
    visit_options(stream, c, bash_value);
    fputs("        *) return 1 ;;\n        esac\n        ;;\n", stream);
}

static void print_names(FILE *stream, bool is_listed) {
    for (const command *c = commands; c->name != NULL; c++)
        if ((c->group == GROUP_LIST) == is_listed) fprintf(stream, "%s ", c->name);
}

static void write_bash(FILE *stream) {
    fputs("# Bash completion for foretell, written by 'foretell --completion bash'.\n\n"
          "# Sets `options` and `first` (first argument) of a command; `choices` when the word before wants a value.\n"
          "_foretell_command() { # command, word before\n    case $1 in\n",
          stream);
    for (const command *c = commands; c->name != NULL; c++) bash_command(stream, c);
    fputs("    *) return 1 ;;\n    esac\n}\n\n_foretell() {\n    local names='", stream);
    print_names(stream, false);
    fputs("list help --help --version --completion' listed='", stream);
    print_names(stream, true);
    fputs(
        "--help'\n"
        "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} at=1\n"
        "    local command=${COMP_WORDS[1]} options='' first='' choices=''\n"
        "    COMPREPLY=()\n"
        "    if [ \"$command\" = list ] && [ \"$COMP_CWORD\" -gt 2 ]; then command=list-${COMP_WORDS[2]} at=2; fi\n"
        "    # bash splits --option=value into three words.\n"
        "    if [ \"$current\" = = ]; then current=\n"
        "    elif [ \"$previous\" = = ]; then previous=${COMP_WORDS[COMP_CWORD - 2]}; fi\n"
        "    if [ \"$COMP_CWORD\" = 1 ] || [ \"$command\" = help ]; then choices=$names\n"
        "    elif [ \"$command\" = list ]; then choices=$listed\n"
        "    elif [ \"$command\" = --completion ]; then choices='bash zsh fish'\n"
        "    elif _foretell_command \"$command\" \"$previous\"; then :\n"
        "    elif [[ $current == -* ]]; then choices=$options\n"
        "    elif [ \"$COMP_CWORD\" = $((at + 1)) ]; then choices=$first\n"
        "    else choices=@files; fi\n"
        "    local word words=()\n"
        "    for word in $choices; do\n"
        "        case $word in\n"
        "        @files) ;;\n"
        "        @*) mapfile -t -O \"${#words[@]}\" words < <(\"${COMP_WORDS[0]}\" list \"${word#@}\" --format csv \\\n"
        "            2>/dev/null | tail -n +2 | cut -d, -f1) ;;\n"
        "        *) words+=(\"$word\") ;;\n"
        "        esac\n"
        "    done\n"
        "    mapfile -t COMPREPLY < <(compgen -W \"${words[*]}\" -- \"$current\")\n"
        "    if [[ $choices == *@* ]] && [ \"${#COMPREPLY[@]}\" = 0 ]; then\n"
        "        compopt -o filenames 2>/dev/null\n"
        "        mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
        "    fi\n"
        "}\n\n"
        "complete -F _foretell foretell\n",
        stream);
}

/* --- zsh ------------------------------------------------------------------------------------------------------- */

/* An action of _arguments: words, names of a list, or files. */
static void zsh_action(FILE *stream, const char *choices) {
    const char *list = strchr(choices, '@');
    if (strcmp(choices, "@files") == 0)
        fputs("_files", stream);
    else if (list != NULL)
        fprintf(stream, "_foretell_names %s", list + 1);
    else
        fprintf(stream, "(%s)", choices);
}

static void zsh_option(FILE *stream, const command *c, const option_row *row) {
    (void)c;
    for (int is_letter = 0; is_letter < (option_letter(row->name) != 0 ? 2 : 1); is_letter++) {
        if (is_letter)
            fprintf(stream, "            '*-%c", option_letter(row->name));
        else
            fprintf(stream, "            '*--%s", row->name);
        if (row->value != NULL) fputs(row->is_value_optional ? "=-" : is_letter ? "+" : "=", stream);
        fputc('[', stream);
        print_brief(stream, row->help);
        fputc(']', stream);
        if (row->value != NULL) {
            fprintf(stream, "%svalue:", row->is_value_optional ? "::" : ":");
            zsh_action(stream, choices_of(row));
        }
        fputs("' \\\n", stream);
    }
}

static void zsh_command(FILE *stream, const command *c) {
    fprintf(stream, "    %s%s)\n        _arguments '--help[print the options]' \\\n",
            c->group == GROUP_LIST ? "list-" : "", c->name);
    visit_options(stream, c, zsh_option);
    fputs("            '1:argument:", stream);
    zsh_action(stream, c->options->first_argument != NULL ? c->options->first_argument : "@files");
    fputs("' '*:file:_files'\n        ;;\n", stream);
}

static void zsh_summaries(FILE *stream, const char *array, bool is_listed) {
    fprintf(stream, "    local -a %s\n    %s=(\n", array, array);
    for (const command *c = commands; c->name != NULL; c++)
        if ((c->group == GROUP_LIST) == is_listed) fprintf(stream, "        '%s:%s'\n", c->name, c->summary);
    if (!is_listed) fputs("        'list:list what foretell supports'\n        'help:print the options'\n", stream);
    fputs("    )\n", stream);
}

static void write_zsh(FILE *stream) {
    fputs("#compdef foretell\n"
          "# Zsh completion for foretell, written by 'foretell --completion zsh'.\n\n"
          "_foretell_names() { # list\n"
          "    local -a names\n"
          "    names=(${(f)\"$(foretell list $1 --format csv 2>/dev/null | tail -n +2 | cut -d, -f1)\"})\n"
          "    _alternative \"names:name:($names)\" 'files:file:_files'\n"
          "}\n\n"
          "_foretell() {\n",
          stream);
    zsh_summaries(stream, "names", false);
    zsh_summaries(stream, "listed", true);
    fputs("    if (( CURRENT == 2 )); then\n"
          "        _describe command names\n"
          "        return\n"
          "    fi\n"
          "    local name=$words[2]\n"
          "    if [[ $name == list || $name == help ]] && (( CURRENT == 3 )); then\n"
          "        if [[ $name == list ]]; then _describe list listed; else _describe command names; fi\n"
          "        return\n"
          "    fi\n"
          "    if [[ $name == list ]]; then\n"
          "        name=list-$words[3]\n"
          "        shift words\n"
          "        (( CURRENT-- ))\n"
          "    fi\n"
          "    shift words\n"
          "    (( CURRENT-- ))\n"
          "    case $name in\n",
          stream);
    for (const command *c = commands; c->name != NULL; c++) zsh_command(stream, c);
    fputs("    esac\n}\n\n_foretell \"$@\"\n", stream);
}

/* --- fish ------------------------------------------------------------------------------------------------------ */

static void fish_condition(FILE *stream, const command *c) {
    fprintf(stream, "complete -c foretell -n '__foretell_using %s%s'", c->group == GROUP_LIST ? "list " : "", c->name);
}

/* Words and names of lists, as the argument of -a. */
static void fish_choices(FILE *stream, const char *choices) {
    if (choices[0] == '\0' || strcmp(choices, "@files") == 0) return;
    fputs(" -a '", stream);
    for (const char *at = choices; *at != '\0'; at++) {
        if (*at != '@') {
            fputc(*at, stream);
            continue;
        }
        size_t length = strcspn(at, " ");
        fprintf(stream, "(__foretell_names %.*s)", (int)length - 1, at + 1);
        at += length - 1;
    }
    fputc('\'', stream);
}

static void fish_option(FILE *stream, const command *c, const option_row *row) {
    fish_condition(stream, c);
    fprintf(stream, " -l %s", row->name);
    if (option_letter(row->name) != 0) fprintf(stream, " -s %c", option_letter(row->name));
    if (row->value != NULL && !row->is_value_optional) {
        bool has_files = strchr(choices_of(row), '@') != NULL;
        fputs(has_files ? " -r -F" : " -x", stream);
        fish_choices(stream, choices_of(row));
    }
    fputs(" -d '", stream);
    print_brief(stream, row->help);
    fputs("'\n", stream);
}

static void fish_command(FILE *stream, const command *c) {
    const char *condition = c->group == GROUP_LIST ? "__foretell_using list" : "__fish_use_subcommand";
    fprintf(stream, "\ncomplete -c foretell -n '%s' -f -a %s -d '%s'\n", condition, c->name, c->summary);
    visit_options(stream, c, fish_option);
    if (c->options->first_argument == NULL) return;
    fish_condition(stream, c);
    fish_choices(stream, c->options->first_argument);
    fputc('\n', stream);
}

static void write_fish(FILE *stream) {
    fputs("# Fish completion for foretell, written by 'foretell --completion fish'.\n\n"
          "function __foretell_using # command, or list and its sub-command\n"
          "    set -l words (commandline -opc)\n"
          "    for i in (seq (count $argv))\n"
          "        set -l at (math $i + 1)\n"
          "        test (count $words) -ge $at; and test \"$words[$at]\" = \"$argv[$i]\"; or return 1\n"
          "    end\n"
          "end\n\n"
          "function __foretell_names # list\n"
          "    foretell list $argv[1] --format csv 2>/dev/null | tail -n +2 | cut -d, -f1\n"
          "end\n\n"
          "complete -c foretell -n '__fish_use_subcommand' -f -a list -d 'list what foretell supports'\n"
          "complete -c foretell -n '__fish_use_subcommand' -f -a help -d 'print the options'\n"
          "complete -c foretell -l help -d 'print the options'\n",
          stream);
    for (const command *c = commands; c->name != NULL; c++) fish_command(stream, c);
}

bool completion_write(const char *shell, FILE *stream) {
    if (strcmp(shell, "bash") == 0)
        write_bash(stream);
    else if (strcmp(shell, "zsh") == 0)
        write_zsh(stream);
    else if (strcmp(shell, "fish") == 0)
        write_fish(stream);
    else
        return false;
    return true;
}
