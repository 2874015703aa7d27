/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft MatMulNBits: a float matrix times the transpose of weights [N, K] of 2, 4 or 8
 * bits, in blocks along K, each with a scale and a zero point. Packed values begin at the low bits
 * of a byte; B is [N, blocks, bytes of a block], packed zero points [N, bytes of a row]. */
#include <inttypes.h>

#include "base/alloc.h"
#include "ops/class_matmul.h"
#include "ops/class_rows.h"

enum { A, B, SCALES, ZEROS, G_IDX, BIAS };

static const op_attr_def ATTRS[] = {
    {"K", OP_ATTR_INT, true, NULL},
    {"N", OP_ATTR_INT, true, NULL},
    {"accuracy_level", OP_ATTR_INT, false, "0"},
    {"bits", OP_ATTR_INT, false, "4"},
    {"block_size", OP_ATTR_INT, true, NULL},
    {"weight_prepacked", OP_ATTR_INT, false, "0"},
    {NULL},
};

static pgy_status check_attrs(const op_node *n, pgy_error *err)
{
    static const char *const SIZES[] = {"K", "N", "block_size"};
    const int64_t bits = op_attr_int(n, "bits", 4);
    if (bits != 2 && bits != 4 && bits != 8)
        return op_error(n, err, PGY_E_UNSUPPORTED,
                        "attribute bits is %" PRId64 "; only 2, 4 and 8 are supported", bits);
    if (op_attr_int(n, "weight_prepacked", 0))
        return op_error(n, err, PGY_E_UNSUPPORTED, "prepacked weights are not supported");
    for (size_t i = 0; i < 3; i++) {
        const int64_t size = op_attr_int(n, SIZES[i], 0);
        if (size < 1 || size > INT32_MAX)
            return op_error(n, err, PGY_E_ARGUMENT,
                            "attribute %s is %" PRId64 ", which is out of range", SIZES[i], size);
    }
    if (op_attr_int(n, "block_size", 0) * bits % 8)
        return op_error(n, err, PGY_E_ARGUMENT,
                        "a block of %" PRId64 " values does not fill whole bytes",
                        op_attr_int(n, "block_size", 0));
    return PGY_OK;
}

/* Checks the number of elements of an input whose shape is known. */
static pgy_status check_count(op_infer *c, size_t input, int64_t wanted, pgy_error *err)
{
    const op_value *v = &c->inputs[input];
    dim count;
    if (!op_has_input(c, input) || !rule_count(c, &count, v->rank, v->dims) ||
        !dim_is_const(count) || count.value == wanted)
        return PGY_OK;
    return op_error(c->node, err, PGY_E_SHAPE,
                    "input %zu has %" PRId64 " elements, but %" PRId64 " are needed", input,
                    count.value, wanted);
}

static pgy_status check_counts(op_infer *c, pgy_error *err)
{
    const int64_t n = op_attr_int(c->node, "N", 0), k = op_attr_int(c->node, "K", 0);
    const int64_t bits = op_attr_int(c->node, "bits", 4);
    const int64_t block = op_attr_int(c->node, "block_size", 0), blocks = (k + block - 1) / block;
    const bool packed = op_has_input(c, ZEROS) && c->inputs[ZEROS].dtype == PGY_U8;
    pgy_status st = check_count(c, B, n * (blocks * (block * bits / 8)), err);
    if (!st) st = check_count(c, SCALES, n * blocks, err);
    if (!st) st = check_count(c, ZEROS, n * (packed ? (blocks * bits + 7) / 8 : blocks), err);
    if (!st) st = check_count(c, BIAS, n, err);
    return st;
}

/* Checks the blocks that a known g_idx names. */
static pgy_status check_groups(op_infer *c, pgy_error *err)
{
    const int64_t k = op_attr_int(c->node, "K", 0), block = op_attr_int(c->node, "block_size", 0);
    const dim *groups;
    size_t count;
    if (!rule_values(c, G_IDX, &groups, &count)) return PGY_OK;
    if (count < (size_t)k)
        return op_error(c->node, err, PGY_E_SHAPE, "g_idx has %zu elements, but K is %" PRId64,
                        count, k);
    for (size_t i = 0; i < (size_t)k; i++)
        if (dim_is_const(groups[i]) &&
            (groups[i].value < 0 || groups[i].value >= (k + block - 1) / block))
            return op_error(c->node, err, PGY_E_ARGUMENT,
                            "g_idx has block %" PRId64 ", but there are only %" PRId64 " blocks",
                            groups[i].value, (k + block - 1) / block);
    return PGY_OK;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[A];
    pgy_status st = check_attrs(c->node, err);
    if (!st) st = rank_check(c, A, 1, PGY_MAX_RANK, err);
    if (!st) st = check_counts(c, err);
    if (!st) st = check_groups(c, err);
    if (st) return st;
    if (x->rank < 0) {
        op_set_unknown(c, 0, x->dtype, -1, "the shape of the input is not known");
        return PGY_OK;
    }
    const size_t last = (size_t)x->rank - 1;
    st = dim_check(c, A, last, dim_const(op_attr_int(c->node, "K", 0)), "K", err);
    dim *dims = rule_copy_dims(c, x);
    if (st) return st;
    if (!dims) return rule_no_memory(c->node, err);
    dims[last] = dim_const(op_attr_int(c->node, "N", 0));
    op_set_output(c, 0, x->dtype, x->rank, dims);
    return PGY_OK;
}

