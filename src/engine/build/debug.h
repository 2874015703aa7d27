/* SPDX-License-Identifier: Apache-2.0 */
/* Debug tensors: those that can be looked at while a plan runs. They are marked by name, which
 * keeps fusions from swallowing them, or are all that fusions leave. */
#ifndef ENGINE_BUILD_DEBUG_H
#define ENGINE_BUILD_DEBUG_H

#include "engine/program/build.h"

/* Does the configuration ask for any? */
bool debug_is_on(const pgy_build_config *config);
/* Is a tensor of this name one of them? */
bool debug_is_marked(const pgy_build_config *config, const char *name);
/* Before the passes: marked tensors become outputs, so that they stay. A name that fits none is
 * PGY_E_NOT_FOUND. *pinned counts them. */
pgy_status debug_pin(pgy_graph *g, const pgy_build_config *config, size_t *pinned,
                     pgy_error *err) PGY_MUST_CHECK;
/* Behind the passes: they are no outputs any more. */
void debug_unpin(pgy_graph *g, size_t pinned);
/* Finds the marks of a program that is built, whose steps are there and tensors have no place yet.
 */
pgy_status debug_find_marks(builder *b, pgy_error *err) PGY_MUST_CHECK;
/* The elements of a tensor in a blocked layout, row-major, in memory to be freed; NULL: there is
 * none. */
void *debug_in_rows(const program_tensor *t, const void *data);

#endif
