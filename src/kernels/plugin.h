/* SPDX-License-Identifier: Apache-2.0 */
/* Wraps tactics of plug-in operators (polygraphy/operator.h) as kernels. */
#ifndef KERNELS_PLUGIN_H
#define KERNELS_PLUGIN_H

#include "kernels/kernel.h"

/* Enumerates the plug-in kernels loaded so far, named "domain:Operator/tactic"; NULL after the
 * last. They stay until the process ends. */
const kernel *plugin_kernel(size_t i);

#endif
