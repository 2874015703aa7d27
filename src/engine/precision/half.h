/* SPDX-License-Identifier: Apache-2.0 */
/* Layers in 16-bit floats: which layers get which type (half_choice.c), and values that have that
 * type already (half_value.c). */
#ifndef ENGINE_PRECISION_HALF_H
#define ENGINE_PRECISION_HALF_H

#include "engine/precision/precision.h"
#include "ops/signature.h"

/* float32, float16 or bfloat16. */
bool half_is_float(pgy_dtype t);

/* The signature with which n can run in type t; NULL: there is none. */
const op_signature *half_signature(const pgy_node *n, pgy_dtype t);
/* Must v, the value of parameter p, be converted to type t? Not if it has type t already. */
bool half_changes(const op_signature *s, const op_parameter *p, const pgy_value *v, pgy_dtype t);
/* Bit set of the signature's type variables for which some input of n must be converted to t; 0:
 * none. */
uint32_t half_variables(const op_signature *s, const pgy_node *n, pgy_dtype t);

/* The index of type t in precision_value.as. */
size_t half_slot(pgy_dtype t);
/* v in type t, if it exists already; else NULL. */
pgy_value *half_value(precision *x, pgy_value *v, pgy_dtype t);

/* The type in which layer n is to run; NONE: it stays unchanged. */
pgy_dtype half_choose(precision *x, const pgy_node *n);

#endif
