/* SPDX-License-Identifier: Apache-2.0 */
/* The public functions of engines: those of engine.c with argument checks. A public engine builds
 * the programs of all profiles at once, so that it borrows nothing from the caller afterwards. */
#include "base/alloc.h"
#include "base/progress.h"
#include "engine/build/engine.h"
#include "engine/build/progress.h"

static pgy_status build_profiles(engine *e, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < pgy_engine_profile_count(e); i++) {
        program *p = NULL;
        engine_expect_program(e, i, false);
        st = engine_program_for(&p, e, i, err);
        if (!st && i == 0) st = engine_save_tactics(e, p, err);
        program_release(p);
    }
    return st;
}

pgy_status pgy_engine_build(pgy_engine **out, pgy_model *model, const pgy_build_config *config,
                            pgy_error *err)
{
    engine *e = NULL;
    if (!out || !model)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'out' and 'model' must not be NULL");
    progress_begin(PROGRESS_ENGINE, 0);
    pgy_status st = engine_build(&e, model, config, err);
    if (!st) st = build_profiles(e, err);
    progress_end();
    if (st) {
        engine_release(e);
        return st;
    }
    engine_let_go(e);
    *out = e;
    return PGY_OK;
}

pgy_status pgy_engine_open(pgy_engine **out, const char *path, pgy_error *err)
{
    if (!out || !path)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'out' and 'path' must not be NULL");
    return engine_open(out, path, err);
}

pgy_status pgy_engine_load(pgy_engine **out, const void *data, size_t size_bytes, bool borrow,
                           pgy_error *err)
{
    if (!out || (!data && size_bytes))
        return pgy_error_set(err, PGY_E_ARGUMENT, "'out' and 'data' must not be NULL");
    return engine_load(out, data, size_bytes, borrow, err);
}

pgy_status pgy_engine_save(pgy_engine *e, const char *path, pgy_error *err)
{
    if (!e || !path)
        return pgy_error_set(err, PGY_E_ARGUMENT, "the engine and 'path' must not be NULL");
    return engine_save(e, path, err);
}

pgy_status pgy_engine_serialize(void **out, size_t *size_bytes, pgy_engine *e, pgy_error *err)
{
    if (!out || !size_bytes || !e)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'out', 'size_bytes' and the engine must not be NULL");
    return engine_serialize(out, size_bytes, e, err);
}

void pgy_engine_free_bytes(void *data)
{
    mem_free(data);
}

pgy_engine *pgy_engine_retain(pgy_engine *e)
{
    return engine_retain(e);
}

void pgy_engine_release(pgy_engine *e)
{
    engine_release(e);
}

const char *pgy_engine_name(const pgy_engine *e)
{
    return engine_name(e);
}

const pgy_metadata *pgy_engine_inputs(const pgy_engine *e)
{
    return engine_inputs(e);
}

const pgy_metadata *pgy_engine_outputs(const pgy_engine *e)
{
    return engine_outputs(e);
}

const pgy_build_config *pgy_engine_config(const pgy_engine *e)
{
    return engine_config(e);
}

bool pgy_engine_is_refittable(const pgy_engine *e)
{
    return engine_config(e)->refittable;
}

bool pgy_engine_is_stripped(const pgy_engine *e)
{
    return engine_is_stripped(e);
}

size_t pgy_engine_profile_count(const pgy_engine *e)
{
    return profiles_count(engine_profiles(e));
}

pgy_bound_kind pgy_engine_range(pgy_profile_range *out, const pgy_engine *e, size_t profile,
                                size_t i)
{
    *out = (pgy_profile_range){0};
    if (profile >= pgy_engine_profile_count(e) || i >= pgy_metadata_count(engine_inputs(e)))
        return PGY_BOUND_NONE;
    return profiles_range(out, engine_profiles(e), profile, i);
}

uint64_t pgy_engine_arena_bytes(const pgy_engine *e, size_t profile)
{
    program *p = NULL;
    if (profile >= pgy_engine_profile_count(e)) return 0;
    const pgy_status st = engine_program_for(&p, (engine *)e, profile, NULL);
    const uint64_t bytes = st || !p ? 0 : p->spaces[0].arena_bytes;
    program_release(p);
    return bytes;
}
