/* models.h - models that requests can name: uploads by the hash of their bytes or by a name, files of allowed folders
 * by path, and the bundled ones. */
#ifndef SERVE_MODELS_H
#define SERVE_MODELS_H

#include "job.h"
#include "serve.h"

enum { MODEL_ID_SIZE = 65, MODEL_NAME_MAX = 100 };

typedef struct models models;

ft_status models_open(const serve_options *options, models **made, ft_error *error);
void models_close(models *m);

/* Finds a model by id, name or path; a problem when there is none. `name`: in documents; NULL: `text`. False: out of
 * memory. */
bool models_find(models *m, const char *text, const char *name, model_ref *ref);
/* Whether `text` still means the model that `key` is of. */
bool models_is_current(models *m, const char *text, const char *key);

/* An empty file for the bytes of an upload, which vanishes unless it is kept. -1: none can be made. */
int models_new_file(const models *m);
bool models_has_store(const models *m);
bool models_is_name(const char *name);
/* Keeps the file under its id, and a name unless that is NULL. Removes the uploads that were not used for the longest
 * time where all would take too much room; not those that observations name. Returns the HTTP status: 201, 200 (it was
 * there already), 507. */
unsigned models_keep(models *m, int fd, const char *id, const char *name, uint64_t size);
/* Models of observations are kept for ever. */
void models_pin(models *m, const char *id);
/* The file of an upload; -1: there is none. */
int models_open_file(models *m, const char *text, uint64_t *size);
/* 204, 404, or 409: an observation names it. */
unsigned models_remove(models *m, const char *text);

void models_put_list(models *m, text *t);
void models_get_totals(models *m, uint64_t *count, uint64_t *bytes);

#endif
