/* engines.c - parsing engine specifications, and choosing the engine of a kernel. */
#include "replay/schedule.h"

#include <ctype.h>
#include <fnmatch.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

/* Names that runtimes have for kernels that only move data. */
static const char *const copy_kinds[] = {"copy",   "memcpy", "concat", "concatenate",  "split",       "slice",
                                         "pad",    "gather", "tile",   "transpose",    "cast",        "reshape",
                                         "resize", "stack",  "expand", "depthtospace", "spacetodepth"};

/* --- Matching ------------------------------------------------------------------------------------------------- */

/* The type itself, or a word of it, matches the kind. Types of 256 characters or more are matched as a whole only. */
static bool kind_matches(const char *kind, const char *type) {
    char words[256];
    size_t length = strlen(type);
    if (fnmatch(kind, type, FNM_CASEFOLD) == 0) return true;
    if (length >= sizeof words) return false;
    memcpy(words, type, length + 1);
    for (size_t begin = 0, end; begin < length; begin = end + 1) {
        for (end = begin; isalnum((unsigned char)words[end]); end++) {
        }
        words[end] = '\0';
        if (end > begin && fnmatch(kind, words + begin, FNM_CASEFOLD) == 0) return true;
    }
    return false;
}

static bool engine_matches(const engine *e, const char *type) {
    for (uint32_t i = 0; i < e->kind_count; i++)
        if (strcmp(e->kinds[i], "*") != 0 && kind_matches(e->kinds[i], type)) return true;
    return false;
}

static bool engine_runs_all(const engine *e) {
    for (uint32_t i = 0; i < e->kind_count; i++)
        if (strcmp(e->kinds[i], "*") == 0) return true;
    return e->kind_count == 0;
}

uint32_t engines_find(const engine_list *list, const char *name_wanted, const char *type) {
    for (uint32_t i = 0; name_wanted != NULL && i < list->count; i++)
        if (strcmp(list->items[i].name, name_wanted) == 0) return i;
    if (name_wanted != NULL) return FT_NONE;
    for (uint32_t i = 0; i < list->count; i++)
        if (engine_matches(&list->items[i], type)) return i;
    for (uint32_t i = 0; i < list->count; i++)
        if (engine_runs_all(&list->items[i])) return i;
    return FT_NONE;
}

/* --- Reading -------------------------------------------------------------------------------------------------- */

typedef struct spec_reader {
    const char *spec, *at;
    arena *memory;
    engine_list *list;
    ft_error *error;
} spec_reader;

static ft_status spec_fail(const spec_reader *r, const char *why, const char *word, size_t length) {
    return ft_fail(r->error, FT_ERR_USAGE,
                   "engines '%s': %s '%.*s'; expected NAME:LANES or NAME:KIND,KIND separated by ';'", r->spec, why,
                   (int)(length < 64 ? length : 64), word);
}

static bool is_number(const char *word, size_t length) {
    return length > 0 && strspn(word, "0123456789") >= length;
}

static ft_status set_lanes(spec_reader *r, engine *e, const char *word, size_t length) {
    int64_t lanes;
    if (!text_int(word, length, &lanes) || lanes < 1 || lanes > FT_REPLAY_MAX_LANES)
        return spec_fail(r, "lanes must be from 1 to 1024, not", word, length);
    e->lanes = (uint32_t)lanes;
    return FT_OK;
}

static ft_status add_kind(spec_reader *r, engine *e, const char *word, size_t length) {
    const char **kinds = ARENA_ARRAY(r->memory, const char *, (size_t)e->kind_count + 1);
    char *kind = arena_string(r->memory, word, length);
    if (kinds == NULL || kind == NULL) return FT_NOMEM(r->error);
    if (length == 0) return spec_fail(r, "an empty kind after", e->name, strlen(e->name));
    for (uint32_t i = 0; i < e->kind_count; i++) kinds[i] = e->kinds[i];
    kinds[e->kind_count++] = kind;
    e->kinds = kinds;
    return FT_OK;
}

