/* import_operators.h - single operators that nn-Meter measured when it looked for fusion rules. */
#ifndef DATA_IMPORT_OPERATORS_H
#define DATA_IMPORT_OPERATORS_H

#include "data/import.h"

/* Adds a model of one operator for each that the files in `folder` measured, as family "nnmeter-operators". A folder
 * without such files adds nothing. Records get `metric_count` metrics, of which `time` is in microseconds. */
ft_status import_operators(import_job *job, builder *b, const char *folder, uint32_t time, uint32_t metric_count);

#endif
