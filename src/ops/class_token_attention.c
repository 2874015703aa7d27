/* SPDX-License-Identifier: Apache-2.0 */
/* Attention over packed sequences: each token sees all tokens of its own sequence. */
#include "ops/class_token_attention.h"

#include <inttypes.h>
#include <math.h>

#include "base/alloc.h"
#include "ops/class_rows.h"

static pgy_status check_bias(const token_attention *a, pgy_error *err)
{
    const op_eval *c = a->c;
    const int64_t *shape = in_shape(c, a->bias);
    const int64_t batch = in_shape(c, a->offsets)[0], length = in_shape(c, a->offsets)[1];
    if (!in_f64(c, a->bias)) return PGY_OK;
    if (in_rank(c, a->bias) == 4 && (shape[0] == 1 || shape[0] == batch) &&
        (shape[1] == 1 || shape[1] == (int64_t)a->heads) && shape[2] == length &&
        shape[3] == length)
        return PGY_OK;
    return op_error(c->node, err, PGY_E_SHAPE,
                    "input %zu (attention_bias) must have the shape [1 or %" PRId64
                    ", 1 or %zu, %" PRId64 ", %" PRId64 "]",
                    a->bias, batch, a->heads, length, length);
}

pgy_status token_attention_check(const token_attention *a, pgy_error *err)
{
    const op_eval *c = a->c;
    if (in_rank(c, a->offsets) != 2 || in_rank(c, a->firsts) != 1 ||
        in_shape(c, a->firsts)[0] - 1 != in_shape(c, a->offsets)[0])
        return op_error(c->node, err, PGY_E_SHAPE,
                        "token_offset must have the shape [batch, length], and "
                        "cumulative_sequence_length [batch + 1]");
    const int64_t *firsts = in_i64(c, a->firsts), length = in_shape(c, a->offsets)[1];
    const size_t batch = in_count(c, a->firsts) - 1;
    for (size_t i = 0; i < batch; i++)
        if (firsts[i + 1] < firsts[i] || firsts[i + 1] - firsts[i] > length)
            return op_error(c->node, err, PGY_E_ARGUMENT,
                            "sequence %zu goes from token %" PRId64 " to %" PRId64
                            ", but its length must be 0 to %" PRId64,
                            i, firsts[i], firsts[i + 1], length);
    if (firsts[0] != 0 || firsts[batch] != (int64_t)a->tokens)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "cumulative_sequence_length goes from %" PRId64 " to %" PRId64
                        ", but must go from 0 to the %zu tokens",
                        firsts[0], firsts[batch], a->tokens);
    return check_bias(a, err);
}

static double element(const token_part *p, size_t token, size_t head, size_t i)
{
    const double x = p->data[token * p->stride + head * p->head + i];
    return p->bias ? x + p->bias[head * p->size + i] : x;
}

/* Row of the bias for a query; NULL: there is none. */
static const double *bias_row(const token_attention *a, size_t sequence, size_t head, size_t query)
{
    const double *bias = in_f64(a->c, a->bias);
    const int64_t *shape = in_shape(a->c, a->bias);
    if (!bias) return NULL;
    const size_t b = shape[0] == 1 ? 0 : sequence, h = shape[1] == 1 ? 0 : head;
    const size_t length = (size_t)shape[3];
    return bias + ((b * (size_t)shape[1] + h) * length + query) * length;
}

static void attend(const token_attention *a, size_t sequence, size_t head, double *scores)
{
    const int64_t *firsts = in_i64(a->c, a->firsts);
    const size_t first = (size_t)firsts[sequence], end = (size_t)firsts[sequence + 1];
    const size_t width = a->heads * a->value.size;
    for (size_t q = first; q < end; q++) {
        const double *bias = bias_row(a, sequence, head, q - first);
        double most = -INFINITY, sum = 0;
        for (size_t k = first; k < end; k++) {
            double dot = 0;
            for (size_t i = 0; i < a->query.size; i++)
                dot += element(&a->query, q, head, i) * element(&a->key, k, head, i);
            const double score = dot * a->scale + (bias ? bias[k - first] : 0);
            scores[k - first] = score;
            if (score > most) most = score;
        }
        for (size_t k = 0; k < end - first; k++) sum += scores[k] = exp(scores[k] - most);
        double *y = out_f64(a->c, 0) + q * width + head * a->value.size;
        for (size_t i = 0; i < a->value.size; i++) {
            double mixed = 0;
            for (size_t k = first; k < end; k++)
                mixed += scores[k - first] * element(&a->value, k, head, i);
            y[i] = mixed / sum;
        }
    }
}

typedef struct job {
    const token_attention *a;
    double *scores; /* a row for each pair of sequence and head */
    size_t length;
} job;

static void run(size_t begin, size_t end, void *user)
{
    const job *j = user;
    for (size_t i = begin; i < end; i++)
        attend(j->a, i / j->a->heads, i % j->a->heads, j->scores + i * j->length);
}

pgy_status token_attention_run(const token_attention *a, pgy_error *err)
{
    const size_t batch = in_count(a->c, a->firsts) - 1;
    job j = {.a = a, .length = (size_t)in_shape(a->c, a->offsets)[1]};
    if (!out_count(a->c, 0)) return PGY_OK;
    size_t rows;
    if (!size_mul(&rows, batch, a->heads) || !size_mul(&rows, rows, j.length))
        return rule_no_memory(a->c->node, err);
    const pgy_status st = workspace_alloc((void **)&j.scores, a->c, rows, sizeof(double), err);
    if (st) return st;
    rows_run(batch * a->heads, 4 * j.length * j.length * (a->query.size + a->value.size), run, &j);
    mem_free(j.scores);
    return PGY_OK;
}
