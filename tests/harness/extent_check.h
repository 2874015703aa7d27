/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that a kernel touches no more bytes than its `extent` function states. Every kernel test
 * calls it for every prepared problem.
 */
#ifndef HARNESS_EXTENT_CHECK_H
#define HARNESS_EXTENT_CHECK_H

#include "kernels/kernel.h"

/* `extent` must accept the parameters that `prepare` made, and state no more bytes than the
 * operands have. Then the kernel runs on copies of the operands that end, or begin, at an
 * inaccessible page. Then parameters are changed at random, as an attacker could do in a plan: if
 * `extent` accepts them, the kernel runs in the same way on random data. `tensors`: as for
 * kernel_run; NULL for omitted and packed operands. */
void extent_check(const kernel *k, const kernel_plan *plan, const kernel_problem *problem,
                  void *const *tensors);

#endif
