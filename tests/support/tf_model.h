/* tf_model.h - TensorFlow graphs for tests, from text: a node a line, "Operator name inputs... key=value...".
 *
 *     Placeholder x dtype=float shape=-1,8,8,3
 *     Const w dtype=float shape=3,3,3,4
 *     Const axis dtype=int32 shape= value=3
 *     Conv2D c x w strides=1,2,2,1 padding=SAME
 *     PartitionedCall y c f=@double
 *     function double a -> out=b:y:0
 *     Relu b a
 *     end
 *
 * A value is a type (of keys dtype, T, DstT, out_type), a shape (of key shape), the elements of a constant (key value),
 * "@" and the name of a function, numbers with commas (a list), a number, "true", "#" and texts with commas (a list of
 * texts), or a text. Constants without "value" have zeros as their payload. */
#ifndef TESTS_TF_MODEL_H
#define TESTS_TF_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "foretell/graph.h"
#include "graphdef.pb-c.h"

typedef struct tf_model {
    arena memory;
    Tf__Graph graph;
    uint8_t *bytes; /* of the last packing */
    size_t size;
} tf_model;

/* An error in the text stops the test. */
tf_model *tf_model_new(const char *text);
void tf_model_free(tf_model *m);
Tf__Node *tf_model_node(tf_model *m, const char *name);
void tf_model_pack(tf_model *m);
/* As the only graph of a SavedModel. `signature`: "name=tensor name=tensor"; NULL for none. */
void tf_model_pack_saved(tf_model *m, const char *signature);
/* Reads what was packed. */
ft_status tf_model_read(const tf_model *m, ft_graph **graph, ft_error *error);

#endif
