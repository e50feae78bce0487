/* perfseer_label.c - parser of labels and file names of the PerfSeer / GAPP data set (docs/formats/perfseer.md).
 *
 * A label is a Python dict literal, which the data set's own tools pass to eval(); only that form is parsed here. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/input.h"
#include "base/text.h"
#include "read/perfseer.h"

enum { MAX_LABEL_BYTES = 64 * 1024, MAX_BATCH = 1 << 24 };

/* The fields of a label, in the order of the file. Times are per sample. Usage is in MiB, utilisation in percent. */
static const char *const field_names[PERFSEER_FIELDS] = {
    "time_per_sample_ms", "sm_util_average_percent", "memory_util_average_percent",
    "memory_average_mib", "sm_util_peak_percent",    "memory_util_peak_percent",
    "memory_peak_mib",
};

/* --- Labels ------------------------------------------------------------------------------------------------------ */

typedef struct scanner {
    const char *text, *next, *end;
    ft_error *error;
} scanner;

static ft_status unexpected(const scanner *s, const char *expected) {
    return ft_fail(s->error, FT_ERR_DAMAGED, "label, byte %zu: expected %s", (size_t)(s->next - s->text), expected);
}

static void skip_space(scanner *s) {
    assert(s->next <= s->end);
    while (s->next < s->end && strchr(" \t\r\n", *s->next) != NULL && *s->next != '\0') s->next++;
}

static bool skip_char(scanner *s, char c) {
    skip_space(s);
    if (s->next == s->end || *s->next != c) return false;
    s->next++;
    return true;
}

/* A string in single or double quotes, without escapes: neither keys nor numbers need any. */
static ft_status read_string(scanner *s, const char **text, size_t *length) {
    skip_space(s);
    if (s->next == s->end || (*s->next != '\'' && *s->next != '"')) return unexpected(s, "a string in quotes");
    const char *start = s->next + 1, *close = memchr(start, *s->next, (size_t)(s->end - start));
    if (close == NULL) return unexpected(s, "a string with a closing quote");
    *text = start;
    *length = (size_t)(close - start);
    s->next = close + 1;
    return FT_OK;
}

static ft_status parse_fields(const scanner *s, const char *text, size_t length, double *fields) {
    const char *end = text + length;
    for (int i = 0; i < PERFSEER_FIELDS; i++) {
        const char *bar = memchr(text, '|', (size_t)(end - text)), *stop = bar != NULL ? bar : end;
        if ((bar == NULL) != (i == PERFSEER_FIELDS - 1)) return unexpected(s, "seven numbers separated by '|'");
        while (text < stop && *text == ' ') text++;
        size_t size = (size_t)(stop - text);
        while (size > 0 && text[size - 1] == ' ') size--;
        if (!text_double(text, size, &fields[i])) return unexpected(s, "seven numbers separated by '|'");
        text = stop + (bar != NULL);
    }
    return FT_OK;
}

static ft_status parse_entry(scanner *s, perfseer_label *label) {
    const char *key = NULL, *value = NULL;
    size_t key_length = 0, length = 0;
    FT_TRY(read_string(s, &key, &key_length));
    if (!skip_char(s, ':')) return unexpected(s, "':' after a key");
    FT_TRY(read_string(s, &value, &length));
    bool is_train = key_length == 5 && memcmp(key, "train", 5) == 0;
    bool is_infer = key_length == 5 && memcmp(key, "infer", 5) == 0;
    if (is_train) {
        label->has_train = true;
        return parse_fields(s, value, length, label->train);
    }
    if (!is_infer) return unexpected(s, "the key 'train' or 'infer'");
    label->has_infer = true;
    return parse_fields(s, value, length, label->infer);
}

ft_status perfseer_parse_label(const char *text, size_t size, perfseer_label *label, ft_error *error) {
    scanner s = {.text = text, .next = text, .end = text + size, .error = error};
    perfseer_label made = {0};
    if (size > MAX_LABEL_BYTES)
        return ft_fail(error, FT_ERR_LIMIT, "the label has more than %d bytes", MAX_LABEL_BYTES);
    if (!skip_char(&s, '{')) return unexpected(&s, "'{'");
    do {
        skip_space(&s);
        if (s.next < s.end && *s.next == '}') break; /* trailing comma */
        FT_TRY(parse_entry(&s, &made));
    } while (skip_char(&s, ','));
    if (!skip_char(&s, '}')) return unexpected(&s, "',' or '}'");
    skip_space(&s);
    if (s.next != s.end) return unexpected(&s, "nothing after the closing brace");
    if (!made.has_train && !made.has_infer) return unexpected(&s, "a 'train' or an 'infer' entry");
    *label = made;
    return FT_OK;
}

