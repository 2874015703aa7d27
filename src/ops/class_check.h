/* SPDX-License-Identifier: Apache-2.0 */
/* Input checks of operators on matrices and images, and short accessors to inputs and outputs.
 * Shape rules check dims, which may be unknown. Evaluation must check the storage type of its
 * tensors, because it decides the size of an element. */
#ifndef OPS_CLASS_CHECK_H
#define OPS_CLASS_CHECK_H

#include "ops/op.h"
#include "ops/rule.h"

#define TYPES_W3 TYPES_F3 " " TYPES_WIDE
#define TYPES_W4 TYPES_F4 " " TYPES_WIDE

/* One letter per input: f = f64 storage, i = i64, b = bool, s = storage of input 0, * = any tensor.
 * Upper case (F I B S): required; `!`: any tensor, required. Inputs beyond the text are not
 * checked. */
pgy_status inputs_check(const op_eval *c, const char *kinds, pgy_error *err) PGY_MUST_CHECK;

/* Elements, shape, rank and element count of input or output i; NULL or 0 if it is absent. */
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

/* Checks that the rank of input i lies in [least, most]; unknown ranks and absent inputs pass. */
pgy_status rank_check(const op_infer *c, size_t i, int32_t least, int32_t most,
                      pgy_error *err) PGY_MUST_CHECK;
/* Checks that dim `axis` of input i can equal `wanted`, which `what` names in the message; unknown
 * dims pass. */
pgy_status dim_check(const op_infer *c, size_t i, size_t axis, dim wanted, const char *what,
                     pgy_error *err) PGY_MUST_CHECK;
bool rank_known(const op_infer *c, size_t i);
/* Of `known` and dim `axis` of input i, which are sizes of the same thing, gives the more exact
 * one. */
dim dim_joined(const op_infer *c, size_t i, size_t axis, dim known);
/* Sets type and dims of output i if the node has it. */
void output_set(op_infer *c, size_t i, pgy_dtype dtype, int32_t rank, const dim *dims);
/* Allocates count * size zeroed bytes within the host's limit; the caller frees them with
 * mem_free. */
pgy_status workspace_alloc(void **out, const op_eval *c, size_t count, size_t size,
                           pgy_error *err) PGY_MUST_CHECK;
/* Product of the dims of v, which must be constant, as a double; for op_def.flops. */
double dims_product(const op_value *v);

#endif
