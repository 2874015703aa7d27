/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft LinearAttentionGate: the gates of LinearAttention's gated-delta recurrence.
 *
 *     decay = decay_scale * softplus(a + dt_bias),  beta = sigmoid(b) */
#include <math.h>

#include "ops/class_check.h"
#include "ops/class_rows.h"

enum { A, BIAS, SCALE, B };
enum { DECAY, BETA };

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *a = &c->inputs[A];
    pgy_status st = rank_check(c, A, 3, 3, err);
    op_set_like(c, DECAY, A);
    output_set(c, BETA, a->dtype, a->rank, a->dims);
    for (size_t i = BIAS; !st && i <= SCALE; i++) {
        st = rank_check(c, i, 1, 1, err);
        if (!st && a->rank == 3) st = dim_check(c, i, 0, a->dims[2], "the number of heads", err);
    }
    if (!st) st = rank_check(c, B, 3, 3, err);
    for (size_t d = 0; !st && op_has_input(c, B) && a->rank == 3 && d < 3; d++)
        st = dim_check(c, B, d, a->dims[d], "the same dimension of input 0", err);
    if (!st && c->node->output_count > BETA && c->wanted[BETA] && !op_has_input(c, B))
        return op_error(c->node, err, PGY_E_ARGUMENT, "output beta needs input b, which is absent");
    return st;
}

static double softplus(double x)
{
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

static void run(size_t begin, size_t end, void *user)
{
    const op_eval *c = user;
    const size_t heads = in_count(c, BIAS);
    for (size_t i = begin; i < end; i++) {
        const size_t head = i % heads;
        out_f64(c, DECAY)[i] =
            in_f64(c, SCALE)[head] * softplus(in_f64(c, A)[i] + in_f64(c, BIAS)[head]);
        if (out_f64(c, BETA)) out_f64(c, BETA)[i] = 1 / (1 + exp(-in_f64(c, B)[i]));
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const pgy_status st = inputs_check(c, "FFFf", err);
    if (st || !in_count(c, A)) return st;
    if (out_f64(c, BETA) && !in_f64(c, B))
        return op_error(c->node, err, PGY_E_ARGUMENT, "output beta needs input b, which is absent");
    rows_run(in_count(c, A), 60, run, c);
    return PGY_OK;
}

#define TYPES "float16 float32 bfloat16"

const op_def OP_linear_attention_gate[] = {
    {"LinearAttentionGate", "com.microsoft", 1, 0, 3, 4, 1, 2, 0, NULL, TYPES, infer, eval, NULL,
     .signature = "T = " TYPES "; a:T, dt_bias:float32, decay_scale:float32, ?b:T -> decay:T, "
                  "?beta:T"},
    {NULL},
};
