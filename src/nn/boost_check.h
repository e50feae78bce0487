/* boost_check.h - whether boosting can begin with what it is given. */
#ifndef NN_BOOST_CHECK_H
#define NN_BOOST_CHECK_H

#include "nn/boost.h"

ft_status boost_check(const boost_rows *train, const boost_rows *valid, const boost_options *options,
                      const boost_hooks *hooks, const forest *start, ft_error *error);

/* Whether there is something to score on. */
bool boost_has_score(const boost_rows *valid, const boost_hooks *hooks);

#endif
