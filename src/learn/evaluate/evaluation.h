/* evaluation.h - what the files that make, write and draw evaluations share. */
#ifndef LEARN_EVALUATION_H
#define LEARN_EVALUATION_H

#include "base/arena.h"
#include "base/json_writer.h"
#include "foretell/learn.h"
#include "report/sink.h"

/* The scores of cases in any order: by device "all", "mean", then each family by name. From the arena. */
ft_status evaluation_scores(arena *memory, const char *metric, const ft_case *cases, uint32_t count,
                            const ft_score **scores, uint32_t *score_count, ft_error *error);

/* How well names that have several graphs are ordered, by device; only devices that have some. task_scores.c */
ft_status evaluation_tasks(arena *memory, const ft_dataset *data, const ft_case *cases, uint32_t count,
                           const ft_task_score **scores, uint32_t *score_count, ft_error *error);

/* How many of the scores, from the first on, share its device. */
uint32_t evaluation_device_scores(const ft_score *scores, uint32_t count);

/* The `most` cases of each device with the largest relative errors, largest first, devices by name. The caller frees
 * them. NULL when out of memory. */
ft_case *evaluation_worst(const ft_evaluation *evaluation, uint32_t most, uint32_t *count);

/* Keys and values of a score, in an object that is open. */
void evaluation_json_score(json_writer *j, const ft_score *score);
/* The same as columns of CSV: the headings, and the cells of a row, without a line end. */
void evaluation_csv_heading(buf *out);
void evaluation_csv_score(buf *out, const ft_score *score);
/* "test part of split random, seed 1", or "all records". */
enum { SUBJECT_TEXT = 384 };
void evaluation_part_text(const ft_evaluation *evaluation, char text[static SUBJECT_TEXT]);

/* The three documents: a table is of one metric, the others are of all in the chain. */
void evaluation_table(sink *out, const ft_evaluation *evaluation, const char *title, uint32_t worst,
                      const ft_style *style);
void evaluation_json(sink *out, const ft_evaluation *evaluation, const char *title, uint32_t worst);
void evaluation_csv(sink *out, const ft_evaluation *evaluation);

#endif
