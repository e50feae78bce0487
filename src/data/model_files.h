/* model_files.h - many files with a model each, read side by side and added to a data set in the order of the list. */
#ifndef DATA_MODEL_FILES_H
#define DATA_MODEL_FILES_H

#include "data/import.h"

typedef struct model_file {
    const char *path;
    uint32_t graph; /* made: its index in the data set, FT_NONE when it cannot be used, which was told */
} model_file;

/* A model that cannot be read or bound is skipped; counts those that can. */
ft_status model_files_add(import_job *job, builder *b, model_file *files, uint32_t count);

#endif
