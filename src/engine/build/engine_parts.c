/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers for all files of the engine. */
#include "engine/build/engine_state.h"
#include "evaluate/interface.h"

pgy_status engine_no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

void engine_forget(built *b)
{
    program_release(b->program);
    pgy_metadata_destroy(b->shapes);
    *b = (built){0};
}

bool engine_is_stripped(const engine *e)
{
    return atomic_load_explicit(&e->stripped, memory_order_acquire);
}

uint64_t engine_version(const engine *e)
{
    return atomic_load_explicit(&e->version, memory_order_acquire);
}

pgy_status engine_describe(pgy_metadata **out, pgy_value *const *values, size_t count,
                           pgy_error *err)
{
    const pgy_status st = pgy_metadata_create(out, err);
    return st ? st : interface_describe_all(*out, values, count, err);
}
