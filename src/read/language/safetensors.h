/* safetensors.h - reading the headers of safetensors files, for this format and for configurations beside them. */
#ifndef READ_LANGUAGE_SAFETENSORS_H
#define READ_LANGUAGE_SAFETENSORS_H

#include "read/language/weights.h"

/* Adds the weights of one file. */
ft_status safetensors_read(const uint8_t *bytes, size_t size, filecopy *file, weight_list *weights, ft_error *error);
/* Adds those of all files that model.safetensors.index.json names; they are in `folder` (with its slash, or ""). */
ft_status safetensors_read_index(const char *text, size_t size, const char *folder, weight_list *weights,
                                 ft_error *error);
/* Adds the weights of model.safetensors.index.json or model.safetensors in a folder; none when it has neither. */
ft_status safetensors_read_folder(const char *folder, weight_list *weights, ft_error *error);

#endif
