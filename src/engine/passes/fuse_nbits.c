/* SPDX-License-Identifier: Apache-2.0 */
/* Products with weights that a DequantizeLinear makes of 2 or 4 bits, or of blocks of bytes, become
 * MatMulNBits of com.microsoft, so that the weights stay packed. */
#include <string.h>

#include "base/alloc.h"
#include "engine/passes/pass.h"
#include "tensor/convert.h"
#include "transform/pattern.h"

enum { TILE = 64 };

/* Weights [K, N], or [N, K] if `turned`, in blocks along K. */
typedef struct weights {
    pgy_node *node;                     /* the DequantizeLinear */
    pgy_tensor *codes, *scales, *zeros; /* zeros: NULL if there are none */
    int64_t k, n, block, blocks;
    uint32_t bits;
    bool is_signed, turned;
    bool per_block; /* else there is one scale for each column, or one for all */
} weights;

/* ---- Reading -------------------------------------------------------------------------------- */

static uint32_t bits_of(pgy_dtype t)
{
    if (t == PGY_I2 || t == PGY_U2) return 2;
    if (t == PGY_I4 || t == PGY_U4) return 4;
    return t == PGY_I8 || t == PGY_U8 ? 8 : 0;
}

/* Finds what the scales belong to. A block of all K is a whole number of bytes. */
static bool read_blocks(weights *w)
{
    const pgy_node *n = w->node;
    const pgy_value *scale = n->inputs[1];
    const int64_t block = pattern_int(n, "block_size", 0), per = 8 / w->bits;
    int64_t axis = pattern_int(n, "axis", 1);
    if (axis < 0) axis += 2;
    if (axis < 0 || axis > 1) return false;
    if (block) {
        if (axis != w->turned || block < 1 || block > INT32_MAX || block % per) return false;
        w->block = block;
        w->blocks = (w->k + block - 1) / block;
        w->per_block = true;
        return pattern_rank(scale) == 2 && pattern_size(scale, w->turned) == w->blocks &&
               pattern_size(scale, !w->turned) == w->n;
    }
    w->block = (w->k + per - 1) / per * per;
    w->blocks = 1;
    if (pattern_rank(scale) == 0) return w->bits < 8;
    return w->bits < 8 && axis != w->turned && pattern_rank(scale) == 1 &&
           pattern_size(scale, 0) == w->n;
}

static bool find_weights(weights *w, pattern *p, const pgy_value *v, bool turned)
{
    pgy_node *n = pattern_from(v, "DequantizeLinear");
    *w = (weights){.node = n, .turned = turned};
    if (!n || !pattern_is_inner(v) || pattern_rank(v) != 2) return false;
    for (size_t i = 0; i < n->input_count; i++)
        if (pattern_input(n, i) && !pattern_is_constant(p, n->inputs[i])) return false;
    const pgy_dtype type = pattern_dtype(n->inputs[0]), float_type = pattern_dtype(v);
    w->bits = bits_of(type);
    w->is_signed = type == PGY_I2 || type == PGY_I4 || type == PGY_I8;
    w->k = pattern_size(n->inputs[0], turned);
    w->n = pattern_size(n->inputs[0], !turned);
    if (float_type != PGY_F32 && float_type != PGY_F16 && float_type != PGY_BF16) return false;
    return w->bits && pattern_dtype(n->inputs[1]) == float_type && w->k > 0 && w->n > 0 &&
           w->k <= INT32_MAX && w->n <= INT32_MAX && read_blocks(w);
}

/* A constant integer tensor as bytes of its signedness. */
static pgy_tensor *bytes_of(pattern *p, pgy_value *v, bool is_signed)
{
    pgy_tensor *t = NULL, *wide = NULL;
    if (!p->status) p->status = fold_constant(&t, &p->f, v, p->err);
    if (!p->status && t)
        p->status = pgy_tensor_cast(&wide, pgy_tensor_view(t), is_signed ? PGY_I8 : PGY_U8, p->err);
    pgy_tensor_release(t);
    return p->status ? NULL : wide;
}

