/* program_shelf.c - see program_shelf.h. */
#include "predictor/program_shelf.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"

enum { PLACES = 64 }; /* more than that are freed when they come back */

struct program_shelf {
    pthread_mutex_t lock;
    ft_program *programs[PLACES];
    uint32_t count;
};

ft_status program_shelf_new(program_shelf **shelf, ft_error *error) {
    program_shelf *made = calloc(1, sizeof *made);
    if (made == NULL) return FT_NOMEM(error);
    pthread_mutex_init(&made->lock, NULL);
    *shelf = made;
    return FT_OK;
}

void program_shelf_free(program_shelf *shelf) {
    if (shelf == NULL) return;
    for (uint32_t i = 0; i < shelf->count; i++) ft_program_free(shelf->programs[i]);
    pthread_mutex_destroy(&shelf->lock);
    free(shelf);
}

ft_status program_shelf_take(program_shelf *shelf, ft_program **program, ft_error *error) {
    *program = NULL;
    pthread_mutex_lock(&shelf->lock);
    if (shelf->count > 0) *program = shelf->programs[--shelf->count];
    pthread_mutex_unlock(&shelf->lock);
    return *program != NULL ? FT_OK : ft_program_new(program, error);
}

void program_shelf_return(program_shelf *shelf, ft_program *program) {
    pthread_mutex_lock(&shelf->lock);
    bool has_place = shelf->count < PLACES;
    if (has_place) shelf->programs[shelf->count++] = program;
    pthread_mutex_unlock(&shelf->lock);
    if (!has_place) ft_program_free(program);
}
