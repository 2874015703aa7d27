/* SPDX-License-Identifier: Apache-2.0 */
/* StringConcat: concatenates the texts of two inputs, which broadcast. */
#include <string.h>

#include "base/alloc.h"
#include "ops/class_norm.h"

static pgy_status infer(op_infer *c, pgy_error *err)
{
    return op_infer_broadcast(c, PGY_STRING, err);
}

/* Offset of element `index` of the output in an input with these strides. */
static size_t offset_of(const op_eval *c, const size_t *strides, size_t index)
{
    const int64_t *shape = out_shape(c, 0);
    size_t offset = 0;
    for (size_t d = out_rank(c, 0); d-- > 0; index /= (size_t)shape[d])
        offset += index % (size_t)shape[d] * strides[d];
    return offset;
}

static pgy_status join(pgy_tensor *y, size_t i, pgy_string a, pgy_string b, str *room,
                       pgy_error *err)
{
    str_clear(room);
    str_append_n(room, a.data, a.size);
    str_append_n(room, b.data, b.size);
    if (room->failed) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a string");
    return pgy_tensor_set_string(y, i, str_text(room), room->size, err);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    size_t a_strides[PGY_MAX_RANK], b_strides[PGY_MAX_RANK];
    str room = {0};
    pgy_tensor *y;
    pgy_status st = inputs_check(c, "!S", err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (!st && pgy_tensor_dtype(c->inputs[0].value) != PGY_STRING)
        st = op_error(c->node, err, PGY_E_TYPE, "input 0 must hold strings");
    if (!st) st = norm_broadcast(a_strides, c, 0, out_shape(c, 0), out_rank(c, 0), err);
    if (!st) st = norm_broadcast(b_strides, c, 1, out_shape(c, 0), out_rank(c, 0), err);
    const pgy_string *a = in_data(c, 0), *b = in_data(c, 1);
    for (size_t i = 0; !st && i < out_count(c, 0); i++)
        st = join(y, i, a[offset_of(c, a_strides, i)], b[offset_of(c, b_strides, i)], &room, err);
    str_deinit(&room);
    return st;
}

const op_def OP_string_concat[] = {
    {"StringConcat", "", 20, 0, 2, 2, 1, 1, OP_SAME_TYPES, NULL, "string", infer, eval, NULL},
    {NULL},
};
