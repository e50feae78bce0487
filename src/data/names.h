/* names.h - what to say when somebody names what a data set does not have. */
#ifndef DATA_NAMES_H
#define DATA_NAMES_H

#include "foretell/dataset.h"

/* Fails with FT_ERR_USAGE, and tells which families there are. */
ft_status names_no_family(const ft_dataset *data, const char *family, ft_error *error);
/* The same for devices. */
ft_status names_no_device(const ft_dataset *data, const char *device, ft_error *error);

#endif
