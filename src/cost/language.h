/* language.h - binding a language model to a run, whatever the names of its lengths. */
#ifndef COST_LANGUAGE_H
#define COST_LANGUAGE_H

#include "foretell/language.h"

/* One sequence of `sequence` tokens behind `past` of them; what else `binding` (may be NULL) sets is kept. */
ft_status language_bind_run(const ft_graph *model, const ft_binding *binding, int64_t sequence, int64_t past,
                            ft_graph **bound, ft_error *error);

#endif
