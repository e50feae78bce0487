/* program_pool.c - see program_pool.h. */
#include "predictor/program/program_pool.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"

enum { PLACES = 64 }; /* more than that are freed when they come back */

struct program_pool {
    pthread_mutex_t lock;
    program_scratch *items[PLACES];
    uint32_t count;
};

ft_status program_pool_new(program_pool **pool, ft_error *error) {
    program_pool *made = calloc(1, sizeof *made);
    if (made == NULL) return FT_NOMEM(error);
    pthread_mutex_init(&made->lock, NULL);
    *pool = made;
    return FT_OK;
}

static ft_status scratch_new(program_scratch **scratch, ft_error *error) {
    program_scratch *made = calloc(1, sizeof *made);
    ft_status status = made != NULL ? ft_program_new(&made->program, error) : FT_NOMEM(error);
    if (status == FT_OK)
        *scratch = made;
    else
        free(made);
    return status;
}

static void scratch_free(program_scratch *scratch) {
    ft_program_free(scratch->program);
    free(scratch);
}

void program_pool_free(program_pool *pool) {
    if (pool == NULL) return;
    for (uint32_t i = 0; i < pool->count; i++) scratch_free(pool->items[i]);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

ft_status program_pool_take(program_pool *pool, program_scratch **scratch, ft_error *error) {
    *scratch = NULL;
    pthread_mutex_lock(&pool->lock);
    if (pool->count > 0) *scratch = pool->items[--pool->count];
    pthread_mutex_unlock(&pool->lock);
    return *scratch != NULL ? FT_OK : scratch_new(scratch, error);
}

void program_pool_return(program_pool *pool, program_scratch *scratch) {
    pthread_mutex_lock(&pool->lock);
    bool has_place = pool->count < PLACES;
    if (has_place) pool->items[pool->count++] = scratch;
    pthread_mutex_unlock(&pool->lock);
    if (!has_place) scratch_free(scratch);
}
