/* SPDX-License-Identifier: Apache-2.0 */
/* A context: what one caller needs to run an engine (threads, memory, prepared programs). The
 * public side is polygraphy/runtime.h. */
#ifndef ENGINE_CONTEXT_CONTEXT_H
#define ENGINE_CONTEXT_CONTEXT_H

#include <polygraphy/runtime.h>

#include "engine/build/engine.h"

typedef struct pgy_context context;

/* Retains the engine. threads 0: as many as the engine's config says. */
pgy_status context_create(context **out, engine *e, size_t threads, pgy_error *err) PGY_MUST_CHECK;
void context_destroy(context *c); /* NULL is fine */
/* Shapes must lie in this profile; PROFILE_ANY, the default: in any profile. */
void context_set_profile(context *c, size_t profile);
/* Builds the program for the shapes of `feed` if needed, runs it, and adds the outputs to `out`.
 * *time_ns (may be NULL) includes the build. One call at a time. */
pgy_status context_run(context *c, const pgy_tensor_map *feed, pgy_tensor_map *out,
                       int64_t *time_ns, pgy_error *err) PGY_MUST_CHECK;
/* The same with caches in buffers of the caller. */
pgy_status context_run_keeping(context *c, const pgy_tensor_map *feed, pgy_kept_cache *caches,
                               size_t cache_count, pgy_tensor_map *out, int64_t *time_ns,
                               pgy_error *err) PGY_MUST_CHECK;
/* The program that ran last; NULL: none, or the graph was interpreted. */
const program *context_program(const context *c);

#endif
