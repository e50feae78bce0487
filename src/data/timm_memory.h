/* timm_memory.h - what the rows of one model in the table of memory say together.
 *
 * The table has PyTorch's own account of the tensors (FakeTensor) beside each measurement. It tells two things that the
 * measurement does not: at which size of image it was taken, and when it cannot be one. */
#ifndef DATA_TIMM_MEMORY_H
#define DATA_TIMM_MEMORY_H

#include "data/import.h"

enum { TIMM_MOST_IMPOSSIBLE = 8 };

typedef struct timm_facts {
    double least_batch, least_forward; /* MiB of tensors after forward, at the smallest batch, and at the largest */
    double most_batch, most_forward;
    double impossible[TIMM_MOST_IMPOSSIBLE]; /* peaks below what the tensors alone take */
    uint32_t impossible_count;
    bool is_chosen;
    const char *graph;    /* chosen: the file, or NULL when there is none */
    bool has_other_sizes; /* chosen: there are files, but none of the right size */
} timm_facts;

/* Takes a row in; NaN is what it does not say. */
void timm_facts_note(timm_facts *facts, double batch, double peak_mib, double forward_mib, bool is_suspect);

/* False for a peak below what the tensors take, and for the very same peak at another batch: the training ended before
 * its first step, whatever the batch. */
bool timm_facts_allow(const timm_facts *facts, double peak_mib);

/* The graph of a model at the size of image that it was trained at; NULL when it has none. `folder` holds the files. */
ft_status timm_facts_graph(timm_facts *facts, const char *model, const char *folder, const name_list *graphs,
                           const char **graph, ft_error *error);

#endif
