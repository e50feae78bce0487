/* predictor.c - opening predictor files, asking them, and writing them. */
#include "predictor/predictor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/input.h"
#include "base/outfile.h"
#include "foretell/device.h"
#include "predictor/file.h"
#include "predictor/header.h"

struct ft_predictor {
    arena memory;
    char *text; /* of the header */
    header about;
    model *model;
};

/* --- Writing ------------------------------------------------------------------------------------------------- */

ft_status predictor_encode(const predictor_description *description, const family *f, const model *m, buf *bytes,
                           ft_error *error) {
    json_t *params = NULL, *root = NULL;
    float_block block = {0};
    ft_status status = f->save(m, &params, &block, error);
    if (status == FT_OK) status = header_make(description, f, params, &root, error);
    if (status == FT_OK) status = predictor_file_encode(root, block.items, block.count, bytes, error);
    json_decref(params);
    json_decref(root);
    float_block_free(&block);
    return status;
}

ft_status predictor_write(const char *path, const predictor_description *description, const family *f, const model *m,
                          ft_error *error) {
    buf bytes = {0};
    ft_status status = predictor_encode(description, f, m, &bytes, error);
    if (status == FT_OK) status = outfile_write(path, bytes.data, bytes.length, error);
    buf_free(&bytes);
    return status;
}

/* --- Opening ------------------------------------------------------------------------------------------------- */

static ft_status take_file(ft_predictor *p, predictor_file *file, ft_error *error) {
    FT_TRY(header_parse(file->root, &p->memory, &p->about, error));
    const header *h = &p->about;
    ft_status status =
        h->family->load(h->params, file->block, file->count, h->devices, h->device_count, &p->model, error);
    if (status != FT_OK) return ft_fail_prefix(error, status, "model");
    p->about.params = NULL; /* goes with the file */
    p->text = file->text;
    file->text = NULL;
    return FT_OK;
}

ft_status ft_predictor_open_memory(const void *bytes, size_t size, const char *name, ft_predictor **predictor,
                                   ft_error *error) {
    predictor_file file = {0};
    ft_status status = predictor_file_decode(bytes, size, &file, error);
    ft_predictor *made = status == FT_OK ? calloc(1, sizeof *made) : NULL;
    if (status == FT_OK && made == NULL) status = FT_NOMEM(error);
    if (status == FT_OK) {
        arena_init(&made->memory, 2 * (uint64_t)PREDICTOR_FILE_MAX_HEADER);
        status = take_file(made, &file, error);
    }
    predictor_file_free(&file);
    if (status != FT_OK) {
        ft_predictor_free(made);
        return ft_fail_prefix(error, status, "%s", name);
    }
    *predictor = made;
    return FT_OK;
}

ft_status ft_predictor_open(const char *path, ft_predictor **predictor, ft_error *error) {
    const uint64_t limit = PREDICTOR_FILE_MAX_HEADER + 4 * (uint64_t)PREDICTOR_FILE_MAX_FLOATS + 64;
    input in;
    FT_TRY(input_open(path, limit, &in, error));
    ft_status status = ft_predictor_open_memory(in.bytes, in.size, path, predictor, error);
    input_close(&in);
    return status;
}

void ft_predictor_free(ft_predictor *predictor) {
    if (predictor == NULL) return;
    if (predictor->model != NULL) predictor->about.family->free(predictor->model);
    free(predictor->text);
    arena_free(&predictor->memory);
    free(predictor);
}

/* --- What is known of it ------------------------------------------------------------------------------------- */

const char *ft_source_kind_name(ft_source_kind kind) {
    static const char *const names[] = {"measured", "learned", "analytic", "assumed"};
    return (size_t)kind < sizeof names / sizeof names[0] ? names[kind] : "unknown";
}

const char *ft_predictor_family(const ft_predictor *predictor) {
    return predictor->about.family->name;
}

const char *ft_predictor_header(const ft_predictor *predictor) {
    return predictor->text;
}

uint32_t ft_predictor_device_count(const ft_predictor *predictor) {
    return predictor->about.device_count;
}

const char *ft_predictor_device(const ft_predictor *predictor, uint32_t index) {
    return index < predictor->about.device_count ? predictor->about.devices[index] : NULL;
}

const char *predictor_metric(const ft_predictor *predictor) {
    return predictor->about.metric;
}

const model *predictor_model(const ft_predictor *predictor) {
    return predictor->model;
}

const family *predictor_family(const ft_predictor *predictor) {
    return predictor->about.family;
}

