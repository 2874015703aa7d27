/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft GemmaRotaryEmbedding: queries and keys [batch, heads, tokens, size] times the
 * cosines of angles [batch, tokens, size], plus their rotated halves times the sines. Cosines and
 * sines are rounded to float16, as the operator's definition casts them. */
#include <math.h>

#include "ops/class_check.h"
#include "ops/class_rows.h"
#include "tensor/convert.h"

enum { ANGLES, Q, Q_ROT, K, K_ROT };

static pgy_status infer(op_infer *c, pgy_error *err)
{
    pgy_status st = rank_check(c, ANGLES, 3, 3, err);
    for (size_t i = Q; !st && i <= K_ROT; i++) {
        const size_t as = i == Q_ROT || i == K_ROT ? i - 1 : i;
        st = rank_check(c, i, 4, 4, err);
        for (size_t d = 0; !st && rank_known(c, as) && as != i && d < 4; d++)
            st = dim_check(c, i, d, c->inputs[as].dims[d], "the same dimension before its rotation",
                           err);
        for (size_t d = 0; !st && rank_known(c, ANGLES) && d < 3; d++)
            st = dim_check(c, i, d ? d + 1 : 0, c->inputs[ANGLES].dims[d],
                           "the same dimension of the angles", err);
    }
    if (st) return st;
    op_set_like(c, 0, Q);
    if (c->node->output_count > 1) op_set_like(c, 1, K);
    return PGY_OK;
}

typedef struct rotation {
    const op_eval *c;
    size_t which, heads, tokens, size;
} rotation;

static void run(size_t begin, size_t end, void *user)
{
    const rotation *r = user;
    const double *x = in_f64(r->c, r->which ? K : Q),
                 *turned = in_f64(r->c, r->which ? K_ROT : Q_ROT);
    double *y = out_f64(r->c, r->which);
    for (size_t row = begin; row < end; row++) {
        const size_t token = row % r->tokens, batch = row / r->tokens / r->heads;
        const double *angle = in_f64(r->c, ANGLES) + (batch * r->tokens + token) * r->size;
        for (size_t i = 0; i < r->size; i++) {
            const double cosine = float_round(PGY_F16, cos(angle[i]), false),
                         sine = float_round(PGY_F16, sin(angle[i]), false);
            y[row * r->size + i] = x[row * r->size + i] * cosine + turned[row * r->size + i] * sine;
        }
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const pgy_status st = inputs_check(c, "FFFFF", err);
    if (st) return st;
    for (size_t i = 0; i < 2; i++) {
        if (!out_count(c, i)) continue;
        const int64_t *shape = out_shape(c, i);
        rotation r = {c, i, (size_t)shape[1], (size_t)shape[2], (size_t)shape[3]};
        rows_run((size_t)(shape[0] * shape[1] * shape[2]), 60 * r.size, run, &r);
    }
    return PGY_OK;
}

const op_def OP_gemma_rotary_embedding[] = {
    {"GemmaRotaryEmbedding", "com.microsoft", 1, 0, 5, 5, 2, 2, 0, NULL, "float32", infer, eval,
     NULL,
     .signature = "T = float16; U = float32; emb:U, q:T, q_rot:T, k:T, k_rot:T -> output1:T, "
                  "output2:T"},
    {NULL},
};
