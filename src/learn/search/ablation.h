/* ablation.h - what the files that make and write ablations share. */
#ifndef LEARN_ABLATION_H
#define LEARN_ABLATION_H

#include "base/buf.h"
#include "foretell/tune.h"

/* A row for each factor. */
void ablation_csv(const ft_ablation *ablation, buf *out);

#endif
