/* executor_json.h - the graph that TVM's graph executor runs: kernels in order, and who reads whose output.
 *
 * A file of this kind says which function each node calls and what it waits for, and nothing of what the functions do;
 * whoever knows how long the functions take can replay it. */
#ifndef READ_EXECUTOR_JSON_H
#define READ_EXECUTOR_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "foretell/status.h"

enum { EXECUTOR_MAX_NODES = 1000 * 1000, EXECUTOR_MAX_DIMS = 16 };

typedef struct executor_node {
    const char *name;
    const char *func_name;  /* NULL: a parameter or an input ("op": "null"); "__nop": a view, which takes no time */
    const uint32_t *inputs; /* ids of the nodes it reads, each below its own; the same node may occur twice */
    uint32_t input_count;
    uint32_t output_count;
    uint32_t first_output; /* its first row in `outputs` */
} executor_node;

/* One output of a node, in the order of node_row_ptr. */
typedef struct executor_output {
    const char *dtype; /* "float32"; NULL when the file does not say */
    int64_t shape[EXECUTOR_MAX_DIMS];
    uint32_t dims;
    int64_t storage_id; /* outputs with the same id share memory; -1 when the file does not say */
} executor_output;

typedef struct executor_graph {
    arena memory; /* owns everything */
    executor_node *nodes;
    uint32_t node_count;
    executor_output *outputs;
    uint32_t output_count;
    uint32_t *heads; /* ids of the nodes whose outputs are the results */
    uint32_t head_count;
} executor_graph;

/* Looks at the content only and never fails: an object that has "nodes" and "arg_nodes" or "heads". */
bool executor_matches(const uint8_t *bytes, size_t size);

/* Takes the whole text. The message of a failure names the node; the caller puts the file before it. Nodes must come
 * after what they read, as TVM writes them: so there can be no cycle. Free with executor_free also after a failure;
 * node_count then says how many nodes were good before it. */
ft_status executor_read(const uint8_t *bytes, size_t size, executor_graph *graph, ft_error *error);
void executor_free(executor_graph *graph);

#endif
