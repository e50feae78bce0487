/* fuzz_space.c - any bytes as a search space; drawn points stay inside and become settings. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/search/tpe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { POINTS = 12 };

static void draw(const space *s) {
    double points[POINTS][SPACE_MAX_KEYS], next[SPACE_MAX_KEYS];
    const double *seen[POINTS];
    rng random;
    rng_init(&random, 1, 0);
    for (int i = 0; i < POINTS; i++) {
        space_draw(s, &random, points[i]);
        seen[i] = points[i];
    }
    tpe_suggest(s, seen, POINTS - 2, 2, &random, next);
    for (uint32_t k = 0; k < s->count; k++) {
        const space_key *key = &s->keys[k];
        if (isnan(next[k])) continue;
        if (key->kind == SPACE_CHOICE ? next[k] >= key->choice_count : next[k] < key->lo || next[k] > key->hi) abort();
    }
    json_t *config = space_config(s, next, NULL);
    if (config == NULL || json_object_size(config) > s->count) abort();
    json_decref(config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    space s;
    ft_error error;
    if (space_open(&s, &error) != FT_OK) return 0;
    if (space_add_text(&s, (const char *)data, size, &error) == FT_OK && s.count > 0) {
        draw(&s);
        space_remove(&s, s.keys[0].name);
        draw(&s);
    }
    char *spec = strndup((const char *)data, size);
    if (spec != NULL && space_set(&s, spec, &error) == FT_OK) draw(&s);
    free(spec);
    space_free(&s);
    return 0;
}
