/* SPDX-License-Identifier: Apache-2.0 */
/* Attaches a build configuration, which has no text form, to the options of a backend. The copy
 * lives as long as the options and the runners made with them. */
#include <polygraphy/engine_runner.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "engine/build/config.h"
#include "runner/options.h"

typedef struct kept_config {
    options_object object; /* first member, as options_object demands */
    arena memory;
} kept_config;

static void destroy_config(options_object *self)
{
    kept_config *k = (kept_config *)self;
    arena_deinit(&k->memory);
    mem_free(k);
}

pgy_status pgy_engine_runner_configure(pgy_backend_options *options, const pgy_build_config *config,
                                       pgy_error *err)
{
    pgy_build_config *copy = NULL;
    const pgy_backend *b = options ? options_backend(options) : NULL;
    if (!pgy_backend_has(b, PGY_BACKEND_TAKES_CONFIG) || b->options_size < sizeof copy)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "a build configuration belongs to options of a backend that builds "
                             "engines, such as 'trt'");
    kept_config *k = mem_calloc(1, sizeof *k);
    if (!k) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    atomic_init(&k->object.references, 1);
    k->object.destroy = destroy_config;
    const pgy_status st = config_copy(&copy, config, &k->memory, err);
    if (st) {
        destroy_config(&k->object);
        return st;
    }
    *(const pgy_build_config **)options_settings(options) = copy;
    options_adopt(options, &k->object);
    return PGY_OK;
}
