/* embedded.c - finds embedded files by name, and suggests similar names for an unknown one. */
#include "base/embedded.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/yaml.h"

static bool has_word(const char *words, const char *word) {
    size_t length = strlen(word);
    if (length == 0 || strchr(word, ' ') != NULL) return false;
    for (const char *at = words; (at = strstr(at, word)) != NULL; at++) {
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) return true;
    }
    return false;
}

const embedded_file *embedded_find(const embedded_file *files, uint32_t count, const char *name) {
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(files[i].name, name) == 0 || has_word(files[i].other_names, name)) return &files[i];
    }
    return NULL;
}

/* --- Similar names -------------------------------------------------------------------------------------------- */

enum { MAX_LISTED = 8, MAX_SUGGESTED = 3, NAME_MAX_COMPARED = 63, MIN_WORD = 3 };

/* Lower-case letters and digits only, so that case and separators do not matter. */
static size_t simplify(const char *name, size_t length, char simple[static NAME_MAX_COMPARED]) {
    size_t kept = 0;
    for (size_t i = 0; i < length && kept < NAME_MAX_COMPARED; i++)
        if (isalnum((unsigned char)name[i])) simple[kept++] = (char)tolower((unsigned char)name[i]);
    return kept;
}

/* Levenshtein distance of two simplified names. */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length) {
    char x[NAME_MAX_COMPARED], y[NAME_MAX_COMPARED];
    size_t rows = simplify(a, a_length, x), columns = simplify(b, b_length, y), line[NAME_MAX_COMPARED + 1];
    for (size_t c = 0; c <= columns; c++) line[c] = c;
    for (size_t r = 1; r <= rows; r++) {
        size_t diagonal = line[0];
        line[0] = r;
        for (size_t c = 1; c <= columns; c++) {
            size_t change = diagonal + (x[r - 1] != y[c - 1]), insert = line[c - 1] + 1, remove = line[c] + 1;
            diagonal = line[c];
            line[c] = change < insert ? change : insert;
            if (remove < line[c]) line[c] = remove;
        }
    }
    return line[columns];
}

/* The smallest distance over all names of a file. */
static size_t distance_to(const embedded_file *file, const char *name) {
    size_t length = strlen(name), min = distance(name, length, file->name, strlen(file->name));
    for (const char *word = file->other_names; *word != '\0';) {
        size_t word_length = strcspn(word, " "), found = distance(name, length, word, word_length);
        if (word_length > 0 && found < min) min = found;
        word += word_length + strspn(word + word_length, " ");
    }
    return min;
}

static void add_text(ft_error *error, const char *text) {
    size_t length = strlen(error->message);
    snprintf(error->message + length, sizeof error->message - length, "%s", text);
}

static void add_name(ft_error *error, bool is_first, const char *name) {
    size_t length = strlen(error->message);
    snprintf(error->message + length, sizeof error->message - length, "%s %s", is_first ? "" : ",", name);
}

/* Whether a word says something about a device: "i9" and "adreno" do, "gpu" and "my" do not. */
static bool is_telling(const char *word, size_t length) {
    static const char *const kinds[] = {"gpu", "cpu", "npu", "vpu", "gen", "max", "pro"};
    bool has_letter = false, has_digit = false;
    for (size_t i = 0; i < length; i++) {
        has_letter = has_letter || isalpha((unsigned char)word[i]);
        has_digit = has_digit || isdigit((unsigned char)word[i]);
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strlen(kinds[i]) == length && strncasecmp(kinds[i], word, length) == 0) return false;
    return has_letter && (length >= MIN_WORD || (length == MIN_WORD - 1 && has_digit));
}

/* Whether a telling word of `text` is one of the names of a file, or begins a longer one: "ethos-u85" and
 * ethos-u55-128. */
static bool shares_word(const embedded_file *file, const char *text) {
    const char *const names[] = {file->name, file->other_names};
    for (size_t length; *text != '\0'; text += length + (text[length] != '\0')) {
        for (length = 0; isalnum((unsigned char)text[length]);) length++;
        for (size_t i = 0; is_telling(text, length) && i < 2; i++) {
            for (const char *at = names[i]; *at != '\0'; at++) {
                bool is_start = at == names[i] || !isalnum((unsigned char)at[-1]);
                if (is_start && strncasecmp(at, text, length) == 0) return true;
            }
        }
    }
    return false;
}

/* The most similar first, and none that differ in more than about a quarter of the letters (one of two to five, two of
 * six to nine); equally similar ones in the order of the table. When there are none, those that share a word. */
static void add_similar(const embedded_file *files, uint32_t count, const char *name, ft_error *error) {
    char simple[NAME_MAX_COMPARED];
    size_t added = 0, max_distance = (simplify(name, strlen(name), simple) + 2) / 4;
    for (size_t d = 0; d <= max_distance; d++) {
        for (uint32_t i = 0; i < count && added < MAX_SUGGESTED; i++) {
            if (distance_to(&files[i], name) != d) continue;
            if (added == 0) add_text(error, "; similar names are");
            add_name(error, added++ == 0, files[i].name);
        }
    }
    bool is_near = added > 0;
    for (uint32_t i = 0; !is_near && i < count && added < MAX_SUGGESTED; i++) {
        if (!shares_word(&files[i], name)) continue;
        if (added == 0) add_text(error, "; similar names are");
        add_name(error, added++ == 0, files[i].name);
    }
    if (added == 0) add_text(error, " and no similar name");
}

ft_status embedded_fail(const embedded_file *files, uint32_t count, const char *what, const char *command,
                        const char *name, ft_error *error) {
    bool has_many = count > MAX_LISTED;
    ft_fail(error, FT_ERR_USAGE, "there is no %s '%.64s'%s", what, name, has_many ? "" : "; choose one of");
    if (error == NULL) return FT_ERR_USAGE;
    for (uint32_t i = 0; !has_many && i < count; i++) add_name(error, i == 0, files[i].name);
    if (!has_many) return FT_ERR_USAGE;
    add_similar(files, count, name, error);
    size_t length = strlen(error->message);
    snprintf(error->message + length, sizeof error->message - length, "; 'foretell list %s' lists all %u", command,
             count);
    return FT_ERR_USAGE;
}

bool embedded_is_path(const char *name) {
    return strchr(name, '/') != NULL || config_is_file_name(name);
}
