/* flow.c - flows: adding kernels, dependencies and notes. */
#include "replay/flow.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* --- Building ------------------------------------------------------------------------------------------------ */

ft_status flow_new(const char *name, ft_flow **flow, ft_error *error) {
    ft_flow *f = calloc(1, sizeof *f);
    if (f == NULL) return FT_NOMEM(error);
    arena_init(&f->memory, FT_MAX_GRAPH_BYTES);
    f->name = arena_string(&f->memory, name, strlen(name));
    if (f->name == NULL) {
        ft_flow_free(f);
        return FT_NOMEM(error);
    }
    *flow = f;
    return FT_OK;
}

void ft_flow_free(ft_flow *flow) {
    if (flow == NULL) return;
    arena_free(&flow->memory);
    free(flow);
}

/* A copy of a list with twice the capacity, in the arena; the old copies add up to less than the last. NULL when out of
 * memory. */
static void *grow(arena *memory, const void *list, uint32_t count, uint32_t *capacity, size_t size) {
    uint32_t room = *capacity > 0 ? 2 * *capacity : 64;
    void *copy = arena_array(memory, room, size);
    if (copy == NULL) return NULL;
    if (count > 0) memcpy(copy, list, count * size);
    *capacity = room;
    return copy;
}

ft_status flow_add(ft_flow *flow, const ft_flow_kernel *kernel, const flow_kernel_info *info, uint32_t *index,
                   ft_error *error) {
    if (flow->count == FT_MAX_OPS)
        return ft_fail(error, FT_ERR_LIMIT, "%s: more than %d kernels", flow->name, FT_MAX_OPS);
    if (flow->count == flow->capacity) {
        uint32_t room = flow->capacity;
        ft_flow_kernel *kernels = grow(&flow->memory, flow->kernels, flow->count, &room, sizeof *kernels);
        flow_kernel_info *infos = grow(&flow->memory, flow->infos, flow->count, &flow->capacity, sizeof *infos);
        if (kernels == NULL || infos == NULL) return FT_NOMEM(error);
        flow->kernels = kernels;
        flow->infos = infos;
    }
    assert(flow->count < flow->capacity);
    *index = flow->count++;
    flow->kernels[*index] = *kernel;
    flow->infos[*index] = *info;
    return FT_OK;
}

ft_status flow_add_dependency(ft_flow *flow, uint32_t before, uint32_t after, ft_error *error) {
    assert(before < flow->count && after < flow->count);
    if (flow->link_count == flow->link_capacity) {
        flow_link *links = grow(&flow->memory, flow->links, flow->link_count, &flow->link_capacity, sizeof *links);
        if (links == NULL) return FT_NOMEM(error);
        flow->links = links;
    }
    flow->links[flow->link_count++] = (flow_link){before, after};
    return FT_OK;
}

ft_status flow_note(ft_flow *flow, ft_error *error, const char *format, ...) {
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (flow->note_count == flow->note_capacity) {
        const char **notes = grow(&flow->memory, flow->notes, flow->note_count, &flow->note_capacity, sizeof *notes);
        if (notes == NULL) return FT_NOMEM(error);
        flow->notes = notes;
    }
    char *kept = arena_string(&flow->memory, text, strlen(text));
    if (kept == NULL) return FT_NOMEM(error);
    flow->notes[flow->note_count++] = kept;
    return FT_OK;
}

/* --- Access -------------------------------------------------------------------------------------------------- */

const char *ft_flow_name(const ft_flow *flow) {
    return flow != NULL ? flow->name : NULL;
}

const ft_flow_kernel *ft_flow_kernels(const ft_flow *flow, uint32_t *count) {
    if (count == NULL) return NULL;
    *count = 0;
    if (flow == NULL) return NULL;
    *count = flow->count;
    return flow->kernels;
}

const char *ft_flow_note(const ft_flow *flow, uint32_t index) {
    if (flow == NULL) return NULL;
    return index < flow->note_count ? flow->notes[index] : NULL;
}
