#include "forecast/answer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

ft_status answer_note(answer *a, ft_error *error, const char *format, ...) {
    char text[512];
    va_list args;
    if (a->out->note_count == ANSWER_MOST_NOTES) return FT_OK;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const char *kept = arena_string(&a->study->memory, text, strlen(text));
    if (kept == NULL) return FT_NOMEM(error);
    a->notes[a->out->note_count++] = kept;
    return FT_OK;
}

ft_cost_options answer_cost_options(const answer *a) {
    const ft_request *request = &a->out->request;
    ft_cost_options options = ft_cost_options_default();
    options.mode = request->mode;
    options.dtype = request->dtype;
    options.optimizer = request->optimizer;
    return options;
}

static ft_status ask(answer *a, const box_entry *entry, const ft_predictor *predictor, target_device where, told *t,
                     ft_error *error) {
    ft_error refusal = {.message = ""};
    model_output says;
    const predict_input in = {.view = a->view, .target = &where, .memory = &a->study->memory, .has_parts = true};
    ft_status status = predictor_predict(predictor, &in, &says, error != NULL ? error : &refusal);
    if (status == FT_ERR_UNSUPPORTED) {
        const char *why = error != NULL ? error->message : refusal.message;
        a->refusal = arena_string(&a->study->memory, why, strlen(why));
        return a->refusal != NULL ? FT_OK : FT_NOMEM(error);
    }
    FT_TRY(status);
    *t = (told){entry, predictor, where, says};
    return FT_OK;
}

ft_status answer_ask(answer *a, const char *metric, told *t, ft_error *error) {
    const ft_predictor_set *box = a->study->box;
    const ft_request *request = &a->out->request;
    *t = (told){0};
    a->refusal = NULL;
    for (uint32_t i = 0; i < 2 * box->count && t->entry == NULL; i++) {
        bool by_sheet = i >= box->count;
        const box_entry *entry = &box->entries[by_sheet ? i - box->count : i];
        const ft_predictor *p = ft_predictor_find(entry->predictor, metric);
        if (p == NULL || !predictor_knows_mode(p, request->mode)) continue;
        target_device where = predictor_place(p, predictor_device_index(p, request->device));
        if ((where.index == FT_NONE) != by_sheet) continue;
        if (by_sheet && (a->sheet == NULL || !predictor_takes_any_device(p))) continue;
        if (by_sheet) where.sheet = a->sheet;
        FT_TRY(ask(a, entry, p, where, t, error));
    }
    return FT_OK;
}