static bool read_weights(weights *w, pattern *p)
{
    pgy_value *zero = pattern_input(w->node, 2);
    w->codes = bytes_of(p, w->node->inputs[0], w->is_signed);
    if (!p->status) p->status = fold_constant(&w->scales, &p->f, w->node->inputs[1], p->err);
    if (zero) w->zeros = bytes_of(p, zero, w->is_signed);
    return w->codes && w->scales && (!zero || w->zeros) &&
           (!zero || pgy_tensor_count(w->zeros) == pgy_tensor_count(w->scales));
}

static void release(weights *w)
{
    pgy_tensor_release(w->codes);
    pgy_tensor_release(w->scales);
    pgy_tensor_release(w->zeros);
}

/* ---- Making --------------------------------------------------------------------------------- */

static pgy_tensor *create(pattern *p, pgy_dtype dtype, size_t rank, const int64_t *shape)
{
    pgy_tensor *t = NULL;
    if (!p->status) p->status = pgy_tensor_create(&t, dtype, rank, shape, p->err);
    if (p->status) return NULL;
    memset(pgy_tensor_data(t), 0, pgy_tensor_size_bytes(t));
    return t;
}

/* A byte as MatMulNBits counts: from 0. */
static uint32_t code_of(const weights *w, const pgy_tensor *t, size_t i)
{
    const uint8_t byte = ((const uint8_t *)pgy_tensor_data(t))[i];
    const uint32_t half = 1u << (w->bits - 1);
    return (byte + (w->is_signed ? half : 0)) & (2 * half - 1);
}

/* Index of the scale of column n and a block. */
static size_t scale_of(const weights *w, int64_t n, int64_t block)
{
    if (pgy_tensor_count(w->scales) == 1) return 0;
    if (!w->per_block) return (size_t)n;
    return (size_t)(w->turned ? n * w->blocks + block : block * w->n + n);
}

/* Columns are taken TILE at a time, so that rows of the source are read in pieces. */
static void pack_codes(uint8_t *to, const weights *w)
{
    const int64_t row = w->blocks * w->block;
    for (int64_t first = 0; first < w->n; first += TILE) {
        const int64_t end = first + TILE < w->n ? first + TILE : w->n;
        for (int64_t k = 0; k < w->k; k++)
            for (int64_t n = first; n < end; n++) {
                const size_t at = (size_t)(w->turned ? n * w->k + k : k * w->n + n);
                const size_t bit = (size_t)(n * row + k) * w->bits;
                to[bit / 8] |= (uint8_t)(code_of(w, w->codes, at) << bit % 8);
            }
    }
}

static pgy_value *put_codes(pattern *p, const weights *w)
{
    const int64_t shape[] = {w->n, w->blocks, w->block * w->bits / 8};
    pgy_tensor *t = create(p, PGY_U8, 3, shape);
    pgy_value *made = NULL;
    if (!t) return NULL;
    pack_codes(pgy_tensor_data(t), w);
    made = pattern_tensor(p, w->node->graph, w->node->inputs[0]->name, t);
    pgy_tensor_release(t);
    return made;
}

static pgy_value *put_scales(pattern *p, const weights *w)
{
    const int64_t shape[] = {w->n, w->blocks};
    const size_t item = pgy_tensor_dtype(w->scales) == PGY_F32 ? 4 : 2;
    pgy_tensor *t = create(p, pgy_tensor_dtype(w->scales), 2, shape);
    pgy_value *made = NULL;
    if (!t) return NULL;
    for (int64_t i = 0; i < w->n * w->blocks; i++)
        memcpy((char *)pgy_tensor_data(t) + (size_t)i * item,
               (const char *)pgy_tensor_data(w->scales) +
                   scale_of(w, i / w->blocks, i % w->blocks) * item,
               item);
    made = pattern_tensor(p, w->node->graph, w->node->inputs[1]->name, t);
    pgy_tensor_release(t);
    return made;
}

