/* Tests of whole networks against PyTorch: outputs, losses, all gradients, and five steps of Adam.
 *
 * tests/nn/reference/make.py computed the numbers and describes the files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nn/layer.h"
#include "nn/optim.h"
#include "nn/parallel.h"

enum { MAX_VALUES = 160, NAME = 64, STEPS = 5, MAX_ROWS = 64 };

/* --- Files --------------------------------------------------------------------------------------------------- */

typedef struct matrix {
    char name[NAME];
    uint32_t rows, cols;
    float *values;
} matrix;

typedef struct reference {
    matrix items[MAX_VALUES];
    int count;
} reference;

static void reference_read(reference *r, const char *name) {
    char path[NAME];
    snprintf(path, sizeof path, "tests/nn/reference/%s.txt", name);
    FILE *file = fopen(path, "r");
    if (file == NULL) fail_msg("cannot open %s", path);
    r->count = 0;
    matrix m;
    while (fscanf(file, "%63s %u %u", m.name, &m.rows, &m.cols) == 3) {
        assert_true(r->count < MAX_VALUES);
        m.values = malloc((size_t)m.rows * m.cols * sizeof *m.values);
        for (size_t i = 0; i < (size_t)m.rows * m.cols; i++) assert_int_equal(fscanf(file, "%f", &m.values[i]), 1);
        r->items[r->count++] = m;
    }
    fclose(file);
    assert_true(r->count > 5);
}

static void reference_free(reference *r) {
    for (int i = 0; i < r->count; i++) free(r->items[i].values);
}

static const matrix *find(const reference *r, const char *kind, const char *name) {
    char whole[2 * NAME];
    snprintf(whole, sizeof whole, "%s%s", kind, name);
    for (int i = 0; i < r->count; i++)
        if (strcmp(r->items[i].name, whole) == 0) return &r->items[i];
    fail_msg("there is no %s", whole);
    return NULL;
}

static double largest_of(const matrix *m) {
    double largest = 0;
    for (size_t i = 0; i < (size_t)m->rows * m->cols; i++) largest = fmax(largest, fabs((double)m->values[i]));
    return largest;
}

/* Within a share of the largest element; gradients that should be zero are noise of the larger ones. */
static void compare(const char *what, const float *got, const matrix *expected, double tolerance, double noise) {
    double largest = largest_of(expected);
    size_t count = (size_t)expected->rows * expected->cols;
    for (size_t i = 0; i < count; i++)
        if (!(fabs((double)got[i] - (double)expected->values[i]) <= tolerance * largest + noise))
            fail_msg("%s of %s[%zu]: %.9g, PyTorch has %.9g", what, expected->name, i, (double)got[i],
                     (double)expected->values[i]);
}

/* --- One network --------------------------------------------------------------------------------------------- */

typedef struct network network;

struct network {
    reference r;
    params p;
    loss_options loss;
    tensor *(*forward)(network *n, tape *t);
    float *out;
    /* used by some of the networks */
    layer_sage sage[3];
    layer_linear first, last;
    layer_encoder encoder[2];
    layer_lstm lstm;
    layer_batch_norm norm;
    layer_aggregate aggregate[5];
    uint32_t start[MAX_ROWS], edge_start[MAX_ROWS], edge_from[MAX_ROWS];
    segments s;
};

static void read_segments(network *n) {
    const matrix *sizes = find(&n->r, "", "sizes");
    n->s = (segments){sizes->cols, n->start};
    for (uint32_t i = 0; i < sizes->cols; i++) n->start[i + 1] = n->start[i] + (uint32_t)sizes->values[i];
}

static tensor *input(network *n, tape *t) {
    const matrix *x = find(&n->r, "", "x");
    return tape_input(t, x->rows, x->cols, x->values);
}

static tensor *loss_of(void *user, tape *t, uint32_t part) {
    (void)part;
    network *n = user;
    tensor *out = n->forward(n, t);
    n->out = out->data;
    return nn_loss(t, out, find(&n->r, "", "y")->values, &n->loss);
}

