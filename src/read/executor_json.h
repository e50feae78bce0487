/* executor_json.h - the graph that TVM's graph executor runs: kernels in order, and their dependencies.
 *
 * The file names the function of each node and the nodes it depends on, but not what the functions compute; given
 * their times, the graph can be replayed. */
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
    const char *dtype; /* "float32"; NULL: not in the file */
    int64_t shape[EXECUTOR_MAX_DIMS];
    uint32_t dims;
    bool has_shape;     /* the file has it */
    int64_t storage_id; /* outputs with the same id share memory; -1: not in the file */
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

/* Checks the content only and never fails: true for an object that has "nodes" and "arg_nodes" or "heads". */
bool executor_matches(const uint8_t *bytes, size_t size);

/* Parses the whole text. An error names the node; the caller prefixes the file. Nodes must follow the nodes they
 * read, as TVM writes them, which rules out cycles. Free with executor_free also after a failure; node_count is then
 * the number of nodes read before it. */
ft_status executor_read(const uint8_t *bytes, size_t size, executor_graph *graph, ft_error *error);
void executor_free(executor_graph *graph);

#endif