/* Signed codes without zero points have that of MatMulNBits; unsigned ones have 0. */
static pgy_value *put_zeros(pattern *p, const weights *w)
{
    const int64_t shape[] = {w->n, (w->blocks * w->bits + 7) / 8};
    pgy_tensor *t = create(p, PGY_U8, 2, shape);
    pgy_value *made = NULL;
    if (!t) return NULL;
    uint8_t *to = pgy_tensor_data(t);
    for (int64_t n = 0; w->zeros && n < w->n; n++)
        for (int64_t b = 0; b < w->blocks; b++) {
            const size_t bit = (size_t)b * w->bits;
            to[(size_t)(n * shape[1]) + bit / 8] |=
                (uint8_t)(code_of(w, w->zeros, scale_of(w, n, b)) << bit % 8);
        }
    made = pattern_tensor(p, w->node->graph, "zero_points", t);
    pgy_tensor_release(t);
    return made;
}

static bool put(pattern *p, pgy_node *n, weights *w, pgy_value *bias)
{
    pgy_value *inputs[6] = {n->inputs[0], NULL, NULL, NULL, NULL, bias};
    bool good = read_weights(w, p);
    if (good) inputs[1] = put_codes(p, w);
    if (inputs[1]) inputs[2] = put_scales(p, w);
    if (inputs[2] && (w->zeros || !w->is_signed)) {
        inputs[3] = put_zeros(p, w);
        good = inputs[3] != NULL;
    }
    if (good && inputs[2]) {
        pgy_node *made = pattern_put(p, n, "com.microsoft:MatMulNBits", inputs, bias ? 6 : 4);
        pattern_set_int(p, made, "K", w->k);
        pattern_set_int(p, made, "N", w->n);
        pattern_set_int(p, made, "bits", w->bits);
        pattern_set_int(p, made, "block_size", w->block);
    }
    release(w);
    return good && inputs[2];
}

/* ---- Rules ---------------------------------------------------------------------------------- */

static bool fuse_matmul(pattern *p, pgy_node *n)
{
    weights w;
    return pattern_is(n, "MatMul") && pattern_rank(n->inputs[0]) > 0 &&
           find_weights(&w, p, n->inputs[1], false) && put(p, n, &w, NULL);
}

static bool fuse_gemm(pattern *p, pgy_node *n)
{
    weights w;
    if (!pattern_is(n, "Gemm") || pattern_int(n, "transA", 0) || pattern_float(n, "alpha", 1) != 1)
        return false;
    pgy_value *c = pattern_input(n, 2);
    if (!find_weights(&w, p, n->inputs[1], pattern_int(n, "transB", 0) != 0)) return false;
    if (c && (pattern_float(n, "beta", 1) != 1 || pattern_rank(c) != 1 ||
              pattern_size(c, 0) != w.n || pattern_dtype(c) != pattern_dtype(n->outputs[0])))
        return false;
    return put(p, n, &w, c);
}

/* A bias that is added later. */
static bool add_bias(pattern *p, pgy_node *n)
{
    pgy_node *add = pattern_user(n);
    if (!pattern_is(n, "com.microsoft:MatMulNBits") || pattern_input(n, 5) ||
        !pattern_is(add, "Add"))
        return false;
    pgy_value *bias = pattern_other(add, n->outputs[0]), *inputs[6] = {NULL};
    if (!bias || pattern_rank(bias) != 1 || !pattern_is_constant(p, bias) ||
        pattern_size(bias, 0) != pattern_int(n, "N", 0) || pattern_rank(n->outputs[0]) < 1)
        return false;
    for (size_t i = 0; i < 5; i++) inputs[i] = pattern_input(n, i);
    inputs[5] = bias;
    static const char *const KEPT[] = {"K", "N", "bits", "block_size", "accuracy_level"};
    pgy_node *made = pattern_put(p, add, "com.microsoft:MatMulNBits", inputs, 6);
    for (size_t i = 0; i < sizeof KEPT / sizeof *KEPT; i++) pattern_copy(p, made, n, KEPT[i]);
    return true;
}

static pgy_status run(pgy_graph *g, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {fuse_matmul, fuse_gemm, add_bias, NULL};
    return pattern_run(g, "fuse_nbits", RULES, changes, err);
}

const pass PASS_fuse_nbits = {
    .name = "fuse_nbits", .summary = "products with weights of a few bits", .run = run};
