/* torch_width.h - how wide the intervals of the torch-sum predictor are.
 *
 * Intervals have to hold for architectures that nobody has measured. So each network is trained without a tenth
 * of the architectures, another one each, and what it says of those tells how far off it is. The average of the
 * networks is a little better than one of them; how much is measured on the validation part. */
#ifndef PREDICTOR_TORCH_WIDTH_H
#define PREDICTOR_TORCH_WIDTH_H

#include "predictor/torch/torch_model.h"

/* The network that each graph of the data set is left out of: `left_by`, to be freed; a number that no network has:
 * none. Graphs of the same architecture (the name up to the first dot), or of the same family of them, go together.
 * NULL with fewer than two networks. */
ft_status torch_leave_out(const fit_set *set, uint32_t members, bool by_family, uint8_t **left_by, ft_error *error);

/* The widths of a model whose networks are trained, and not finished yet. `left_by` may be NULL: then the validation
 * part has to do. */
ft_status torch_widths_find(const torch_data *data, const uint8_t *left_by, pool *threads, torch_model *m,
                            ft_error *error);

#endif
