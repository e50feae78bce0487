/* small_set.h - small data sets for tests: CG tables, and graphs of a few operators. */
#ifndef TESTS_SMALL_SET_H
#define TESTS_SMALL_SET_H

#include "foretell/dataset.h"

/* Writes a text file; a failure aborts the test program, as everywhere below. */
void write_text(const char *path, const char *text);
/* The whole file as a string that the caller frees. */
char *read_text(const char *path);

/* Writes FOLDER/models.csv, nodes.csv and edges.csv with `count` models of a family: model i is a convolution with
 * 4 + i channels and a relu. It is labelled with 10 + i milliseconds on the A76 (with a spread of 0.5) and 5 + i on the
 * Adreno 640. */
void write_cg(const char *folder, const char *family, int count);

/* A graph that is not bound: a matrix product of the given width and a relu. */
ft_graph *small_graph(int width);

/* Makes a data set of three graphs and six records with time_us and peak_bytes. */
void make_small_set(const char *folder);

/* Opens a data set. */
ft_dataset *open_set(const char *folder);

#endif
