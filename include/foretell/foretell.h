/* foretell.h - the whole public API: includes every header of foretell/.
 *
 * A program that prints what a model costs; forecast.h opens with one that predicts time and memory on a device:
 *
 *     #include <foretell/foretell.h>
 *     #include <stdio.h>
 *
 *     int main(int argc, char **argv) {
 *         ft_error error;
 *         ft_graph *model = NULL, *bound = NULL;
 *         ft_cost cost = {0};
 *         ft_cost_options options = ft_cost_options_default();
 *         ft_status status = ft_graph_read(argc > 1 ? argv[1] : "model.onnx", &model, &error);
 *         if (!status) status = ft_graph_bind(model, &(ft_binding){.batch = 8}, &bound, &error);
 *         if (!status) status = ft_cost_compute(bound, &options, &cost, &error);
 *         if (status) fprintf(stderr, "%s\n", error.message);
 *         else printf("%llu parameters, %llu MACs\n", (unsigned long long)cost.total.params,
 *                     (unsigned long long)cost.total.forward.macs);
 *         ft_cost_free(&cost);
 *         ft_graph_free(bound);
 *         ft_graph_free(model);
 *         return (int)status;
 *     }
 *
 * Build it with: cc example.c $(pkg-config --cflags --libs foretell)
 *
 * Rules that hold everywhere: functions return ft_status and write results only on success; the result of a const
 * getter lives as long as its handle; free functions accept NULL; units are in the names; the library prints
 * nothing and keeps no global state that a caller could see.
 *
 * Wrong arguments never crash: NULL where a pointer is needed, an enumeration or a number out of its range give
 * FT_ERR_USAGE with a message that names the argument. Getters answer NULL, and an index beyond the last, with what an
 * empty object has: 0, false, NULL, "unknown", and NaN or FT_NONE where these stand for "unknown". */
#ifndef FORETELL_FORETELL_H
#define FORETELL_FORETELL_H

#include "foretell/adapt.h"
#include "foretell/catalogue.h"
#include "foretell/command.h"
#include "foretell/cost.h"
#include "foretell/data_report.h"
#include "foretell/dataset.h"
#include "foretell/device.h"
#include "foretell/document.h"
#include "foretell/forecast.h"
#include "foretell/forecast_report.h"
#include "foretell/generate.h"
#include "foretell/graph.h"
#include "foretell/inspect.h"
#include "foretell/kernel.h"
#include "foretell/language.h"
#include "foretell/learn.h"
#include "foretell/measure.h"
#include "foretell/monitor.h"
#include "foretell/outfile.h"
#include "foretell/parallel.h"
#include "foretell/predictor.h"
#include "foretell/program.h"
#include "foretell/replay.h"
#include "foretell/serving.h"
#include "foretell/status.h"
#include "foretell/struct.h"
#include "foretell/target.h"
#include "foretell/trace.h"
#include "foretell/training.h"
#include "foretell/tune.h"

FT_C_BEGIN

#define FT_VERSION_MAJOR 0
#define FT_VERSION_MINOR 1
#define FT_VERSION_PATCH 0

FT_API const char *ft_version_string(void); /* "0.1.0" */

FT_C_END

#endif
