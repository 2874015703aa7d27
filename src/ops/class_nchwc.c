/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on blocked images: the standard operator runs on row-major copies, and its output is
 * converted back to the blocked layout. The declared shapes are the same for both layouts. */
#include "ops/class_nchwc.h"

#include "ops/move.h"

enum { MAX_INPUTS = 4 };

pgy_status nchwc_block(size_t *out, const op_node *n, pgy_error *err)
{
    const int64_t block = op_attr_int(n, "block_size", 16);
    if (block != 8 && block != 16)
        return op_error(n, err, PGY_E_ARGUMENT, "attribute block_size is %lld, but must be 8 or 16",
                        (long long)block);
    *out = (size_t)block;
    return PGY_OK;
}

static pgy_status reorder(pgy_tensor **out, const op_node *n, const pgy_tensor *x, bool to_plain,
                          pgy_error *err)
{
    size_t block = 0;
    pgy_tensor *made = NULL;
    const size_t rank = pgy_tensor_rank(x);
    const int64_t *shape = pgy_tensor_shape(x);
    pgy_status st = nchwc_block(&block, n, err);
    if (st) return st;
    if (rank < 3 || (size_t)shape[1] % block)
        return op_error(n, err, PGY_E_SHAPE,
                        "an image in blocks of %zu channels must have rank 3 or more and a "
                        "multiple of %zu channels; this one has rank %zu and %lld channels",
                        block, block, rank, (long long)(rank > 1 ? shape[1] : 0));
    st = pgy_tensor_create(&made, pgy_tensor_dtype(x), rank, shape, err);
    if (st) return st;
    const ptrdiff_t b = (ptrdiff_t)block, plane = (ptrdiff_t)move_product(shape, 2, rank);
    const ptrdiff_t blocks = (ptrdiff_t)shape[1] / b;
    const ptrdiff_t plain[] = {blocks * b * plane, b * plane, plane, 1};
    const ptrdiff_t blocked[] = {blocks * b * plane, b * plane, 1, b};
    move_box box;
    move_box_init(&box, 4, (const int64_t[]){shape[0], blocks, b, plane});
    for (size_t d = 0; d < 4; d++) {
        box.to[d] = to_plain ? plain[d] : blocked[d];
        box.from[d] = to_plain ? blocked[d] : plain[d];
    }
    move_copy(pgy_tensor_data(made), pgy_tensor_data(x), move_size(pgy_tensor_dtype(x)), &box);
    *out = made;
    return PGY_OK;
}

pgy_status nchwc_to_plain(pgy_tensor **out, const op_node *n, const pgy_tensor *x, pgy_error *err)
{
    return reorder(out, n, x, true, err);
}

pgy_status nchwc_from_plain(pgy_tensor **out, const op_node *n, const pgy_tensor *x, pgy_error *err)
{
    return reorder(out, n, x, false, err);
}

/* ---- Convolutions --------------------------------------------------------------------------- */

static bool is_depthwise(const int64_t *weights, int64_t group)
{
    return weights[1] == 1 && weights[0] == group;
}

bool nchwc_takes_plain(const int64_t *weights, int64_t group, size_t block)
{
    return !is_depthwise(weights, group) && weights[1] < (int64_t)block;
}

bool nchwc_is_alone(const int64_t *weights, int64_t group, size_t block)
{
    return is_depthwise(weights, group) || nchwc_takes_plain(weights, group, block);
}

bool nchwc_weights_fit(size_t rank, const int64_t *weights, int64_t group, size_t block)
{
    return rank >= 3 && (size_t)weights[0] % block == 0 &&
           (nchwc_is_alone(weights, group, block) || (size_t)weights[1] % block == 0);
}

