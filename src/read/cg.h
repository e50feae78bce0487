/* cg.h - reader of the CG data set: many small graphs in models.csv, nodes.csv and edges.csv (each possibly .gz). */
#ifndef READ_CG_H
#define READ_CG_H

#include "graph/graph.h"

typedef struct cg_set cg_set;

enum { CG_MODELS, CG_NODES, CG_EDGES, CG_TABLES };
extern const char *const cg_table_names[CG_TABLES];

/* Writes the path of a table in a folder, plain or gzipped. False when it does not exist. */
bool cg_find_table(const char *folder, int table, char *path, size_t size);
/* The folder that holds the tables: the path itself, or the folder of the table it names. */
bool cg_find_folder(const char *path, char *folder, size_t size);
/* True for a folder that holds the three tables, and for the path of any of them. */
bool cg_matches_path(const char *path);
/* True for text that begins with the header of one of the three tables. */
bool cg_matches(const uint8_t *bytes, size_t size);

ft_status cg_open(const char *path, cg_set **set, ft_error *error);
/* The three tables as text in memory, in the order of cg_table_names. */
typedef struct cg_texts {
    const char *texts[CG_TABLES];
    size_t sizes[CG_TABLES];
} cg_texts;

/* cg_open on tables in memory (for tests and fuzzing), which must outlive the set; `name` stands for the folder. */
ft_status cg_open_memory(const cg_texts *tables, const char *name, cg_set **set, ft_error *error);
uint64_t cg_count(const cg_set *set);
/* *graph = NULL at the end. After an error in one graph, the next call continues with the next graph. */
ft_status cg_next(cg_set *set, ft_graph **graph, ft_error *error);
void cg_close(cg_set *set);

#endif
