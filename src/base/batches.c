/* batches.c - one job of the pool for each batch: its first part takes and reads, the others work on an item each. */
#include "base/batches.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

typedef struct batch {
    uint32_t first, count;
    bool is_last;
    ft_status status; /* of reading */
    ft_error error;
} batch;

typedef struct run {
    const batch_steps *steps;
    void *user;
    batch batches[2];
    uint32_t current;
    ft_status taken;
    ft_error error;
} run;

static void read_batch(run *r, batch *b) {
    b->count = 0;
    b->status = r->steps->read(r->user, b->first, &b->count, &b->error);
    assert(b->count <= r->steps->size);
    b->is_last = b->status != FT_OK || b->count < r->steps->size;
}

/* The other batch is taken, and its places get the next items. */
static void do_part(void *user, uint32_t part, uint32_t worker) {
    run *r = user;
    const batch *current = &r->batches[r->current];
    batch *other = &r->batches[!r->current];
    if (part > 0) {
        r->steps->work(r->user, current->first + part - 1, worker);
        return;
    }
    if (other->count > 0) r->taken = r->steps->take(r->user, other->first, other->count, &r->error);
    other->count = 0;
    if (r->taken == FT_OK && !current->is_last) read_batch(r, other);
}

ft_status batches_run(pool *threads, const batch_steps *steps, void *user, ft_error *error) {
    assert(steps->size > 0 && steps->size <= UINT32_MAX / 2);
    run r = {.steps = steps, .user = user, .batches = {{.first = 0}, {.first = steps->size}}};
    read_batch(&r, &r.batches[0]);
    for (;;) {
        const batch *current = &r.batches[r.current];
        pool_run(threads, 1 + current->count, do_part, &r);
        if (r.taken != FT_OK) break;
        r.current = !r.current;
        if (!current->is_last) continue;
        if (current->count > 0) r.taken = steps->take(user, current->first, current->count, &r.error);
        if (r.taken == FT_OK && current->status != FT_OK) {
            r.taken = current->status;
            r.error = current->error;
        }
        break;
    }
    if (r.taken != FT_OK && error != NULL) *error = r.error;
    return r.taken;
}