pgy_status nchwc_plain_weights(pgy_tensor **out, const pgy_tensor *w, size_t block, bool alone,
                               pgy_error *err)
{
    pgy_tensor *made = NULL;
    const size_t rank = pgy_tensor_rank(w);
    const int64_t *shape = pgy_tensor_shape(w);
    const pgy_status st = pgy_tensor_create(&made, pgy_tensor_dtype(w), rank, shape, err);
    if (st) return st;
    const ptrdiff_t plane = (ptrdiff_t)move_product(shape, 2, rank), b = (ptrdiff_t)block;
    const ptrdiff_t in = alone ? 1 : b, channels = (ptrdiff_t)shape[1];
    /* The axes as they are stored: block of O, block of I, spatial position, I within its block, O
     * within its block. */
    const ptrdiff_t to[] = {b * channels * plane, in * plane, 1, plane, channels * plane};
    move_box box;
    move_box_init(&box, 5, (const int64_t[]){shape[0] / b, channels / in, plane, in, b});
    for (size_t d = 0; d < 5; d++) box.to[d] = to[d];
    move_copy(pgy_tensor_data(made), pgy_tensor_data(w), move_size(pgy_tensor_dtype(w)), &box);
    *out = made;
    return PGY_OK;
}

static pgy_status plain_weights(pgy_tensor **out, const op_node *n, const pgy_tensor *w,
                                pgy_error *err)
{
    size_t block = 0;
    const size_t rank = pgy_tensor_rank(w);
    const int64_t *shape = pgy_tensor_shape(w);
    const int64_t group = op_attr_int(n, "group", 1);
    const pgy_status st = nchwc_block(&block, n, err);
    if (st) return st;
    const bool alone = rank > 1 && nchwc_is_alone(shape, group, block);
    if (!nchwc_weights_fit(rank, shape, group, block))
        return op_error(n, err, PGY_E_SHAPE,
                        "the shape of the weights does not fit blocks of %zu channels; perhaps the "
                        "model was saved on a machine with other blocks",
                        block);
    return nchwc_plain_weights(out, w, block, alone, err);
}

/* ---- Running the inner operator ------------------------------------------------------------- */

static op_node inner_node(const op_node *n)
{
    const nchwc_spec *s = n->def->user_data;
    op_node inner = *n;
    inner.signature = NULL;
    inner.def = op_find(s->domain, s->inner, s->version);
    inner.opset = s->version;
    return inner;
}

pgy_status nchwc_infer(op_infer *c, pgy_error *err)
{
    const op_node node = inner_node(c->node);
    op_value values[MAX_INPUTS];
    op_infer inner = *c;
    size_t block = 0;
    pgy_status st = nchwc_block(&block, c->node, err);
    if (st) return st;
    for (size_t i = 0; i < node.input_count; i++) {
        values[i] = c->inputs[i];
        values[i].data = NULL; /* constants are stored in blocked layout */
    }
    inner.node = &node;
    inner.inputs = values;
    st = node.def->infer(&inner, err);
    c->why = inner.why;
    return st;
}

static pgy_status take_input(pgy_tensor **out, const op_eval *c, size_t i, pgy_error *err)
{
    const nchwc_spec *s = c->node->def->user_data;
    pgy_tensor *given = c->inputs[i].value;
    size_t block = 0;
    pgy_status st = nchwc_block(&block, c->node, err);
    if (st) return st;
    if (s->is_conv && i == 1) return plain_weights(out, c->node, given, err);
    const int64_t group = op_attr_int(c->node, "group", 1);
    const bool is_plain =
        s->is_conv && (i == 2 || (i == 0 && nchwc_takes_plain(in_shape(c, 1), group, block)));
    if (!is_plain) return nchwc_to_plain(out, c->node, given, err);
    pgy_tensor_retain(given);
    *out = given;
    return PGY_OK;
}

pgy_status nchwc_eval(op_eval *c, pgy_error *err)
{
    static const bool wanted[1] = {true};
    const op_node node = inner_node(c->node);
    op_tensor in[MAX_INPUTS] = {{0}}, made = {0};
    pgy_tensor *y = NULL;
    op_host host = c->host ? *c->host : (op_host){0};
    pgy_status st = PGY_OK;
    host.model_precision = false;
    for (size_t i = 0; !st && i < node.input_count; i++) {
        if (!op_has_value(c, i)) continue;
        in[i] = (op_tensor){.dtype = c->inputs[i].dtype};
        st = take_input(&in[i].value, c, i, err);
    }
    if (!st) st = op_run(&node, in, &made, wanted, &host, err);
    if (!st) st = nchwc_from_plain(&y, c->node, made.value, err);
    if (!st) {
        pgy_tensor_release(c->outputs[0].value);
        c->outputs[0].value = y;
    }
    op_tensor_release(&made);
    for (size_t i = 0; i < node.input_count; i++) op_tensor_release(&in[i]);
    return st;
}