static void take_parameters(network *n) {
    for (uint32_t i = 0; i < n->p.count; i++) {
        const param *item = &n->p.items[i];
        if (item->is_state) continue;
        const matrix *m = find(&n->r, "param.", item->name);
        assert_int_equal(m->rows, item->rows);
        assert_int_equal(m->cols, item->cols);
        memcpy(n->p.values + item->offset, m->values, (size_t)m->rows * m->cols * sizeof(float));
    }
}

static void check_first_step(network *n, parallel *p) {
    compare("output", n->out, find(&n->r, "", "out"), 2e-5, 0);
    double largest = 0;
    for (int i = 0; i < n->r.count; i++)
        if (strncmp(n->r.items[i].name, "grad.", 5) == 0) largest = fmax(largest, largest_of(&n->r.items[i]));
    for (uint32_t i = 0; i < n->p.count; i++) {
        const param *item = &n->p.items[i];
        if (item->is_state)
            compare("state", n->p.values + item->offset, find(&n->r, "state.", item->name), 2e-5, 0);
        else
            compare("gradient", parallel_gradient(p) + item->offset, find(&n->r, "grad.", item->name), 1e-4,
                    1e-7 * largest);
    }
}

/* All but the layers is the same for every network. */
static void check(network *n) {
    parallel *p = NULL;
    optim *adam = NULL;
    optim_options options = optim_options_default(OPTIM_ADAM);
    assert_int_equal(params_finish(&n->p, 1, NULL), FT_OK);
    take_parameters(n);
    const matrix *y = find(&n->r, "", "y"), *losses = find(&n->r, "", "losses");
    n->loss.scale = 1.0f / (float)y->cols;
    assert_int_equal(parallel_new(&n->p, 2, NULL, 8 << 20, &p, NULL), FT_OK);
    assert_int_equal(optim_new(&options, n->p.trained_count, NULL, 0, &adam, NULL), FT_OK);
    for (int step = 0; step < STEPS; step++) {
        double loss = 0;
        assert_int_equal(parallel_train(p, 1, loss_of, n, 0, &loss, NULL), FT_OK);
        parallel_update_state(p, n->p.values);
        assert_float_equal(loss / (double)losses->values[step], 1, 1e-4);
        if (step == 0) check_first_step(n, p);
        optim_step(adam, n->p.values, parallel_gradient(p), 0.01, NULL);
    }
    optim_free(adam);
    parallel_free(p);
    params_free(&n->p);
    reference_free(&n->r);
    free(n);
}

static network *network_new(const char *name, tensor *(*forward)(network *n, tape *t), loss_kind kind) {
    network *n = calloc(1, sizeof *n);
    reference_read(&n->r, name);
    params_init(&n->p);
    n->forward = forward;
    n->loss.kind = kind;
    return n;
}

/* --- The networks -------------------------------------------------------------------------------------------- */

static tensor *sage_forward(network *n, tape *t) {
    tensor *x = input(n, t);
    neighbours edges = {x->rows, n->edge_start, n->edge_from};
    for (int i = 0; i < 3; i++) x = layer_sage_apply(t, &n->sage[i], x, edges, ACT_RELU);
    tensor *pooled = nn_concat_columns(t, 2, (tensor *[]){nn_segment_sum(t, x, n->s), nn_segment_mean(t, x, n->s)});
    return layer_linear_apply(t, &n->last, layer_linear_apply(t, &n->first, pooled, ACT_RELU), ACT_NONE);
}

static void read_edges(network *n) {
    const matrix *from = find(&n->r, "", "from"), *to = find(&n->r, "", "to");
    for (uint32_t i = 0; i < from->cols; i++) {
        n->edge_from[i] = (uint32_t)from->values[i];
        n->edge_start[(uint32_t)to->values[i] + 1]++;
    }
    for (uint32_t i = 0; i < find(&n->r, "", "x")->rows; i++) n->edge_start[i + 1] += n->edge_start[i];
}

