/* SPDX-License-Identifier: Apache-2.0 */
/* DepthToSpace and SpaceToDepth: moves channels to b x b blocks of pixels, and back. Both are one
 * strided copy between [N, C, H * b, W * b] and [N, C * b * b, H, W], whose channels are ordered
 * depth-column-row (DCR, the block position is the slower index) or column-row-depth (CRD, the
 * faster one). */
#include <string.h>

#include "ops/move.h"
#include "ops/rule.h"

static const op_attr_def ATTRS_1[] = {
    {"blocksize", OP_ATTR_INT, true, NULL, NULL, "1.."},
    {0},
};
static const op_attr_def ATTRS_MODE[] = {
    {"blocksize", OP_ATTR_INT, true, NULL, NULL, "1.."},
    {"mode", OP_ATTR_STRING, false, "DCR", "DCR CRD"},
    {0},
};

static bool to_space(const op_node *n)
{
    return strcmp(n->def->name, "DepthToSpace") == 0;
}

static pgy_status block_size(int64_t *out, const op_node *n, pgy_error *err)
{
    *out = op_attr_int(n, "blocksize", 0);
    if (*out >= 1 && *out <= 1 << 15) return PGY_OK;
    return op_error(n, err, PGY_E_ARGUMENT, "attribute blocksize is %lld, but must be positive",
                    (long long)*out);
}

static pgy_status divide(op_infer *c, dim *out, dim size, int64_t by, pgy_error *err)
{
    if (dim_is_const(size) && size.value % by)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "a dimension of %lld is not a multiple of %lld, as blocksize demands",
                        (long long)size.value, (long long)by);
    *out = dim_div_floor(c->dims, size, dim_const(by));
    return PGY_OK;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    int64_t b;
    pgy_status st = block_size(&b, c->node, err);
    if (st) return st;
    if (x->rank < 0) {
        op_set_unknown(c, 0, x->dtype, 4, "the shape of the input is not known");
        return PGY_OK;
    }
    if (x->rank != 4)
        return op_error(c->node, err, PGY_E_SHAPE, "the input has rank %d, but must have rank 4",
                        x->rank);
    dim *dims = rule_copy_dims(c, x);
    if (!dims) return rule_no_memory(c->node, err);
    if (to_space(c->node)) {
        st = divide(c, &dims[1], x->dims[1], b * b, err);
        dims[2] = dim_mul(c->dims, x->dims[2], dim_const(b));
        dims[3] = dim_mul(c->dims, x->dims[3], dim_const(b));
    } else {
        dims[1] = dim_mul(c->dims, x->dims[1], dim_const(b * b));
        st = divide(c, &dims[2], x->dims[2], b, err);
        if (!st) st = divide(c, &dims[3], x->dims[3], b, err);
    }
    if (!st) op_set_output(c, 0, x->dtype, 4, dims);
    return st;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *x, *y;
    int64_t b = 1;
    pgy_status st = rule_input(c, 0, &x, err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (!st) st = block_size(&b, c->node, err);
    const bool dcr = op_attr_is(c->node, "mode", "DCR", "DCR");
    if (!st && !dcr && !op_attr_is(c->node, "mode", "CRD", NULL))
        st = op_error(c->node, err, PGY_E_ARGUMENT, "attribute mode must be 'DCR' or 'CRD'");
    if (st) return st;
    const int64_t *deep = pgy_tensor_shape(to_space(c->node) ? x : y);
    const int64_t depth = deep[1] / (b * b), height = deep[2], width = deep[3],
                  pixels = height * width;
    const int64_t channel = dcr ? 1 : b * b, step = dcr ? depth : 1;
    /* Dimensions: batch, depth, row, row in block, column, column in block. */
    move_box box = {.rank = 6};
    const int64_t size[] = {deep[0], depth, height, b, width, b};
    const int64_t in_deep[] = {deep[1] * pixels, channel * pixels, width, b * step * pixels, 1,
                               step * pixels};
    const int64_t line = width * b;
    const int64_t in_wide[] = {deep[1] * pixels, pixels * b * b, line * b, line, b, 1};
    const int64_t *to = to_space(c->node) ? in_wide : in_deep,
                  *from = to_space(c->node) ? in_deep : in_wide;
    for (size_t d = 0; d < 6; d++) {
        box.size[d] = (size_t)size[d];
        box.to[d] = to[d];
        box.from[d] = from[d];
    }
    move_copy(pgy_tensor_data(y), pgy_tensor_data(x), move_size(pgy_tensor_dtype(x)), &box);
    return move_own(y, err);
}

const op_def OP_depth_to_space[] = {
    RULE_ROW("DepthToSpace", 1, 1, 1, ATTRS_1, infer, eval),
    RULE_ROW("DepthToSpace", 11, 1, 1, ATTRS_MODE, infer, eval),
    RULE_ROW("SpaceToDepth", 1, 1, 1, ATTRS_1, infer, eval),
    RULE_ROW("SpaceToDepth", 28, 1, 1, ATTRS_MODE, infer, eval),
    {0},
};
