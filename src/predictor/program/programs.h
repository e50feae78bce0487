/* programs.h - the families for tensor programs. */
#ifndef PREDICTOR_PROGRAMS_H
#define PREDICTOR_PROGRAMS_H

#include "predictor/core/family.h"

enum { LEAF_SEQUENCE_VALUES = 50 }; /* that leaf-sequence sees of a store */

extern const family family_leaf_sequence, family_step_sequence, family_leaf_gbt, family_nest_gbt, family_task_median;

#endif
