/* report_model.h - a small model with awkward names, and reports on it as strings, for the tests of report/.
 *
 * Convolution 3x3 (3 to 4 channels) over 8x8, Relu, an unknown operator, Flatten, Gemm to 10. By hand:
 * parameters 4*3*9 + 10*144 = 1548, MACs 4*36*27 + 1440 = 5328. */
#ifndef TESTS_REPORT_MODEL_H
#define TESTS_REPORT_MODEL_H

#include "foretell/inspect.h"

enum { MODEL_PARAMS = 1548, MODEL_MACS = 5328, MODEL_OPS = 5 };

ft_graph *model_new(void);
/* The text of a report with this model `count` times; the caller frees it. */
char *model_report(const ft_inspect_options *options, int count);

#endif
