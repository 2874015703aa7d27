/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax, LogSoftmax and Hardmax: functions of the rows along an axis. Before version 13 the input
 * is flattened to a matrix at the axis, so a row covers all later axes, too. */
#ifndef OPS_CLASS_SOFTMAX_H
#define OPS_CLASS_SOFTMAX_H

#include "ops/class_check.h"
#include "tensor/convert.h"

extern const op_attr_def softmax_attrs_1[], softmax_attrs_13[];

pgy_status softmax_infer(op_infer *c, pgy_error *err) PGY_MUST_CHECK;
double softmax_flops(const op_infer *c);
/* Computes y[i * step] from x[i * step] for i < n. In model precision every operation rounds to
 * `type`; else it is NONE. */
typedef void (*softmax_row)(double *y, const double *x, size_t n, size_t step, pgy_dtype type);
pgy_status softmax_run(op_eval *c, softmax_row row, pgy_error *err) PGY_MUST_CHECK;

/* Softmax of a row, with the operations of ONNX's function body. */
void softmax_exp(double *y, const double *x, size_t n, size_t step, pgy_dtype type);
/* The declared type of input i in model precision, else NONE. */
static inline pgy_dtype softmax_type(const op_eval *c, size_t i)
{
    return c->host && c->host->model_precision ? c->inputs[i].dtype : PGY_DTYPE_NONE;
}
static inline double softmax_round(pgy_dtype type, double v)
{
    if (type == PGY_F32) return (double)(float)v;
    return type && type != PGY_F64 ? float_round(type, v, false) : v;
}

#define SOFTMAX_ROW(name, eval, version, attrs, words)                                 \
    {                                                                                  \
        name, "", version, 0, 1, 1, 1, 1, OP_FILLS, attrs, words, softmax_infer, eval, \
            softmax_flops                                                              \
    }
#define SOFTMAX_ROWS(name, eval)                                \
    SOFTMAX_ROW(name, eval, 1, softmax_attrs_1, TYPES_F3),      \
        SOFTMAX_ROW(name, eval, 11, softmax_attrs_1, TYPES_F3), \
        SOFTMAX_ROW(name, eval, 13, softmax_attrs_13, TYPES_F4)

#endif
