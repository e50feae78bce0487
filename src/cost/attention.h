/* attention.h - which scores of attention never reach memory. */
#ifndef COST_ATTENTION_H
#define COST_ATTENTION_H

#include "cost/pattern.h"

/* Marks is_score and is_inner_scale. */
void attention_find(const ft_graph *graph, const param_marks *params, patterns *found);

#endif
