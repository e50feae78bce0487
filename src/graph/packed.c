/* packed.c - weights packed several to an element: the matrices they stand for.
 *
 * 2-, 4- and 8-bit weights are stored as bytes, in blocks along the inner dimension whose last block may be padded. The
 * attributes of their operator have the sizes of the matrix; where they do not, the bits of a weight do. Blocks of GGUF
 * hold scales as well: its reader states the number of weights of each input, "packed_elems" (-1: as many as elements),
 * or the weights and the bytes of a block of each, "packed_blocks" (0: elements), which holds for a part of it too.
 */
#include <string.h>

#include "graph/geometry.h"

static const ft_tensor *known(const ft_graph *graph, const ft_op *op, uint32_t i) {
    const ft_tensor *t = op_input(graph, op, i);
    return t != NULL && shape_is_known(t) ? t : NULL;
}

static bool is_size(int64_t size) {
    return size > 0 && size <= FT_MAX_DIM;
}

/* MatMulFpQ4 has the shape of the matrix as its third input. */
static bool read_shape_input(const ft_graph *graph, const ft_op *op, int64_t *k, int64_t *n) {
    const ft_tensor *shape = op_input(graph, op, 2);
    if (shape == NULL || shape->value == NULL || shape->value->ints == NULL || shape->value->count != 2) return false;
    *k = shape->value->ints[0];
    *n = shape->value->ints[1];
    return true;
}

bool packed_matrix(const ft_graph *graph, const ft_op *op, int64_t *k, int64_t *n) {
    const ft_tensor *x = known(graph, op, 0), *b = known(graph, op, 1);
    if (op->def->packed_inputs == 0 || op->def->cost != COST_MATMUL) return false;
    *k = op_attr_int(op, "K", 0);
    *n = op_attr_int(op, "N", 0);
    if (op_is(op, "MatMulFpQ4")) {
        if (!read_shape_input(graph, op, k, n)) return false;
    } else if (op_is(op, "MatMulBlockQuantized")) {
        if (x == NULL || x->rank < 1 || b == NULL || b->rank != 2) return false;
        *k = x->dims[x->rank - 1];
        *n = b->dims[0];
    } else if (op_is(op, "MatMulBnb4") && op_attr_int(op, "transB", 1) == 0) {
        int64_t rows = *n;
        *n = *k;
        *k = rows;
    } else if (op_is(op, "MatMulNBitsMlp")) {
        *n *= is_size(*n) ? 2 : 1; /* gate and up */
    } else if (op_is(op, "MatMulNBitsQkv")) {
        int64_t kv = op_attr_int(op, "Nkv", 0);
        *n = op_attr_int(op, "Nq", 0);
        if (!is_size(kv) || !is_size(*n)) return false;
        *n += 2 * kv;
    }
    return is_size(*k) && is_size(*n);
}

int64_t packed_blocks(const ft_op *op, uint32_t input, int64_t bytes) {
    uint32_t count;
    const int64_t *blocks = op_attr_ints(op, "packed_blocks", &count);
    if (count / 2 <= input || blocks[2 * input] <= 0 || blocks[2 * input + 1] <= 0) return -1;
    int64_t elems;
    return num_mul_i64(bytes / blocks[2 * input + 1], blocks[2 * input], &elems) ? elems : -1;
}

uint64_t packed_elems(const ft_graph *graph, const ft_op *op, uint32_t input) {
    const ft_tensor *t = known(graph, op, input);
    int64_t k, n;
    uint32_t count;
    if (t == NULL) return 0;
    const int64_t *stated = op_attr_ints(op, "packed_elems", &count);
    if (input < count && stated[input] >= 0) return (uint64_t)stated[input];
    uint64_t elems = (uint64_t)shape_elems(t->dims, t->rank);
    int64_t weights = t->dtype == FT_UINT8 ? packed_blocks(op, input, (int64_t)elems) : -1;
    if (weights >= 0) return (uint64_t)weights;
    if (input >= 32 || (op->def->packed_inputs >> input & 1) == 0 || t->dtype != FT_UINT8) return elems;
    bool is_single = (op->def->packed_inputs & (op->def->packed_inputs - 1)) == 0;
    if (is_single && packed_matrix(graph, op, &k, &n)) return num_mul_sat((uint64_t)k, (uint64_t)n);
    int64_t bits = op_attr_int(op, "bits", op_attr_int(op, "expert_weight_bits", 4));
    return bits == 1 || bits == 2 || bits == 4 ? num_mul_sat(elems, (uint64_t)(8 / bits)) : elems;
}
