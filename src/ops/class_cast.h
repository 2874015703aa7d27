/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion between declared types, for Cast and CastLike. */
#ifndef OPS_CLASS_CAST_H
#define OPS_CLASS_CAST_H

#include "ops/rule.h"

/* Shape rule: output 0 like input 0, but of type `to`; integer values go through. */
pgy_status cast_infer(op_infer *c, pgy_dtype to, pgy_error *err) PGY_MUST_CHECK;
/* Converts input 0 into output 0, whose declared type says to what; attributes saturate and
 * round_mode are heeded. */
pgy_status cast_eval(op_eval *c, pgy_error *err);

#endif