/* --- File names -------------------------------------------------------------------------------------------------- */

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static void parse_styles(const char *list, size_t length, perfseer_name *name) {
    scanner s = {.text = list, .next = list, .end = list + length};
    for (uint32_t i = 0; i < PERFSEER_STAGES; i++) {
        const char *text = NULL;
        size_t size = 0;
        if (read_string(&s, &text, &size) != FT_OK || size >= PERFSEER_STYLE_SIZE) return;
        memcpy(name->styles[i], text, size);
        name->styles[i][size] = '\0';
        bool is_last = i == PERFSEER_STAGES - 1;
        if (!is_last && !skip_char(&s, ',')) return;
    }
    skip_space(&s);
    if (s.next == s.end) name->style_count = PERFSEER_STAGES;
}

void perfseer_parse_name(const char *path, perfseer_name *name) {
    *name = (perfseer_name){0};
    const char *base = base_name(path);
    size_t digits = strncmp(base, "bs", 2) == 0 ? strspn(base + 2, "0123456789") : 0;
    int64_t batch;
    if (digits > 0 && base[2 + digits] == '_' && text_int(base + 2, digits, &batch) && batch > 0 && batch <= MAX_BATCH)
        name->batch = batch;
    const char *styles = strstr(base, "_s["), *close = styles != NULL ? strstr(styles, "]_bnum") : NULL;
    if (close != NULL) parse_styles(styles + 3, (size_t)(close - styles - 3), name);
}

/* --- Meta -------------------------------------------------------------------------------------------------------- */

static ft_status set_number(ft_graph *graph, const char *prefix, const char *name, double value, ft_error *error) {
    char key[64], text[40];
    snprintf(key, sizeof key, "%s%s", prefix, name);
    snprintf(text, sizeof text, "%.17g", value);
    return graph_set_meta(graph, key, text, error);
}

static ft_status add_label(ft_graph *graph, const perfseer_label *label, ft_error *error) {
    for (int i = 0; i < PERFSEER_FIELDS; i++) {
        if (label->has_train) FT_TRY(set_number(graph, "train_", field_names[i], label->train[i], error));
        if (label->has_infer) FT_TRY(set_number(graph, "infer_", field_names[i], label->infer[i], error));
    }
    return FT_OK;
}

/* A text file beside the pickle need not be a label: one that does not begin with '{' is ignored. */
static ft_status read_label(ft_graph *graph, const char *path, ft_error *error) {
    input in;
    FT_TRY(input_open(path, MAX_LABEL_BYTES, &in, error));
    perfseer_label label;
    ft_status status = FT_OK;
    if (in.size > 0 && in.bytes[0] == '{') {
        status = perfseer_parse_label((const char *)in.bytes, in.size, &label, error);
        if (status != FT_OK) ft_fail_prefix(error, status, "%s", path);
        if (status == FT_OK) status = add_label(graph, &label, error);
        if (status == FT_OK) status = graph_set_meta(graph, "label_file", path, error);
    }
    input_close(&in);
    return status;
}

/* The length of the file's name without .gz and its ending. */
static size_t stem_length(const char *base) {
    size_t length = strlen(base);
    if (length > 3 && strcmp(base + length - 3, ".gz") == 0) length -= 3;
    size_t dot = length;
    while (dot > 0 && base[dot] != '.') dot--;
    return dot > 0 ? dot : length;
}

static ft_status find_label(ft_graph *graph, const char *path, ft_error *error) {
    const char *const folders[] = {"", "label/", "../label/", "../../label/label/"};
    const char *base = base_name(path);
    size_t folder = (size_t)(base - path), stem = stem_length(base);
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        char *label = NULL;
        struct stat info;
        if (asprintf(&label, "%.*s%s%.*s.txt", (int)folder, path, folders[i], (int)stem, base) < 0)
            return FT_NOMEM(error);
        bool is_there = stat(label, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0;
        ft_status status = is_there ? read_label(graph, label, error) : FT_OK;
        free(label);
        if (is_there) return status;
    }
    return FT_OK;
}

ft_status perfseer_add_meta(ft_graph *graph, const read_origin *origin, const perfseer_name *name, ft_error *error) {
    if (name->batch > 0) FT_TRY(set_number(graph, "", "batch", (double)name->batch, error));
    if (name->style_count == PERFSEER_STAGES) {
        char styles[PERFSEER_STAGES * (PERFSEER_STYLE_SIZE + 1)];
        snprintf(styles, sizeof styles, "%s,%s,%s,%s", name->styles[0], name->styles[1], name->styles[2],
                 name->styles[3]);
        FT_TRY(graph_set_meta(graph, "stage_styles", styles, error));
    }
    return origin->is_on_disk ? find_label(graph, origin->path, error) : FT_OK;
}
