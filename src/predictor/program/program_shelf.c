/* program_shelf.c - see program_shelf.h. */
#include "predictor/program/program_shelf.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"

enum { PLACES = 64 }; /* more than that are freed when they come back */

struct program_shelf {
    pthread_mutex_t lock;
    program_desk *desks[PLACES];
    uint32_t count;
};

ft_status program_shelf_new(program_shelf **shelf, ft_error *error) {
    program_shelf *made = calloc(1, sizeof *made);
    if (made == NULL) return FT_NOMEM(error);
    pthread_mutex_init(&made->lock, NULL);
    *shelf = made;
    return FT_OK;
}

static ft_status desk_new(program_desk **desk, ft_error *error) {
    program_desk *made = calloc(1, sizeof *made);
    ft_status status = made != NULL ? ft_program_new(&made->program, error) : FT_NOMEM(error);
    if (status == FT_OK)
        *desk = made;
    else
        free(made);
    return status;
}

static void desk_free(program_desk *desk) {
    ft_program_free(desk->program);
    free(desk);
}

void program_shelf_free(program_shelf *shelf) {
    if (shelf == NULL) return;
    for (uint32_t i = 0; i < shelf->count; i++) desk_free(shelf->desks[i]);
    pthread_mutex_destroy(&shelf->lock);
    free(shelf);
}

ft_status program_shelf_take(program_shelf *shelf, program_desk **desk, ft_error *error) {
    *desk = NULL;
    pthread_mutex_lock(&shelf->lock);
    if (shelf->count > 0) *desk = shelf->desks[--shelf->count];
    pthread_mutex_unlock(&shelf->lock);
    return *desk != NULL ? FT_OK : desk_new(desk, error);
}

void program_shelf_return(program_shelf *shelf, program_desk *desk) {
    pthread_mutex_lock(&shelf->lock);
    bool has_place = shelf->count < PLACES;
    if (has_place) shelf->desks[shelf->count++] = desk;
    pthread_mutex_unlock(&shelf->lock);
    if (!has_place) desk_free(desk);
}
