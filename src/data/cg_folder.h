/* cg_folder.h - one folder of CG tables as packed models with labels, for import_cg.c. */
#ifndef DATA_CG_FOLDER_H
#define DATA_CG_FOLDER_H

#include "base/arena.h"
#include "base/buf.h"
#include "data/pack.h"

enum { CG_TIME, CG_STD, CG_METRICS };

enum { CG_MAX_DEVICES = 32 };

typedef struct cg_label {
    const char *device; /* canonical, static */
    double metrics[CG_METRICS];
} cg_label;

typedef struct cg_model {
    const char *name, *family, *index, *part;
    size_t offset, size; /* of the packed graph */
    cg_label *labels;
    uint32_t label_count;
} cg_model;

typedef struct cg_skip {
    const char *where, *why;
} cg_skip;

typedef struct cg_folder {
    const char *path, *name; /* the name is its last part */
    arena memory;
    buf packed;
    cg_model *models;
    cg_skip *skips;
    uint32_t model_count, model_capacity, skip_count, skip_capacity;
    uint64_t bytes; /* of its files */
    bool is_mixed;
    const char *unknown[CG_MAX_DEVICES]; /* columns of unknown devices, each reported once */
    uint32_t unknown_count;
    ft_status status;
    ft_error error;
} cg_folder;

/* Reads the next model of the folder. Unreadable models and labels are recorded as skips; only lack of memory and
 * I/O errors are failures, stored in f->error. */
ft_status cg_folder_next(cg_folder *f, ft_source *source, packer *p, bool *is_over);

/* Reserves space for one more item in an array of an arena; the old array stays there. */
bool cg_reserve(arena *memory, void **items, uint32_t count, uint32_t *capacity, size_t size);

#endif
