/* spoken.c - names of devices as drivers and people spell them.
 *
 * "NVIDIA GeForce RTX 4090" and "RTX 4090" are rtx-4090: capitals, what stands between words, and words that only say
 * who made it do not count. All others do, so that a card with another memory, or a laptop's, is not taken for this
 * one. */
#include <ctype.h>
#include <string.h>

#include "base/embedded.h"
#include "device/device.h"

static bool says_who_made_it(const char *word, size_t length) {
    static const char *const words[] = {"nvidia", "geforce", "tesla", "amd", "radeon", "instinct", "intel",
                                        "core",   "r",       "tm",    "cpu", "arm",    "qualcomm"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i]) == length && strncmp(words[i], word, length) == 0) return true;
    return false;
}

/* The words that count, joined, in small letters; "" when there are none or too many. What a processor says behind an @
 * is its clock. */
static void simplify(const char *name, size_t length, char simple[static DEVICE_NAME_BYTES]) {
    size_t kept = 0, word = 0;
    simple[0] = '\0';
    for (size_t i = 0; i <= length; i++) {
        bool is_end = i == length || name[i] == '@';
        if (!is_end && isalnum((unsigned char)name[i])) {
            if (kept == DEVICE_NAME_BYTES - 1) return;
            simple[kept++] = (char)tolower((unsigned char)name[i]);
            continue;
        }
        if (says_who_made_it(simple + word, kept - word)) kept = word;
        word = kept;
        if (is_end) break;
    }
    simple[kept] = '\0';
}

static bool is_spoken(const char *simple, const char *name, size_t length) {
    char other[DEVICE_NAME_BYTES];
    simplify(name, length, other);
    return strcmp(simple, other) == 0;
}

const char *ft_device_spoken(const char *name) {
    char simple[DEVICE_NAME_BYTES];
    simplify(name, strlen(name), simple);
    for (uint32_t i = 0; i < device_builtin_count && simple[0] != '\0'; i++) {
        const embedded_file *file = &device_builtin[i];
        if (is_spoken(simple, file->name, strlen(file->name))) return file->name;
        for (const char *word = file->other_names; *word != '\0';) {
            size_t length = strcspn(word, " ");
            if (is_spoken(simple, word, length)) return file->name;
            word += length + strspn(word + length, " ");
        }
    }
    return NULL;
}
