/* batches.c - --batch: "8", "1,8,32", "1..256". */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "asking.h"

static int64_t parse_one(const char **text) {
    char *end;
    errno = 0;
    if (**text < '0' || **text > '9') return 0;
    long long value = strtoll(*text, &end, 10);
    if (errno != 0 || value > FT_MAX_DIM) return 0;
    *text = end;
    return value;
}

static bool add_batch(asking *a, int64_t batch) {
    for (uint32_t i = 0; i < a->batch_count; i++)
        if (a->batches[i] == batch) return true;
    if (a->batch_count == ASKING_MOST_BATCHES) return false;
    a->batches[a->batch_count++] = batch;
    return true;
}

/* A range doubles from its beginning on, and ends at its end. */
static bool add_range(asking *a, int64_t first, int64_t last) {
    for (int64_t batch = first; batch < last; batch *= 2)
        if (!add_batch(a, batch)) return false;
    return add_batch(a, last);
}

void batches_parse(asking *a, const char *text, struct argp_state *state) {
    const char *at = text;
    for (;;) {
        int64_t first = parse_one(&at), last = first;
        if (first >= 1 && strncmp(at, "..", 2) == 0) {
            at += 2;
            last = parse_one(&at);
        }
        if (first < 1 || last < first || (*at != ',' && *at != '\0'))
            argp_error(state, "--batch %s: want sizes of 1 or more, as 8, 1,8,32 or 1..256", text);
        if (!add_range(a, first, last)) argp_error(state, "--batch %s: at most %d of them", text, ASKING_MOST_BATCHES);
        if (*at == '\0') return;
        at++;
    }
}
