/* forecast.c - the main job: requests about a model in, what it will take out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "forecast/answer.h"

/* --- Understanding a request --------------------------------------------------------------------------------- */

static bool is_known_to_box(const ft_predictor_set *box, const char *device) {
    for (uint32_t i = 0; i < box->count; i++)
        for (const ft_predictor *p = box->entries[i].predictor; p != NULL; p = ft_predictor_next(p))
            if (predictor_device_index(p, device) != FT_NONE) return true;
    return false;
}

static ft_status find_device(study *s, const ft_request *asked, ft_request *settled, const ft_device **sheet,
                             ft_error *error) {
    *sheet = asked->sheet;
    if (asked->sheet != NULL) {
        settled->device = ft_device_name(asked->sheet);
        return FT_OK;
    }
    if (asked->device == NULL) return ft_fail(error, FT_ERR_USAGE, "on which device?");
    FT_TRY(study_sheet_of(s, asked->device, sheet, error));
    if (*sheet != NULL) {
        settled->device = ft_device_canonical(asked->device);
        return FT_OK;
    }
    if (is_known_to_box(s->box, asked->device)) return FT_OK;
    settled->device = ft_device_match(asked->device);
    if (settled->device != NULL) return study_sheet_of(s, settled->device, sheet, error);
    ft_device *none = NULL; /* says which devices there are */
    ft_status status = ft_device_open(asked->device, &none, error);
    ft_device_free(none);
    return status != FT_OK ? status : ft_fail(error, FT_ERR_USAGE, "open the device file '%s' first", asked->device);
}

ft_dtype answer_usual_dtype(const ft_device *sheet) {
    if (sheet == NULL) return FT_FLOAT32;
    const char *kind = ft_device_kind(sheet), *runtime = ft_device_runtime(sheet);
    if (strcmp(runtime, "vela") == 0) return FT_INT8;
    return strcmp(kind, "gpu") == 0 && strncmp(runtime, "torch", 5) == 0 ? FT_FLOAT16 : FT_FLOAT32;
}

/* The answer outlives the request. */
static ft_status keep_text(answer *a, const char **text, ft_error *error) {
    const char *given = *text != NULL ? *text : "";
    *text = arena_string(&a->study->memory, given, strlen(given));
    return *text != NULL ? FT_OK : FT_NOMEM(error);
}

static ft_status settle(answer *a, const ft_request *asked, ft_error *error) {
    ft_request *settled = &a->out->request;
    *settled = *asked;
    FT_TRY(find_device(a->study, asked, settled, &a->sheet, error));
    settled->sheet = a->sheet;
    FT_TRY(keep_text(a, &settled->device, error));
    FT_TRY(keep_text(a, &settled->setting, error));
    if (asked->dtype == FT_DTYPE_UNKNOWN) settled->dtype = answer_usual_dtype(a->sheet);
    FT_TRY(study_subject_of(a->study, settled, &a->view, error));
    settled->batch = ft_graph_batch(a->view->bound);
    return model_view_cost(a->view, &a->cost, error);
}

/* --- Answering ----------------------------------------------------------------------------------------------- */

static ft_status keep_notes(answer *a, ft_error *error) {
    if (a->out->note_count == 0) return FT_OK;
    a->out->notes = arena_copy(&a->study->memory, a->notes, a->out->note_count * sizeof *a->notes);
    return a->out->notes != NULL ? FT_OK : FT_NOMEM(error);
}

static bool tells(const ft_result *f, const char *metric) {
    for (uint32_t i = 0; i < f->other_count; i++)
        if (strcmp(f->others[i].metric, metric) == 0) return true;
    return false;
}

static ft_status answer_request(study *s, const ft_request *asked, ft_result *out, ft_error *error) {
    answer a = {.study = s, .out = out};
    FT_TRY(settle(&a, asked, error));
    FT_TRY(answer_time(&a, error));
    out->time_note_count = out->note_count;
    FT_TRY(answer_memory(&a, error));
    if (a.cost->estimated_ops > 0)
        FT_TRY(answer_note(&a, error, "%u of %u operators are not known: their cost is a guess from their bytes",
                           a.cost->estimated_ops, a.cost->op_count));
    if (!tells(out, "util_ratio")) out->no_util = "no predictor in the box was trained on measured utilisation";
    return keep_notes(&a, error);
}

static ft_status answer_all(study *s, const ft_request *requests, uint32_t count, ft_result **items, ft_error *error) {
    *items = ARENA_ARRAY(&s->memory, ft_result, (size_t)count + 1);
    if (*items == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < count; i++) FT_TRY(answer_request(s, &requests[i], &(*items)[i], error));
    return FT_OK;
}

ft_status ft_predict(const ft_predictor_set *box, const ft_graph *model, const ft_binding *shapes,
                     const ft_request *requests, uint32_t count, ft_results *answers, ft_error *error) {
    study *s = malloc(sizeof *s);
    ft_result *items;
    if (s == NULL) return FT_NOMEM(error);
    study_init(s, box, model, shapes);
    ft_results made = {.count = count, .owner = s};
    ft_status status = answer_all(s, requests, count, &items, error);
    if (status == FT_OK) {
        made.items = items;
        *answers = made;
    } else {
        ft_results_free(&made);
    }
    return status;
}

void ft_results_free(ft_results *answers) {
    if (answers == NULL) return;
    if (answers->owner != NULL) study_free(answers->owner);
    free(answers->owner);
    *answers = (ft_results){0};
}
