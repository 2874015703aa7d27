/* SPDX-License-Identifier: Apache-2.0 */
/* Adds debug tensors to the results of an inference. */
#ifndef BACKENDS_NATIVE_DEBUG_H
#define BACKENDS_NATIVE_DEBUG_H

#include <polygraphy/runtime.h>

typedef struct native_debug native_debug;

/* Listens to a context, which must outlive it. *out is NULL if the configuration marks no debug
 * tensors. */
pgy_status native_debug_create(native_debug **out, pgy_context *c, const pgy_build_config *config,
                               pgy_error *err) PGY_MUST_CHECK;
void native_debug_destroy(native_debug *d); /* NULL is fine */
/* Adds the debug tensors of a run that ended with `st`. Returns `st`, or the first error of copying
 * or adding. */
pgy_status native_debug_take(native_debug *d, pgy_status st, pgy_tensor_map *out,
                             pgy_error *err) PGY_MUST_CHECK;

#endif
