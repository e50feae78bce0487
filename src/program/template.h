/* template.h - records of AutoTVM as programs: templates with a known schedule become the steps of an auto-scheduler
 * record.
 *
 * A template computes one workload with a fixed schedule; knobs set the lengths of its loops. So each template is a
 * table of steps in which lengths are names of knobs (template_steps.c), and its records are lowered, printed, stored
 * and predicted like any other. */
#ifndef PROGRAM_TEMPLATE_H
#define PROGRAM_TEMPLATE_H

#include "read/ansor.h"
#include "read/autotvm.h"

/* Fills `record` with the program of `tuned`. Unknown templates, types other than float32, and knobs that are missing
 * or do not fit the workload are errors that name them. `record` points only into itself and into static text. */
ft_status template_apply(const autotvm_record *tuned, ansor_record *record, ft_error *error);

/* --- For template_steps.c ------------------------------------------------------------------------------------ */

enum { TEMPLATE_LIST = 14 };

/* A step, with fields as in ansor_step; `knob` names the lengths of a split, or the split that is followed, `axis` the
 * size of the workload that is split: one of NFYXCHWMK. */
typedef struct template_step {
    ansor_kind kind;
    uint8_t stage, iter, other; /* other: the target of CA, the annotation of AN, the axis of RF */
    uint8_t level;              /* of the split that is followed */
    uint8_t times;              /* factor for the followed length; 0: once, in a step that follows */
    bool is_inner;
    char axis;
    uint8_t lengths; /* lengths of the knob, without the outermost; 0: one part */
    const char *knob, *text;
    uint8_t list[TEMPLATE_LIST];
    uint8_t count;
} template_step;

typedef enum template_shape {
    TEMPLATE_CONV2D,
    TEMPLATE_DEPTHWISE,
    TEMPLATE_DENSE,
    TEMPLATE_BATCH_MATMUL
} template_shape;

typedef struct schedule_template {
    const char *name;
    template_shape shape; /* meaning of its arguments */
    /* Two knobs whose lengths at `level` must be equal, because both are the number of threads of one block; or
     * NULL. */
    const char *same[2];
    uint8_t level;
    const template_step *steps;
    uint32_t count;
} schedule_template;

extern const schedule_template schedule_templates[];
extern const uint32_t schedule_template_count;

#endif
