/* parallel_options.c - options for numbers of ranks. */
#include "parallel_options.h"

static const option_row rows[] = {
    {.help = "Several devices:", .group = 16},
    {"tp", "N", "tensor parallelism: ranks that divide each matrix (1)", 0, COUNT(ft_parallel, tensor, FT_MAX_RANKS)},
    {"pp", "N", "pipeline parallelism: stages that divide the layers (1)", 0,
     COUNT(ft_parallel, pipeline, FT_MAX_RANKS)},
    {"ep", "N", "expert parallelism: ranks that divide the experts, those of --tp first, then of --dp (1)", 0,
     COUNT(ft_parallel, expert, FT_MAX_RANKS)},
    {"cp", "N", "context parallelism: ranks that divide the sequence (1)", 0,
     COUNT(ft_parallel, context, FT_MAX_RANKS)},
    {"dp", "N", "data parallelism: replicas with sequences of their own (1)", 0,
     COUNT(ft_parallel, data, FT_MAX_RANKS)},
    {0},
};

const option_set parallel_option_set = {.rows = rows};
