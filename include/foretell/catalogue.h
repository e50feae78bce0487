/* catalogue.h - bundled models: graphs and configurations of well-known architectures by name, without weights.
 *
 *     ft_graph *model;
 *     if (!ft_model_read("resnet50", &model, &error)) ...
 *
 * ft_source_open and ft_graph_read take their names too where there is no file of that name: a path always wins. Case
 * and separators of names do not matter ("ResNet-50"). */
#ifndef FORETELL_CATALOGUE_H
#define FORETELL_CATALOGUE_H

#include "foretell/graph.h"
#include "foretell/inspect.h"

FT_C_BEGIN

FT_API uint32_t ft_model_count(void);
FT_API const char *ft_model_name(uint32_t index);        /* "resnet50"; NULL beyond the last */
FT_API const char *ft_model_text(uint32_t index);        /* one line of description */
FT_API const char *ft_model_family(uint32_t index);      /* of architectures: "resnet" */
FT_API const char *ft_model_other_names(uint32_t index); /* separated by spaces */
FT_API const char *ft_model_symbols(uint32_t index);     /* that need a value to be bound: "sequence" */
FT_API uint64_t ft_model_params(uint32_t index);
/* By any of its names; FT_NONE: there is none. */
FT_API uint32_t ft_model_find(const char *name);

/* FT_ERR_USAGE for an unknown name; the message has similar ones. */
FT_API ft_status ft_model_read(const char *name, ft_graph **graph, ft_error *error);

/* The list of them, as table, JSON or CSV. */
FT_API ft_status ft_report_models(FILE *stream, const ft_style *style, ft_error *error);

FT_C_END

#endif
