/* program_walk.c - see program_walk.h. */
#include "program_walk.h"

#include <stdlib.h>
#include <string.h>

/* Cuts ":17" off; 0: there is no line, and the whole log is meant. */
static ft_status cut_line(char *text, uint64_t *line) {
    char *colon = strrchr(text, ':');
    *line = 0;
    if (colon == NULL || colon[1] == '\0' || strspn(colon + 1, "0123456789") != strlen(colon + 1)) return FT_OK;
    *line = strtoull(colon + 1, NULL, 10);
    if (*line == 0) return cli_fail(FT_ERR_USAGE, "'%s': lines count from 1", text);
    *colon = '\0';
    return FT_OK;
}

/* Errors of a line are printed and counted; those of the file, of memory and of the request end the walk. */
ft_status program_walk_fail(program_walk *w, ft_status status, const ft_error *error) {
    w->bad++;
    output_fail(w->out, status, NULL, error);
    bool ends_it =
        w->is_strict || w->line > 0 || status == FT_ERR_IO || status == FT_ERR_NOMEM || status == FT_ERR_USAGE;
    return ends_it ? status : FT_OK;
}

static ft_status flush(program_walk *w) {
    w->aside = 0;
    return w->flush != NULL ? w->flush(w->user, w) : FT_OK;
}

/* *is_there: the chosen line is a record. */
static ft_status walk(program_walk *w, const char *path, ft_program_log *log, bool *is_there) {
    ft_program_record record = {0};
    ft_error error;
    const uint64_t line = w->line;
    for (uint64_t number = 0;; number++) {
        if (stop_requested()) return FT_ERR_CANCELLED;
        ft_status status = ft_program_log_next(log, &record, &error);
        if (status == FT_OK && record.line == 0) return flush(w);
        /* Damaged lines before the chosen one do not matter. */
        if (status != FT_OK && line > 0 && record.line == 0 && status != FT_ERR_IO && status != FT_ERR_NOMEM) continue;
        w->seen++;
        bool is_mine = line > 0 ? record.line == line : number % w->every == 0;
        if (status == FT_OK && is_mine) status = w->visit(w->user, path, log, &record, &error);
        if (status == FT_OK && is_mine) {
            *is_there = true;
            w->aside++;
        }
        ft_status earlier = status != FT_OK || w->aside == PROGRAM_WALK_ASIDE ? flush(w) : FT_OK;
        if (earlier != FT_OK) return earlier;
        if (status != FT_OK && (status = program_walk_fail(w, status, &error)) != FT_OK) return status;
        if (line > 0 && record.line >= line) return flush(w);
        progress_show(w->seen, 0, path);
    }
}

ft_status program_walk_log(program_walk *w, char *path) {
    ft_program_log *log = NULL;
    ft_error error;
    bool is_there = false;
    ft_status status = cut_line(path, &w->line);
    if (status == FT_OK && (status = ft_program_log_open(path, &log, &error)) != FT_OK)
        cli_fail(status, "%s", error.message);
    if (status == FT_OK) {
        progress_begin(0, w->is_quiet);
        status = walk(w, path, log, &is_there);
        progress_hide();
    }
    if (status == FT_OK && w->line > 0 && !is_there)
        status = cli_fail(FT_ERR_USAGE, "%s has no record on line %llu", path, (unsigned long long)w->line);
    ft_program_log_close(log);
    return status;
}

ft_status program_walk_end(const program_walk *w) {
    if (w->bad == 0) return FT_OK;
    if (!w->is_quiet)
        cli_note("%llu of %llu lines are not programs", (unsigned long long)w->bad, (unsigned long long)w->seen);
    return FT_ERR_PARTIAL;
}