double predictor_q90(const ft_predictor *predictor, uint32_t device) {
    return predictor->about.q90[device];
}

bool predictor_knows_mode(const ft_predictor *predictor, ft_mode mode) {
    return predictor->about.modes == 0 || (predictor->about.modes & 1U << mode) != 0;
}

static uint32_t find_device(const header *h, const char *name) {
    uint32_t i = 0;
    while (i < h->device_count && strcmp(h->devices[i], name) != 0) i++;
    return i < h->device_count ? i : FT_NONE;
}

uint32_t predictor_device_index(const ft_predictor *predictor, const char *device) {
    uint32_t found = find_device(&predictor->about, device);
    const char *canonical = found == FT_NONE ? ft_device_canonical(device) : NULL;
    return canonical != NULL ? find_device(&predictor->about, canonical) : found;
}

/* --- Asking -------------------------------------------------------------------------------------------------- */

ft_status predictor_predict(const ft_predictor *predictor, subject *s, uint32_t device, bool has_parts, arena *memory,
                            prediction *out, ft_error *error) {
    const header *h = &predictor->about;
    prediction made = {.spread = 1, .source = FT_LEARNED};
    FT_TRY(h->family->predict(predictor->model, s, device, has_parts, memory, &made, error));
    if (!isfinite(made.value) || made.value < 0 || !(made.spread >= 0))
        return ft_fail(error, FT_ERR_INTERNAL, "the predictor '%s' gave %g with spread %g", h->family->name, made.value,
                       made.spread);
    *out = made;
    return FT_OK;
}

ft_estimate predictor_estimate(const ft_predictor *predictor, uint32_t device, const prediction *p) {
    double factor = exp(predictor->about.q90[device] * p->spread);
    return (ft_estimate){
        .metric = predictor->about.metric,
        .value = p->value,
        .lo = p->value / factor,
        .hi = p->value * factor,
        .source = p->source,
    };
}

/* What an answer points into. */
typedef struct answer_owner {
    arena memory;
    subject subject;
    ft_estimate estimate;
} answer_owner;

static ft_status check_query(const ft_predictor *predictor, const ft_query *query, uint32_t *device, ft_error *error) {
    const header *h = &predictor->about;
    if (query->device == NULL && h->device_count > 1)
        return ft_fail(error, FT_ERR_USAGE, "the predictor knows %u devices ('%s', ...): say which", h->device_count,
                       h->devices[0]);
    *device = query->device != NULL ? predictor_device_index(predictor, query->device) : 0;
    if (*device == FT_NONE)
        return ft_fail(error, FT_ERR_UNSUPPORTED, "the predictor does not know the device '%s'; it knows %u: '%s'%s",
                       query->device, h->device_count, h->devices[0], h->device_count > 1 ? ", ..." : "");
    if (!predictor_knows_mode(predictor, query->mode))
        return ft_fail(error, FT_ERR_UNSUPPORTED, "the predictor was trained on %s only, and is asked for %s",
                       query->mode == FT_TRAIN ? "inference" : "training",
                       query->mode == FT_TRAIN ? "training" : "inference");
    return FT_OK;
}

ft_status ft_predictor_answer(const ft_predictor *predictor, const ft_graph *bound, const ft_query *query,
                              ft_answer *answer, ft_error *error) {
    uint32_t device = 0;
    FT_TRY(check_query(predictor, query, &device, error));
    answer_owner *owner = calloc(1, sizeof *owner);
    if (owner == NULL) return FT_NOMEM(error);
    arena_init(&owner->memory, FT_MAX_GRAPH_BYTES);
    subject_init(&owner->subject, bound, query);
    ft_answer made = {.metrics = &owner->estimate, .metric_count = 1, .owner = owner};
    prediction p = {0};
    ft_status status = predictor_predict(predictor, &owner->subject, device, true, &owner->memory, &p, error);
    if (status != FT_OK) {
        ft_answer_free(&made);
        return status;
    }
    owner->estimate = predictor_estimate(predictor, device, &p);
    made.parts = p.parts;
    made.part_count = p.part_count;
    made.coverage_ratio = p.coverage_ratio;
    *answer = made;
    return FT_OK;
}

void ft_answer_free(ft_answer *answer) {
    if (answer == NULL) return;
    answer_owner *owner = answer->owner;
    if (owner != NULL) {
        subject_free(&owner->subject);
        arena_free(&owner->memory);
        free(owner);
    }
    *answer = (ft_answer){0};
}
