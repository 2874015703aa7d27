/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion between declared types, for Cast and CastLike. */
#ifndef OPS_CLASS_CAST_H
#define OPS_CLASS_CAST_H

#include "ops/rule.h"

/* Shape rule: output 0 is like input 0, but of type `to`; known integer values are passed on. */
pgy_status cast_infer(op_infer *c, pgy_dtype to, pgy_error *err) PGY_MUST_CHECK;
/* Converts input 0 to the declared type of output 0; obeys attributes saturate and round_mode. */
pgy_status cast_eval(op_eval *c, pgy_error *err);

#endif