typedef struct weights {
    const op_eval *c;
    size_t n, k, bits, block, blocks, block_bytes,
        zero_bytes; /* zero_bytes: bytes of the packed zero points of one row */
    double *to;
} weights;

static int64_t unpack(const int64_t *bytes, size_t i, size_t bits)
{
    return bytes[i * bits / 8] >> (i * bits % 8) & ((1 << bits) - 1);
}

static double zero_of(const weights *w, size_t row, size_t block)
{
    const pgy_tensor *zeros = w->c->node->input_count > ZEROS ? w->c->inputs[ZEROS].value : NULL;
    if (!zeros) return (double)(1 << (w->bits - 1));
    if (pgy_tensor_dtype(zeros) == PGY_F64) return op_f64(zeros)[row * w->blocks + block];
    return (double)unpack(op_i64(zeros) + row * w->zero_bytes, block, w->bits);
}

static void unpack_rows(size_t begin, size_t end, void *user)
{
    const weights *w = user;
    const int64_t *groups = in_i64(w->c, G_IDX);
    for (size_t row = begin; row < end; row++)
        for (size_t i = 0; i < w->k; i++) {
            const size_t block = groups ? (size_t)groups[i] : i / w->block;
            const int64_t *bytes =
                in_i64(w->c, B) + (row * w->blocks + i / w->block) * w->block_bytes;
            const double q = (double)unpack(bytes, i % w->block, w->bits);
            w->to[row * w->k + i] =
                (q - zero_of(w, row, block)) * in_f64(w->c, SCALES)[row * w->blocks + block];
        }
}

static pgy_status check_sizes(const weights *w, pgy_error *err)
{
    const op_eval *c = w->c;
    const pgy_tensor *zeros = c->node->input_count > ZEROS ? c->inputs[ZEROS].value : NULL;
    const bool packed = zeros && pgy_tensor_dtype(zeros) == PGY_I64;
    const struct {
        size_t input, wanted;
        bool given;
    } SIZES[] = {{B, w->n * w->blocks * w->block_bytes, true},
                 {SCALES, w->n * w->blocks, true},
                 {ZEROS, w->n * (packed ? w->zero_bytes : w->blocks), zeros != NULL},
                 {BIAS, w->n, in_f64(c, BIAS) != NULL}};
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++)
        if (SIZES[i].given && in_count(c, SIZES[i].input) != SIZES[i].wanted)
            return op_error(c->node, err, PGY_E_SHAPE,
                            "input %zu has %zu elements, but %zu are needed", SIZES[i].input,
                            in_count(c, SIZES[i].input), SIZES[i].wanted);
    const int64_t *groups = in_i64(c, G_IDX);
    if (groups && in_count(c, G_IDX) < w->k)
        return op_error(c->node, err, PGY_E_SHAPE, "g_idx has %zu elements, but K is %zu",
                        in_count(c, G_IDX), w->k);
    for (size_t i = 0; groups && i < w->k; i++)
        if (groups[i] < 0 || (uint64_t)groups[i] >= w->blocks)
            return op_error(c->node, err, PGY_E_ARGUMENT,
                            "g_idx has block %" PRId64 ", but there are only %zu blocks", groups[i],
                            w->blocks);
    if (zeros && !packed && pgy_tensor_dtype(zeros) != PGY_F64)
        return op_error(c->node, err, PGY_E_TYPE,
                        "the zero points have type %s, which is not supported",
                        pgy_dtype_name(c->inputs[ZEROS].dtype));
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const op_node *n = c->node;
    pgy_status st = inputs_check(c, "FIF*if", err);
    if (st) return st;
    weights w = {.c = c,
                 .n = (size_t)op_attr_int(n, "N", 0),
                 .k = (size_t)op_attr_int(n, "K", 0),
                 .bits = (size_t)op_attr_int(n, "bits", 4),
                 .block = (size_t)op_attr_int(n, "block_size", 0)};
    w.blocks = (w.k + w.block - 1) / w.block;
    w.block_bytes = w.block * w.bits / 8;
    w.zero_bytes = (w.blocks * w.bits + 7) / 8;
    st = check_sizes(&w, err);
    if (!st) st = workspace_alloc((void **)&w.to, c, w.n * w.k, sizeof *w.to, err);
    if (st) return st;
    rows_run(w.n, w.k * 8, unpack_rows, &w);
    const size_t rows = in_count(c, A) / w.k;
    st = gemm_f64(rows, w.n, w.k, (gemm_matrix){in_f64(c, A), (int64_t)w.k, 1},
                  (gemm_matrix){w.to, 1, (int64_t)w.k}, out_f64(c, 0), w.n, false, err);
    const double *bias = in_f64(c, BIAS);
    for (size_t i = 0; !st && bias && i < rows * w.n; i++) out_f64(c, 0)[i] += bias[i % w.n];
    mem_free(w.to);
    return st;
}

static double flops(const op_infer *c)
{
    return 2 * dims_product(&c->inputs[A]) * (double)op_attr_int(c->node, "N", 0);
}

const op_def OP_mat_mul_n_bits[] = {
    {"MatMulNBits", "com.microsoft", 1, 0, 3, 6, 1, 1, 0, ATTRS, TYPES_F4, infer, eval, flops,
     .signature = "T1 = float16 float32 float64 bfloat16; T2 = uint8; T3 = float16 float32 "
                  "bfloat16 uint8; T4 = int32; A:T1, B:T2, scales:T1, ?zero_points:T3, "
                  "?g_idx:T4, ?bias:T1 -> Y:T1"},
    {NULL},
};
