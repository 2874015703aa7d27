/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of training: learning rate, step count, and then the tensors to be optimised, their
 * gradients and what is kept of earlier steps, each group as long as the first. Outputs are the new
 * tensors and the new kept ones. */
#ifndef OPS_CLASS_OPTIMIZER_H
#define OPS_CLASS_OPTIMIZER_H

#include "ops/class_check.h"

enum { OPTIMIZER_MAX_KEPT = 2 };

/* One element: x and kept[] become the new ones. `rate` is already adjusted to the step. */
typedef void (*optimizer_step)(double *x, double gradient, double *kept, double rate,
                               const void *user);

/* Shapes; `kept` groups stand behind the gradients. */
pgy_status optimizer_infer(op_infer *c, size_t kept, pgy_error *err) PGY_MUST_CHECK;
/* Learning rate and step count, which must be scalars. */
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
