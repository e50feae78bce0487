/* template.h - records of AutoTVM as programs: templates whose schedule is known become the steps that a record of the
 * auto-scheduler has.
 *
 * A template computes one workload and is always scheduled the same way; knobs say how long the parts of its loops are.
 * So each is a table of steps in which lengths are names of knobs (template_steps.c), and what comes out is lowered,
 * shown, stored and predicted like any other record. */
#ifndef PROGRAM_TEMPLATE_H
#define PROGRAM_TEMPLATE_H

#include "read/ansor.h"
#include "read/autotvm.h"

/* Makes `record` the program of `tuned`. Unknown templates, types other than float32, knobs that are missing or do not
 * fit the workload are errors that name them. `record` points into itself and into static text alone. */
ft_status template_apply(const autotvm_record *tuned, ansor_record *record, ft_error *error);

/* --- For template_steps.c ------------------------------------------------------------------------------------ */

enum { TEMPLATE_LIST = 14 };

/* A step. What the fields mean is as in ansor_step; `knob` names the lengths of a split, or the split that is followed,
 * `axis` the size of the workload that is split: one of NFYXCHWMK. */
typedef struct template_step {
    ansor_kind kind;
    uint8_t stage, iter, other; /* other: the target of CA, the annotation of AN, the axis of RF */
    uint8_t level;              /* of the split that is followed */
    uint8_t times;              /* the length that is followed, so many times; 0: once, in a step that follows */
    bool is_inner;
    char axis;
    uint8_t lengths; /* that the knob has, the outermost part not counted; 0: one part */
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
    template_shape shape; /* what its arguments are */
    /* Knobs of which the length at `level` must be the same, because both are numbers of threads of one block; or NULL.
     */
    const char *same[2];
    uint8_t level;
    const template_step *steps;
    uint32_t count;
} schedule_template;

extern const schedule_template schedule_templates[];
extern const uint32_t schedule_template_count;

#endif
