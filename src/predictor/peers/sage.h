/* sage.h - the family "perfsage" (docs/perfsage.md). */
#ifndef PREDICTOR_SAGE_H
#define PREDICTOR_SAGE_H

#include "predictor/core/family.h"

extern const family family_perfsage;

#endif
