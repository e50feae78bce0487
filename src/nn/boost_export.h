/* boost_export.h - a tree of libxgboost becomes one of ours. */
#ifndef NN_BOOST_EXPORT_H
#define NN_BOOST_EXPORT_H

#include "nn/trees.h"

/* Adds the only tree of a model, given as libxgboost's JSON. Its numbers name floats exactly. */
ft_status boost_export_tree(const char *text, size_t size, forest *f, ft_error *error);

#endif
