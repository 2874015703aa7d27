/* SPDX-License-Identifier: Apache-2.0 */
/* Debug tensors: tensors that the caller can read while a plan runs. The caller marks them by name,
 * which keeps fusions from removing them, or takes all tensors that remain after fusion. */
#ifndef ENGINE_BUILD_DEBUG_H
#define ENGINE_BUILD_DEBUG_H

#include "engine/program/build.h"

/* Does the configuration ask for debug tensors? */
bool debug_is_on(const pgy_build_config *config);
/* Does the configuration mark a tensor of this name? */
bool debug_is_marked(const pgy_build_config *config, const char *name);
/* Makes the marked tensors outputs before the passes run, so that no pass removes them. *pinned
 * counts them. PGY_E_NOT_FOUND: a name matches no tensor. */
pgy_status debug_pin(pgy_graph *g, const pgy_build_config *config, size_t *pinned,
                     pgy_error *err) PGY_MUST_CHECK;
/* Removes these outputs after the passes. */
void debug_unpin(pgy_graph *g, size_t pinned);
/* Records which debug tensors can be read after which step. The program has its steps, but its
 * tensors have no place in memory yet. */
pgy_status debug_find_marks(builder *b, pgy_error *err) PGY_MUST_CHECK;
/* Returns the elements of a tensor in a blocked layout in row-major order; the caller frees them.
 * NULL: out of memory, or no kernel has such a tensor in blocks. */
void *debug_in_rows(const program_tensor *t, const void *data);

#endif
