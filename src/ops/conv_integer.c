/* SPDX-License-Identifier: Apache-2.0 */
/* ConvInteger: 8-bit values minus their zero points, multiplied and summed in double precision,
 * which is exact. */
#include "ops/class_conv.h"
#include "ops/class_integer.h"

static pgy_status infer(op_infer *c, pgy_error *err)
{
    return conv_infer(c, 1, SIZE_MAX, PGY_I32, err);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    conv_problem p;
    double *x = NULL, *w = NULL, *y = NULL;
    pgy_status st = inputs_check(c, "IIii", err);
    if (!st) st = conv_prepare(&p, c, 1, err);
    if (!st) st = integer_shifted(&x, c, 0, 2, 0, err);
    if (!st) st = integer_shifted(&w, c, 1, 3, 0, err);
    if (!st) st = workspace_alloc((void **)&y, c, out_count(c, 0), sizeof *y, err);
    if (st) goto done;
    p.x = x;
    p.w = w;
    p.y = y;
    st = conv_run(&p, err);
    if (st) goto done;
    integer_store(out_i64(c, 0), y, out_count(c, 0));
done:
    mem_free(x);
    mem_free(w);
    mem_free(y);
    return st;
}

static double flops(const op_infer *c)
{
    return conv_flops(c, 1);
}

const op_def OP_conv_integer[] = {
    {"ConvInteger", "", 10, 0, 2, 4, 1, 1, 0, conv_attrs, "int8 uint8", infer, eval, flops},
    {NULL},
};
