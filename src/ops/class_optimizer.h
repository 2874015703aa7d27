/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that do one training step (Adam, Adagrad, Momentum). Inputs are learning rate, step
 * count, and groups of equal length: the optimised tensors, their gradients and up to two groups of
 * optimiser state. Outputs are the new tensors and the new state. */
#ifndef OPS_CLASS_OPTIMIZER_H
#define OPS_CLASS_OPTIMIZER_H

#include "ops/class_check.h"

enum { OPTIMIZER_MAX_KEPT = 2 };

/* Updates one element: x and its optimiser state kept[]. `rate` is the learning rate of this step.
 */
typedef void (*optimizer_step)(double *x, double gradient, double *kept, double rate,
                               const void *user);

/* Shape rule; `kept` groups of state follow the gradients. */
pgy_status optimizer_infer(op_infer *c, size_t kept, pgy_error *err) PGY_MUST_CHECK;
/* Reads learning rate and step count, which must have one element each. */
pgy_status optimizer_start(const op_eval *c, double *rate, int64_t *count,
                           pgy_error *err) PGY_MUST_CHECK;
pgy_status optimizer_run(op_eval *c, size_t kept, double rate, optimizer_step step,
                         const void *user, pgy_error *err) PGY_MUST_CHECK;

#define OPTIMIZER_ROW(name, attrs, infer, eval)                                                    \
    {                                                                                              \
        name, "ai.onnx.preview.training", 1, 0, 3, 255, 1, 255,                                    \
            OP_VARIADIC_INPUTS | OP_VARIADIC_OUTPUTS, attrs, "float32 float64", infer, eval, NULL, \
            .signature = "R = float32 float64; X = float32 float64; R:R, T:int64, ~inputs:X -> "   \
                         "~outputs:X"                                                              \
    }

#endif
