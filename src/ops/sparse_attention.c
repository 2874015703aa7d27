/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft SparseAttention: causal attention of a decoder. The rows of a sparse matrix list
 * the blocks of keys that each block of queries sees; heads use its layouts in turn. */
#include <inttypes.h>

#include "ops/class_group_attention.h"

enum { QUERY, KEY, VALUE, PAST_K, PAST_V, ROWS, COLUMNS, TOTAL, LENGTHS, COS, SIN, NONE };

static const op_attr_def ATTRS[] = {
    {"do_rotary", OP_ATTR_INT, false, "0"},
    {"kv_num_heads", OP_ATTR_INT, true, NULL},
    {"num_heads", OP_ATTR_INT, true, NULL},
    {"rotary_interleaved", OP_ATTR_INT, false, "0"},
    {"scale", OP_ATTR_FLOAT, false, NULL},
    {"sparse_block_size", OP_ATTR_INT, true, NULL},
    {NULL},
};

static const group_inputs INPUTS = {.query = QUERY,
                                    .key = KEY,
                                    .value = VALUE,
                                    .past_key = PAST_K,
                                    .past_value = PAST_V,
                                    .lengths = LENGTHS,
                                    .total = TOTAL,
                                    .cos = COS,
                                    .sin = SIN,
                                    .positions = NONE,
                                    .q_norm = NONE,
                                    .k_norm = NONE,
                                    .shared = true};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const int64_t block = op_attr_int(c->node, "sparse_block_size", 0);
    pgy_status st = rank_check(c, ROWS, 2, 2, err);
    if (!st) st = rank_check(c, COLUMNS, 2, 2, err);
    if (st) return st;
    if (block < 1 || block > INT32_MAX)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "attribute sparse_block_size is %" PRId64 ", but must be positive", block);
    return group_attention_infer(c, &INPUTS, err);
}

typedef struct layout {
    const int64_t *rows, *columns;
    size_t count, row_width, column_width, block;
} layout;

static bool sees(const void *user, size_t head, size_t position, size_t key)
{
    const layout *l = user;
    const size_t which = head % l->count;
    const int64_t *row = l->rows + which * l->row_width + position / l->block;
    const int64_t *columns = l->columns + which * l->column_width;
    for (int64_t i = row[0]; i < row[1]; i++)
        if (columns[i] == (int64_t)(key / l->block)) return true;
    return false;
}

static pgy_status check_layout(const op_eval *c, const layout *l, pgy_error *err)
{
    const op_node *n = c->node;
    const uint64_t heads = (uint64_t)op_attr_int(n, "num_heads", 1);
    if (!l->count || heads % l->count || in_shape(c, COLUMNS)[0] != in_shape(c, ROWS)[0] ||
        l->row_width < 2)
        return op_error(n, err, PGY_E_SHAPE,
                        "there are %zu layouts of %zu row indices, which does not fit %" PRIu64
                        " heads or the column indices",
                        l->count, l->row_width, heads);
    for (size_t i = 0; i < l->count * l->row_width; i++)
        if (l->rows[i] < 0 || (uint64_t)l->rows[i] > l->column_width)
            return op_error(n, err, PGY_E_ARGUMENT,
                            "row index %" PRId64
                            " is not in [0, %zu], the number of column indices",
                            l->rows[i], l->column_width);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_status st = inputs_check(c, "FffFFIIIIff", err);
    if (st) return st;
    const layout l = {.rows = in_i64(c, ROWS),
                      .columns = in_i64(c, COLUMNS),
                      .count = (size_t)in_shape(c, ROWS)[0],
                      .row_width = (size_t)in_shape(c, ROWS)[1],
                      .column_width = (size_t)in_shape(c, COLUMNS)[1],
                      .block = (size_t)op_attr_int(c->node, "sparse_block_size", 1)};
    group_attention g = {.causal = true, .window = -1, .bias = NONE, .sees = sees, .user = &l};
    st = check_layout(c, &l, err);
    if (!st) st = group_attention_prepare(&g, c, &INPUTS, err);
    if (!st && g.total > (l.row_width - 1) * l.block)
        st = op_error(c->node, err, PGY_E_SHAPE,
                      "there are %zu keys, but the layout has only %zu blocks of %zu", g.total,
                      l.row_width - 1, l.block);
    if (!st) st = group_attention_run(&g, err);
    group_attention_deinit(&g);
    return st;
}

const op_def OP_sparse_attention[] = {
    {"SparseAttention", "com.microsoft", 1, 0, 9, 11, 1, 3, 0, ATTRS, TYPES_F4, infer, eval, NULL,
     .signature = "T = float16 float32 float64 bfloat16; M = int32; query:T, ?key:T, ?value:T, "
                  "past_key:T, past_value:T, block_row_indices:M, block_col_indices:M, "
                  "total_sequence_length:M, key_total_sequence_lengths:M, ?cos_cache:T, "
                  "?sin_cache:T -> output:T, ?present_key:T, ?present_value:T"},
    {NULL},
};
