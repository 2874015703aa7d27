/* SPDX-License-Identifier: Apache-2.0 */
/* What operators with matrices and images check of their inputs, and short access to values. Shape
 * rules see dims, which may be unknown; evaluation sees tensors, whose storage type decides how
 * many bytes an element has and so must be checked. */
#ifndef OPS_CLASS_CHECK_H
#define OPS_CLASS_CHECK_H

#include "ops/op.h"
#include "ops/rule.h"

#define TYPES_W3 TYPES_F3 " " TYPES_WIDE
#define TYPES_W4 TYPES_F4 " " TYPES_WIDE

/* One letter per input: f = f64 storage, i = i64, b = bool, s = as input 0, * = any tensor. Upper
 * case (F I B S): must be there, `!` any tensor that must be there. Inputs beyond the text are not
 * looked at. */
pgy_status inputs_check(const op_eval *c, const char *kinds, pgy_error *err) PGY_MUST_CHECK;

/* Data, shape and rank; NULL or 0 where the value is absent. */
const double *in_f64(const op_eval *c, size_t i);
const int64_t *in_i64(const op_eval *c, size_t i);
const void *in_data(const op_eval *c, size_t i);
const int64_t *in_shape(const op_eval *c, size_t i);
size_t in_rank(const op_eval *c, size_t i);
size_t in_count(const op_eval *c, size_t i);
double *out_f64(const op_eval *c, size_t i);
int64_t *out_i64(const op_eval *c, size_t i);
void *out_data(const op_eval *c, size_t i);
const int64_t *out_shape(const op_eval *c, size_t i);
size_t out_rank(const op_eval *c, size_t i);
size_t out_count(const op_eval *c, size_t i);

/* Rank of input i lies in [least, most]; unknown ranks and absent inputs pass. */
pgy_status rank_check(const op_infer *c, size_t i, int32_t least, int32_t most,
                      pgy_error *err) PGY_MUST_CHECK;
/* Dim `axis` of input i can be `wanted` ("what" names it in the message); unknown passes. */
pgy_status dim_check(const op_infer *c, size_t i, size_t axis, dim wanted, const char *what,
                     pgy_error *err) PGY_MUST_CHECK;
bool rank_known(const op_infer *c, size_t i);
/* `known`, or dim `axis` of input i, which must be the same, where that says more. */
dim dim_joined(const op_infer *c, size_t i, size_t axis, dim known);
/* Sets output i if the node has it: the type of input `like`, the given dims. */
void output_set(op_infer *c, size_t i, pgy_dtype dtype, int32_t rank, const dim *dims);
/* Zeroed workspace of count * size bytes, against the host's limit; freed with mem_free. */
pgy_status workspace_alloc(void **out, const op_eval *c, size_t count, size_t size,
                           pgy_error *err) PGY_MUST_CHECK;
/* Product of constant dims as a double, for flops. */
double dims_product(const op_value *v);

#endif
