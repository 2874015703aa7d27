/* SPDX-License-Identifier: Apache-2.0 */
/* DynamicQuantizeLSTM of com.microsoft with constant weights becomes LSTM with float32 weights, as
 * the definition computes it. */
#include <string.h>

#include "base/alloc.h"
#include "engine/passes/pass.h"
#include "tensor/convert.h"
#include "transform/pattern.h"

enum { W = 1, R = 2, W_SCALE = 8, R_SCALE = 10, LSTM_INPUTS = 8, INPUTS = 12 };

/* Weights [directions, in, columns] with one scale for each direction or column. */
typedef struct weights {
    pgy_tensor *codes, *scales, *zeros;
    size_t directions, rows, columns;
} weights;

static pgy_tensor *constant_of(pattern *p, pgy_value *v)
{
    pgy_tensor *t = NULL;
    if (!v || !pattern_is_constant(p, v)) return NULL;
    if (!p->status) p->status = fold_constant(&t, &p->f, v, p->err);
    return p->status ? NULL : t;
}

static bool read_weights(weights *w, pattern *p, const pgy_node *n, size_t at, size_t scale)
{
    *w = (weights){.codes = constant_of(p, n->inputs[at]),
                   .scales = constant_of(p, n->inputs[scale]),
                   .zeros = constant_of(p, n->inputs[scale + 1])};
    if (!w->codes || !w->scales || !w->zeros || pgy_tensor_rank(w->codes) != 3 ||
        pgy_tensor_dtype(w->scales) != PGY_F32 ||
        pgy_tensor_dtype(w->zeros) != pgy_tensor_dtype(w->codes))
        return false;
    const int64_t *s = pgy_tensor_shape(w->codes);
    const size_t scales = pgy_tensor_count(w->scales);
    w->directions = (size_t)s[0];
    w->rows = (size_t)s[1];
    w->columns = (size_t)s[2];
    return pgy_tensor_count(w->codes) && pgy_tensor_count(w->zeros) == scales &&
           (scales == w->directions || scales == w->directions * w->columns);
}

static void release(weights *w)
{
    pgy_tensor_release(w->codes);
    pgy_tensor_release(w->scales);
    pgy_tensor_release(w->zeros);
}

/* Weights of LSTM: [directions, columns, in]. */
static pgy_value *put_weights(pattern *p, const pgy_node *n, size_t at, const weights *w)
{
    const int64_t shape[] = {(int64_t)w->directions, (int64_t)w->columns, (int64_t)w->rows};
    const pgy_dtype type = pgy_tensor_dtype(w->codes);
    const bool each = pgy_tensor_count(w->scales) != w->directions;
    pgy_tensor *t = NULL;
    if (!p->status) p->status = pgy_tensor_create(&t, PGY_F32, 3, shape, p->err);
    if (p->status) return NULL;
    for (size_t i = 0; i < pgy_tensor_count(t); i++) {
        const size_t row = i % w->rows, column = i / w->rows % w->columns;
        const size_t d = i / w->rows / w->columns, s = each ? d * w->columns + column : d;
        const int64_t code = element_as_i64(type, pgy_tensor_data(w->codes),
                                            (d * w->rows + row) * w->columns + column);
        const int64_t zero = element_as_i64(type, pgy_tensor_data(w->zeros), s);
        ((float *)pgy_tensor_data(t))[i] =
            (float)((double)(code - zero) * (double)((const float *)pgy_tensor_data(w->scales))[s]);
    }
    pgy_value *made = pattern_tensor(p, n->graph, n->inputs[at]->name, t);
    pgy_tensor_release(t);
    return made;
}

static bool lower(pattern *p, pgy_node *n)
{
    static const char *const KEPT[] = {"activation_alpha", "activation_beta", "activations", "clip",
                                       "direction",        "hidden_size",     "input_forget"};
    weights w = {0}, r = {0};
    pgy_value *inputs[LSTM_INPUTS];
    if (!pattern_is(n, "com.microsoft:DynamicQuantizeLSTM") || n->input_count != INPUTS ||
        pattern_dtype(n->inputs[0]) != PGY_F32)
        return false;
    for (size_t i = 0; i < LSTM_INPUTS; i++) inputs[i] = pattern_input(n, i);
    bool good = read_weights(&w, p, n, W, W_SCALE) && read_weights(&r, p, n, R, R_SCALE);
    if (good) good = (inputs[W] = put_weights(p, n, W, &w)) != NULL;
    if (good) good = (inputs[R] = put_weights(p, n, R, &r)) != NULL;
    release(&w);
    release(&r);
    if (!good) return false;
    pgy_node *made =
        pattern_put_outputs(p, n, "LSTM", inputs, LSTM_INPUTS, n->outputs, n->output_count);
    for (size_t i = 0; i < sizeof KEPT / sizeof *KEPT; i++) pattern_copy(p, made, n, KEPT[i]);
    return true;
}

static pgy_status run(pgy_graph *g, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {lower, NULL};
    return pattern_run(g, "lower_quantized_lstm", RULES, changes, err);
}

const pass PASS_lower_quantized_lstm = {
    .name = "lower_quantized_lstm", .summary = "LSTM with quantised weights", .run = run};
