/* trained.h - the split that a predictor was trained with. */
#ifndef LEARN_TRAINED_H
#define LEARN_TRAINED_H

#include "foretell/learn.h"

/* ft_predictor_split; `with_adapted`: what it learned from when it was adapted counts as training, too. */
ft_status trained_split(const ft_predictor *predictor, const ft_dataset *data, bool with_adapted, ft_split *split,
                        bool *is_found, ft_error *error);

#endif
