/* observations.h - what finished jobs really took: a CSV that only grows, and the error of predictions by device. */
#ifndef SERVE_OBSERVATIONS_H
#define SERVE_OBSERVATIONS_H

#include "models.h"

typedef struct observations observations;

/* Opens FOLDER/observations.csv. A last row that a crash left incomplete was never acknowledged and is cut off. */
ft_status observations_open(const char *folder, models *m, observations **made, ft_error *error);
void observations_close(observations *o);
/* Adds a row and waits until it is on disk. `answer` gets what was recorded, as JSON. */
ft_status observations_add(observations *o, models *m, const char *row, size_t size, text *answer, ft_error *error);
/* The file, and the bytes of complete rows; -1: it cannot be opened. */
int observations_open_file(observations *o, uint64_t *size);
void observations_put_metrics(observations *o, text *t);

#endif
