/* linear_fit.c - fits "flops" and "flops-mem". */
#include <stdlib.h>
#include <string.h>

#include "predictor/baseline/linear.h"
#include "predictor/core/config.h"
#include "predictor/core/family_common.h"
#include "predictor/core/relative.h"
#include "predictor/core/scan.h"

typedef struct fitting {
    const fit_set *set;
    uint32_t columns;
    relative *equations; /* per device */
} fitting;

static ft_status visit(void *user, const scan_item *item, model_view *s, uint32_t worker, buf *found, ft_error *error) {
    (void)user;
    (void)item;
    (void)worker;
    const ft_cost *cost;
    FT_TRY(model_view_cost(s, &cost, error));
    double row[LINEAR_MAX_COLUMNS];
    linear_row(cost, row);
    buf_add(found, row, sizeof row);
    return FT_OK;
}

static ft_status gather(void *user, const scan_item *item, const buf *found, ft_error *error) {
    (void)error;
    fitting *f = user;
    double values[LINEAR_MAX_COLUMNS];
    relative_entry entries[LINEAR_MAX_COLUMNS];
    memcpy(values, found->data, sizeof values);
    for (uint32_t i = 0; i < f->columns; i++) entries[i] = (relative_entry){i, values[i]};
    for (uint32_t i = 0; i < item->row_count; i++) {
        const fit_row *row = &f->set->train.items[item->rows[i]];
        relative_add(&f->equations[row->device], entries, f->columns, row->label);
    }
    return FT_OK;
}

static ft_status collect(fitting *f, const fit_context *context, ft_error *error) {
    for (uint32_t i = 0; i < f->set->device_count; i++) FT_TRY(relative_init(&f->equations[i], f->columns, error));
    scan_job job = {.threads = context->threads,
                    .visit = visit,
                    .gather = gather,
                    .user = f,
                    .context = context,
                    .to = 1,
                    .what = "reading models"};
    return scan_once(f->set->data, f->set->train, &job, error);
}

ft_status linear_fit(uint32_t columns, const fit_set *set, const fit_context *context, void **out, ft_error *error) {
    FT_TRY(config_take(context->config, NULL, 0, error));
    FT_TRY(fit_set_check(set, error));
    linear_model *m = linear_new(columns, set->device_count);
    fitting f = {.set = set, .columns = columns};
    f.equations = calloc((size_t)set->device_count + 1, sizeof *f.equations);
    ft_status status = m != NULL && f.equations != NULL ? collect(&f, context, error) : FT_NOMEM(error);
    for (uint32_t i = 0; status == FT_OK && i < set->device_count; i++)
        status = relative_solve(&f.equations[i], 0, m->weights + (size_t)i * columns, error);
    for (uint32_t i = 0; f.equations != NULL && i < set->device_count; i++) relative_free(&f.equations[i]);
    free(f.equations);
    if (status != FT_OK) {
        linear_free(m);
        return status;
    }
    *out = m;
    return FT_OK;
}
