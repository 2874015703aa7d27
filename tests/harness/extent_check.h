/* SPDX-License-Identifier: Apache-2.0 */
/* Is what a kernel's `extent` states true? Every prepared use of every kernel test comes by here.
 */
#ifndef HARNESS_EXTENT_CHECK_H
#define HARNESS_EXTENT_CHECK_H

#include "kernels/kernel.h"

/* `extent` must accept what `prepare` made, and state no more bytes than the operands have. Then
 * the kernel runs on copies of the operands that end, or begin, where memory without access lies.
 * Then parameters are changed at random, as in a plan of an attacker: what `extent` accepts runs in
 * the same way, on random data. `tensors`: as for kernel_run; NULL where omitted or packed. */
void extent_check(const kernel *k, const kernel_plan *plan, const kernel_problem *use,
                  void *const *tensors);

#endif