static void test_sage(void **state) {
    (void)state;
    network *n = network_new("sage", sage_forward, LOSS_MSE);
    read_segments(n);
    read_edges(n);
    const char *const names[] = {"sage0", "sage1", "sage2"};
    for (int i = 0; i < 3; i++) n->sage[i] = layer_sage_add(&n->p, names[i], i == 0 ? 5 : 12, 12);
    n->first = layer_linear_add(&n->p, "first", 24, 12, true);
    n->last = layer_linear_add(&n->p, "last", 12, 1, true);
    check(n);
}

static tensor *encoder_forward(network *n, tape *t) {
    tensor *x = input(n, t);
    for (int i = 0; i < 2; i++) x = layer_encoder_apply(t, &n->encoder[i], x, n->s, NULL);
    return layer_linear_apply(t, &n->last, nn_segment_mean(t, x, n->s), ACT_NONE);
}

static void test_encoder(void **state) {
    (void)state;
    network *n = network_new("encoder", encoder_forward, LOSS_HYBRID);
    read_segments(n);
    encoder_options options = {.width = 8, .heads = 2, .inner = 16, .act = ACT_RELU};
    n->encoder[0] = layer_encoder_add(&n->p, "encoder0", &options);
    options.act = ACT_GELU;
    options.is_norm_first = true;
    n->encoder[1] = layer_encoder_add(&n->p, "encoder1", &options);
    n->last = layer_linear_add(&n->p, "head", 8, 1, true);
    check(n);
}

static tensor *lstm_forward(network *n, tape *t) {
    return layer_linear_apply(t, &n->last, layer_lstm_apply(t, &n->lstm, input(n, t), n->s), ACT_SOFTPLUS);
}

static void test_lstm(void **state) {
    (void)state;
    network *n = network_new("lstm", lstm_forward, LOSS_LOG);
    read_segments(n);
    n->lstm = layer_lstm_add(&n->p, "lstm", 4, 6);
    n->last = layer_linear_add(&n->p, "head", 6, 1, true);
    check(n);
}

static tensor *batch_norm_forward(network *n, tape *t) {
    tensor *x = layer_batch_norm_apply(t, &n->norm, layer_linear_apply(t, &n->first, input(n, t), ACT_NONE));
    return layer_linear_apply(t, &n->last, nn_activate(t, x, ACT_SILU), ACT_NONE);
}

static void test_batch_norm(void **state) {
    (void)state;
    network *n = network_new("batch_norm", batch_norm_forward, LOSS_HUBER);
    n->first = layer_linear_add(&n->p, "wide", 6, 10, true);
    n->norm = layer_batch_norm_add(&n->p, "norm", 10, true);
    n->last = layer_linear_add(&n->p, "narrow", 10, 1, true);
    check(n);
}

static tensor *aggregate_forward(network *n, tape *t) {
    tensor *x = input(n, t), *parts[5];
    neighbours edges = {x->rows, n->edge_start, n->edge_from};
    for (int i = 0; i < 5; i++) parts[i] = layer_aggregate_apply(t, &n->aggregate[i], x, edges, ACT_RELU);
    tensor *sums = nn_segment_sum(t, nn_l2_normalize(t, nn_concat_columns(t, 5, parts)), n->s);
    return layer_linear_apply(t, &n->last, sums, ACT_SOFTPLUS);
}

static void test_aggregate(void **state) {
    (void)state;
    network *n = network_new("aggregate", aggregate_forward, LOSS_MAPE);
    read_segments(n);
    read_edges(n);
    static const char *const names[] = {"mean", "gcn", "max-pool", "mean-pool", "lstm"};
    for (uint32_t i = 0; i < 5; i++)
        n->aggregate[i] =
            layer_aggregate_add(&n->p, names[i], &(aggregate_options){(aggregator)i, .in = 5, .out = 3, .inner = 4});
    n->last = layer_linear_add(&n->p, "head", 30, 1, true);
    check(n);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sage),       cmocka_unit_test(test_encoder),   cmocka_unit_test(test_lstm),
        cmocka_unit_test(test_batch_norm), cmocka_unit_test(test_aggregate),
    };
    return cmocka_run_group_tests_name("nn/reference", tests, NULL, NULL);
}
