/* SPDX-License-Identifier: Apache-2.0 */
/* Tactics of operators from outside (polygraphy/operator.h) as kernels. */
#ifndef KERNELS_PLUGIN_H
#define KERNELS_PLUGIN_H

#include "kernels/kernel.h"

/* Kernel i of those that were loaded so far, called "domain:Operator/tactic"; NULL after the last.
 * They live as long as the process. */
const kernel *plugin_kernel(size_t i);

#endif
