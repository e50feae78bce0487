/* structs.c - layouts of the structs that bindings of other languages declare for themselves. */
#include "foretell/struct.h"

#include <stddef.h>

#include "foretell/adapt.h"
#include "foretell/inspect.h"
#include "foretell/learn.h"

/* A field of T, the struct that the table is about. */
#define FIELD(name)                                                                                                    \
    { #name, offsetof(T, name), sizeof(((T *)0)->name) }

#define T ft_error
static const ft_struct_field error_fields[] = {FIELD(status), FIELD(message)};
#undef T

#define T ft_style
static const ft_struct_field style_fields[] = {FIELD(output), FIELD(width), FIELD(has_color), FIELD(has_utf8)};
#undef T

#define T ft_time_filter
static const ft_struct_field time_filter_fields[] = {FIELD(max_noise), FIELD(min_time_us), FIELD(max_time_us)};
#undef T

#define T ft_split
static const ft_struct_field split_fields[] = {FIELD(spec), FIELD(seed), FIELD(hash), FIELD(counts), FIELD(parts)};
#undef T

#define T ft_score
static const ft_struct_field score_fields[] = {FIELD(device),     FIELD(family),  FIELD(metric),   FIELD(n),
                                               FIELD(mape),       FIELD(rmspe),   FIELD(acc5),     FIELD(acc10),
                                               FIELD(acc20),      FIELD(rmse),    FIELD(spearman), FIELD(kendall),
                                               FIELD(coverage90), FIELD(width90), FIELD(bias)};
#undef T

#define T ft_train_options
static const ft_struct_field train_options_fields[] = {
    FIELD(family), FIELD(metric),     FIELD(split),    FIELD(config),     FIELD(settings),  FIELD(setting_count),
    FIELD(filter), FIELD(seed),       FIELD(threads),  FIELD(is_resumed), FIELD(is_forced), FIELD(is_untested),
    FIELD(folds),  FIELD(fold_count), FIELD(progress), FIELD(user)};
#undef T

#define T ft_evaluate_options
static const ft_struct_field evaluate_options_fields[] = {
    FIELD(metric),   FIELD(split),        FIELD(part),     FIELD(devices),  FIELD(device_count),
    FIELD(families), FIELD(family_count), FIELD(setting),  FIELD(has_mode), FIELD(mode),
    FIELD(filter),   FIELD(threads),      FIELD(progress), FIELD(user),     FIELD(with_adapted)};
#undef T

#define T ft_evaluation
static const ft_struct_field evaluation_fields[] = {
    FIELD(predictor_family), FIELD(metric),    FIELD(data_hash),  FIELD(split),
    FIELD(split_hash),       FIELD(seed),      FIELD(part),       FIELD(scores),
    FIELD(score_count),      FIELD(tasks),     FIELD(task_count), FIELD(cases),
    FIELD(case_count),       FIELD(synthetic), FIELD(left_out),   FIELD(refused),
    FIELD(refusal),          FIELD(adapted),   FIELD(next),       FIELD(owner)};
#undef T

#define T ft_adapt_options
static const ft_struct_field adapt_options_fields[] = {
    FIELD(metric),       FIELD(method), FIELD(discrepancy), FIELD(steps),        FIELD(models),
    FIELD(budget),       FIELD(split),  FIELD(devices),     FIELD(device_count), FIELD(families),
    FIELD(family_count), FIELD(seed),   FIELD(threads),     FIELD(progress),     FIELD(user)};
#undef T

#define T ft_adapted_device
static const ft_struct_field adapted_device_fields[] = {FIELD(device),   FIELD(base),    FIELD(method),  FIELD(is_new),
                                                        FIELD(models),   FIELD(records), FIELD(scale),   FIELD(cv_keep),
                                                        FIELD(cv_scale), FIELD(cv),      FIELD(cv_work), FIELD(q90)};
#undef T

#define T ft_adaptation
static const ft_struct_field adaptation_fields[] = {FIELD(devices), FIELD(device_count), FIELD(model_count),
                                                    FIELD(notes),   FIELD(note_count),   FIELD(before),
                                                    FIELD(after),   FIELD(owner)};
#undef T

#define STRUCT(name)                                                                                                   \
    { "ft_" #name, sizeof(ft_##name), sizeof name##_fields / sizeof *name##_fields, name##_fields }

static const ft_struct structs[] = {
    STRUCT(error),         STRUCT(style),          STRUCT(time_filter),      STRUCT(split),
    STRUCT(score),         STRUCT(train_options),  STRUCT(evaluate_options), STRUCT(evaluation),
    STRUCT(adapt_options), STRUCT(adapted_device), STRUCT(adaptation)};

uint32_t ft_struct_count(void) {
    return sizeof structs / sizeof structs[0];
}

const ft_struct *ft_struct_at(uint32_t index) {
    return index < ft_struct_count() ? &structs[index] : NULL;
}