static ft_status begin_engine(spec_reader *r, const char *name, size_t length, engine **begun) {
    engine_list *list = r->list;
    if (length == 0 || strcspn(name, "* ") < length) return spec_fail(r, "not a name of an engine:", name, length);
    if (list->count == FT_REPLAY_MAX_ENGINES)
        return ft_fail(r->error, FT_ERR_USAGE, "engines '%s': more than %d", r->spec, FT_REPLAY_MAX_ENGINES);
    for (uint32_t i = 0; i < list->count; i++)
        if (strlen(list->items[i].name) == length && strncmp(list->items[i].name, name, length) == 0)
            return spec_fail(r, "two engines are called", name, length);
    engine *e = &list->items[list->count];
    *e = (engine){.name = arena_string(r->memory, name, length), .lanes = 1};
    if (e->name == NULL) return FT_NOMEM(r->error);
    list->count++;
    *begun = e;
    return FT_OK;
}

/* "mme:2:conv" of "mme:2:conv,matmul;...": a name, then lanes and the first kind. */
static ft_status read_engine(spec_reader *r, const char *item, size_t length, engine **begun) {
    size_t name = strcspn(item, ":,;");
    FT_TRY(begin_engine(r, item, name, begun));
    if (name >= length) return FT_OK;
    const char *rest = item + name + 1;
    size_t size = length - name - 1, word = strcspn(rest, ":,;");
    if (!is_number(rest, word)) return add_kind(r, *begun, rest, size);
    FT_TRY(set_lanes(r, *begun, rest, word));
    return word < size ? add_kind(r, *begun, rest + word + 1, size - word - 1) : FT_OK;
}

static ft_status read_spec(spec_reader *r) {
    engine *last = NULL;
    char before = ';';
    while (true) {
        size_t length = strcspn(r->at, ",;");
        bool is_kind = last != NULL && before == ',' && memchr(r->at, ':', length) == NULL && last->kind_count > 0;
        FT_TRY(is_kind ? add_kind(r, last, r->at, length) : read_engine(r, r->at, length, &last));
        before = r->at[length];
        if (before == '\0') return FT_OK;
        r->at += length + 1;
    }
}

/* A second engine that runs everything would never get a kernel. */
static ft_status check_kinds(const spec_reader *r) {
    const engine *all = NULL;
    for (uint32_t i = 0; i < r->list->count; i++) {
        engine *e = &r->list->items[i];
        if (e->kind_count == 0 && strcmp(e->name, "copy") == 0 && r->list->count > 1) {
            e->kinds = copy_kinds;
            e->kind_count = sizeof copy_kinds / sizeof copy_kinds[0];
        }
        if (!engine_runs_all(e)) continue;
        if (all != NULL)
            return ft_fail(
                r->error, FT_ERR_USAGE,
                "engines '%s': both '%s' and '%s' run everything; list the kinds of one of them, as %s:conv,fc",
                r->spec, all->name, e->name, e->name);
        all = e;
    }
    return FT_OK;
}

/* --- Gaps ----------------------------------------------------------------------------------------------------- */

static ft_status gap_fail(const spec_reader *r, const char *gaps) {
    return ft_fail(r->error, FT_ERR_USAGE,
                   "gap '%s': expected microseconds, or ENGINE=MICROSECONDS,... of engines in '%s'", gaps, r->spec);
}

static ft_status read_gaps(const spec_reader *r, const char *gaps) {
    const char *at = gaps;
    while (at[0] != '\0') {
        size_t length = strcspn(at, ","), name = strcspn(at, "=,");
        bool is_named = at[name] == '=', is_used = false;
        const char *number = is_named ? at + name + 1 : at;
        double gap;
        if (!text_double(number, length - (size_t)(number - at), &gap) || !(gap >= 0 && gap <= 1e9))
            return gap_fail(r, gaps);
        for (uint32_t i = 0; i < r->list->count; i++) {
            engine *e = &r->list->items[i];
            if (is_named && (strlen(e->name) != name || strncmp(e->name, at, name) != 0)) continue;
            e->gap_us = gap;
            is_used = true;
        }
        if (!is_used) return gap_fail(r, gaps);
        at += length;
        if (at[0] == ',') at++;
    }
    return FT_OK;
}

ft_status engines_parse(const char *spec, const char *gaps, arena *memory, engine_list *list, ft_error *error) {
    spec_reader r = {.spec = spec, .at = spec, .memory = memory, .list = list, .error = error};
    list->count = 0;
    FT_TRY(read_spec(&r));
    FT_TRY(check_kinds(&r));
    return gaps != NULL ? read_gaps(&r, gaps) : FT_OK;
}
