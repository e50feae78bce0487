/* torch_width.h - widths of the intervals of the torch-sum predictor.
 *
 * Intervals have to hold for architectures that were not measured. So each network is trained without a tenth of the
 * architectures, a different one each, and its errors on those are the errors on new architectures. The average of the
 * networks is a little better than one of them; how much is measured on the validation part. */
#ifndef PREDICTOR_TORCH_WIDTH_H
#define PREDICTOR_TORCH_WIDTH_H

#include "predictor/torch/torch_model.h"

/* The network that each graph of the data set is held out from, to be freed; the index of no network: none. Graphs of
 * the same architecture (the name up to the first dot), or of the same family, go together. NULL with fewer than two
 * networks. */
ft_status torch_leave_out(const fit_set *set, uint32_t members, bool by_family, uint8_t **left_by, ft_error *error);

/* Sets the widths of a trained model before torch_model_finish. `left_by` may be NULL: then the validation part is
 * used. */
ft_status torch_widths_find(const torch_data *data, const uint8_t *left_by, pool *threads, torch_model *m,
                            ft_error *error);

#endif
