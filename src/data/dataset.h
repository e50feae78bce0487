/* dataset.h - internals of ft_dataset, for checking and rebuilding. */
#ifndef DATA_DATASET_H
#define DATA_DATASET_H

#include "data/graphfile.h"
#include "data/manifest.h"
#include "data/records.h"
#include "foretell/dataset.h"

struct ft_dataset {
    arena memory;
    char *folder;
    graphfile graphs;
    char (*ids)[FT_HASH_TEXT]; /* of the graphs */
    records records;
    manifest found; /* manifest computed from the files, independent of dataset.json */
};

/* Opens the two files and ignores dataset.json: for a data set that was changed on purpose. */
ft_status dataset_open_files(const char *folder, ft_dataset **data, ft_error *error);

/* The packed bytes of a graph replace the contents of `bytes`. FT_ERR_DAMAGED when they do not match its id. */
ft_status dataset_graph_bytes(const ft_dataset *data, uint32_t index, buf *bytes, ft_error *error);

/* The path of a file in a folder, in `memory`; NULL when out of memory. */
char *dataset_path(arena *memory, const char *folder, const char *file);

/* Fails with FT_ERR_USAGE; the message lists the families of the data set. */
ft_status dataset_unknown_family(const ft_dataset *data, const char *family, ft_error *error);
/* The same for devices. */
ft_status dataset_unknown_device(const ft_dataset *data, const char *device, ft_error *error);

/* Whether it holds tensor programs; otherwise it holds models. */
ft_status dataset_holds_programs(const ft_dataset *data, bool *are_programs, ft_error *error);

#endif
