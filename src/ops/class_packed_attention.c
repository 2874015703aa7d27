/* SPDX-License-Identifier: Apache-2.0 */
/* mask_filter_value is added to the scores of masked keys. It is finite, so a query whose keys are
 * all masked still has a result. */
#include "ops/class_packed_attention.h"

#include <string.h>

enum { Q, K, V, MASK, PAST_K, PAST_V };

typedef struct mask_shape {
    size_t batch, heads, rows, total; /* shape of the mask to make; heads is 1 unless the input that
                                         is added to the scores differs by head */
} mask_shape;

/* Is key `col` masked for query `row`? The mask input holds numbers of keys [B], ends and then
 * starts of the keys [2 B], lengths and starts of sequences [3 B + 2], or flags [B, T], [B, S, T]
 * or, for a maximum sequence length M, [B, 1, M, M]. */
static bool is_closed(const op_eval *c, size_t input, const mask_shape *m, size_t b, size_t row,
                      size_t col)
{
    const int64_t *mask = in_i64(c, input);
    if (!mask) return false;
    if (in_rank(c, input) == 1) {
        const bool starts = m->batch && in_count(c, input) == 2 * m->batch;
        return (int64_t)col >= mask[b] || (starts && (int64_t)col < mask[m->batch + b]);
    }
    if (in_rank(c, input) == 2) return mask[b * m->total + col] == 0;
    if (in_rank(c, input) == 3) return mask[(b * m->rows + row) * m->total + col] == 0;
    const size_t most = (size_t)in_shape(c, input)[3];
    return mask[(b * most + m->total - m->rows + row) * most + col] == 0;
}

static bool mask_fits(const op_eval *c, size_t input, const mask_shape *m)
{
    const int64_t *s = in_shape(c, input);
    const size_t rank = in_rank(c, input), count = in_count(c, input);
    if (rank == 1) return count == m->batch || count == 2 * m->batch || count == 3 * m->batch + 2;
    if (rank < 2 || rank > 4 || (size_t)s[0] != m->batch) return false;
    if (rank == 4)
        return s[1] == 1 && s[2] == s[3] && (size_t)s[3] >= m->total && m->rows <= m->total;
    return (size_t)s[rank - 1] == m->total && (rank == 2 || (size_t)s[1] == m->rows);
}

static pgy_status check_mask(const op_eval *c, size_t input, const mask_shape *m, pgy_error *err)
{
    if (!in_i64(c, input) || mask_fits(c, input, m)) return PGY_OK;
    return op_error(
        c->node, err, PGY_E_SHAPE,
        "the shape of input %zu (mask) does not fit a batch of %zu with %zu queries and %zu keys",
        input, m->batch, m->rows, m->total);
}

static pgy_status check_bias(const op_eval *c, size_t input, mask_shape *m, size_t heads,
                             pgy_error *err)
{
    const int64_t *s = in_shape(c, input);
    if (!in_f64(c, input)) return PGY_OK;
    if (in_rank(c, input) == 4 && (s[0] == 1 || (uint64_t)s[0] == m->batch) &&
        (s[1] == 1 || (uint64_t)s[1] == heads) && (uint64_t)s[2] == m->rows &&
        (uint64_t)s[3] == m->total) {
        m->heads = (size_t)s[1];
        return PGY_OK;
    }
    return op_error(c->node, err, PGY_E_SHAPE,
                    "the shape of input %zu (attention_bias) does not fit the attention scores",
                    input);
}

static pgy_status make_mask(packed_attention *a, const op_eval *c, size_t heads, pgy_error *err)
{
    const int64_t *q = pgy_tensor_shape(a->parts[Q].value),
                  *k = pgy_tensor_shape(a->parts[K].value);
    const pgy_tensor *past = a->parts[PAST_K].value;
    mask_shape m = {(size_t)q[0], 1, (size_t)q[1], (size_t)k[1]};
    if (past) m.total += (size_t)pgy_tensor_shape(past)[2];
    const double filter = op_attr_float(c->node, "mask_filter_value", -10000);
    const double *bias = in_f64(c, a->bias);
    if (!bias && !in_i64(c, a->mask)) return PGY_OK;
    pgy_status st = check_mask(c, a->mask, &m, err);
    if (!st) st = check_bias(c, a->bias, &m, heads, err);
    if (st) return st;
    const size_t each = bias && in_shape(c, a->bias)[0] == 1 ? 1 : m.batch;
    const int64_t shape[4] = {q[0], (int64_t)m.heads, q[1], (int64_t)m.total};
    st = pgy_tensor_create(&a->parts[MASK].value, PGY_F64, 4, shape, err);
    if (st) return st;
    a->parts[MASK].dtype = a->parts[Q].dtype;
    double *to = op_f64(a->parts[MASK].value);
    for (size_t i = 0; i < pgy_tensor_count(a->parts[MASK].value); i++) {
        const size_t col = i % m.total, row = i / m.total % m.rows, plane = i / m.total / m.rows;
        const size_t b = plane / m.heads;
        to[i] = is_closed(c, a->mask, &m, b, row, col) ? filter : 0;
        if (bias)
            to[i] += bias[((b % each * m.heads + plane % m.heads) * m.rows + row) * m.total + col];
    }
    return PGY_OK;
}

pgy_status packed_attention_run(packed_attention *a, const op_eval *c, pgy_error *err)
{
    static const bool wanted[4] = {true, true, true, true};
    const int64_t heads = op_attr_int(c->node, "num_heads", 0);
    const float scale = (float)op_attr_float(c->node, "scale", 0);
    const op_attr attrs[] = {
        {.name = "q_num_heads", .kind = OP_ATTR_INT, .i = heads},
        {.name = "kv_num_heads", .kind = OP_ATTR_INT, .i = heads},
        {.name = "is_causal", .kind = OP_ATTR_INT, .i = op_attr_int(c->node, "unidirectional", 0)},
        {.name = "qk_matmul_output_mode", .kind = OP_ATTR_INT, .i = 3},
        {.name = "scale", .kind = OP_ATTR_FLOAT, .f = scale},
    };
    const op_node node = {.def = op_find("", "Attention", 23),
                          .name = c->node->name,
                          .opset = 23,
                          .attrs = attrs,
                          .attr_count = scale != 0 ? 5 : 4,
                          .input_count = 6,
                          .output_count = a->scores ? 4 : 3};
    op_host host = c->host ? *c->host : (op_host){0};
    host.model_precision = false;
    pgy_status st =
        heads < 1 ? op_error(c->node, err, PGY_E_ARGUMENT,
                             "attribute num_heads is %lld, but must be positive", (long long)heads)
                  : make_mask(a, c, (size_t)heads, err);
    return st ? st : op_run(&node, a->parts, a->made, wanted, &host, err);
}

void packed_attention_deinit(packed_attention *a)
{
    for (size_t i = 0; i < 6; i++) op_tensor_release(&a->parts[i]);
    for (size_t i = 0; i < 4; i++) op_tensor_release(&a->made[i]);
}
