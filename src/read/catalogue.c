/* catalogue.c - finds bundled models by name. */
#include "read/catalogue.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"

enum { MAX_NAME = 64 };

/* Lower-case letters and digits only: "ResNet-50" is "resnet50". Returns the length. */
static size_t simplify(const char *name, size_t length, char simple[static MAX_NAME]) {
    size_t kept = 0;
    for (size_t i = 0; i < length && kept < MAX_NAME; i++)
        if (isalnum((unsigned char)name[i])) simple[kept++] = (char)tolower((unsigned char)name[i]);
    return kept;
}

static bool is_same(const char *name, size_t length, const char *simple, size_t simple_length) {
    char other[MAX_NAME];
    return simplify(name, length, other) == simple_length && memcmp(other, simple, simple_length) == 0;
}

uint32_t ft_model_find(const char *name) {
    char simple[MAX_NAME];
    if (name == NULL || strchr(name, '/') != NULL) return FT_NONE;
    size_t length = simplify(name, strlen(name), simple);
    for (uint32_t i = 0; i < model_builtin_count && length > 0 && length < MAX_NAME; i++) {
        const char *names[] = {model_builtin[i].name, model_builtin[i].other_names};
        for (size_t k = 0; k < 2; k++) {
            for (const char *word = names[k]; *word != '\0';) {
                size_t word_length = strcspn(word, " ");
                if (word_length > 0 && is_same(word, word_length, simple, length)) return i;
                word += word_length + (word[word_length] == ' ');
            }
        }
    }
    return FT_NONE;
}

static const catalogue_entry *find(const char *name) {
    uint32_t index = ft_model_find(name);
    return index != FT_NONE ? &model_entries[index] : NULL;
}

/* --- Paths ------------------------------------------------------------------------------------------------------- */

/* "net.onnx" is a file name; the dot of "llama-3.2-1b" begins no extension. */
static bool is_file_name(const char *path) {
    const char *dot = strrchr(path, '.');
    return strchr(path, '/') != NULL || strcmp(path, "-") == 0 || (dot != NULL && !isdigit((unsigned char)dot[1]));
}

static bool is_absent(const char *path) {
    struct stat info;
    return stat(path, &info) != 0 && errno == ENOENT;
}

const catalogue_entry *catalogue_find_path(const char *path) {
    return !is_file_name(path) && is_absent(path) ? find(path) : NULL;
}

void catalogue_suggest(const char *path, ft_error *error) {
    ft_error similar;
    if (error == NULL || is_file_name(path) || !is_absent(path)) return;
    embedded_fail(model_builtin, model_builtin_count, "model", "models", path, &similar);
    size_t length = strlen(error->message);
    snprintf(error->message + length, sizeof error->message - length, ", and %s", similar.message);
}

/* --- Public ------------------------------------------------------------------------------------------------------ */

uint32_t ft_model_count(void) {
    return model_builtin_count;
}

const char *ft_model_name(uint32_t index) {
    return index < model_builtin_count ? model_builtin[index].name : NULL;
}

const char *ft_model_text(uint32_t index) {
    return index < model_builtin_count ? model_builtin[index].text : NULL;
}

const char *ft_model_other_names(uint32_t index) {
    return index < model_builtin_count ? model_builtin[index].other_names : NULL;
}

const char *ft_model_family(uint32_t index) {
    return index < model_builtin_count ? model_entries[index].family : NULL;
}

const char *ft_model_symbols(uint32_t index) {
    return index < model_builtin_count ? model_entries[index].symbols : NULL;
}

uint64_t ft_model_params(uint32_t index) {
    return index < model_builtin_count ? model_entries[index].params : 0;
}

ft_status ft_model_read(const char *name, ft_graph **graph, ft_error *error) {
    FT_REQUIRE(error, name, graph);
    const catalogue_entry *entry = find(name);
    if (entry == NULL) return embedded_fail(model_builtin, model_builtin_count, "model", "models", name, error);
    return ft_graph_read_memory(entry->bytes, entry->size, name, graph, error);
}
