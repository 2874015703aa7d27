/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs from raw files (--loadInputs). */
#include "base/file.h"
#include "cli/trtexec/trtexec.h"

static pgy_status load_input(pgy_tensor_map *feed, const trtexec_pair *pair, trtexec_session *s,
                             pgy_error *err)
{
    const char *path = NULL;
    uint64_t bytes = 0;
    pgy_tensor *old = pgy_tensor_map_find(feed, pair->name), *t = NULL;
    if (!old)
        return pgy_error_set(err, PGY_E_NOT_FOUND, "--loadInputs: the engine has no input '%s'",
                             pair->name);
    pgy_status st = trtexec_path(&path, pair->value, &s->line->memory, err);
    if (!st) st = file_size(&bytes, path, err);
    if (!st && bytes != pgy_tensor_size_bytes(old))
        return pgy_error_set(
            err, PGY_E_SHAPE, "--loadInputs: input '%s' needs %zu bytes, but %s has %llu",
            pair->name, pgy_tensor_size_bytes(old), path, (unsigned long long)bytes);
    if (!st)
        st = pgy_raw_load(&t, path, pgy_tensor_dtype(old), pgy_tensor_rank(old),
                          pgy_tensor_shape(old), err);
    return st ? st : pgy_tensor_map_adopt(feed, pair->name, t, err);
}

pgy_status infer_load_inputs(pgy_tensor_map *feed, const char *text, trtexec_session *s,
                             pgy_error *err)
{
    trtexec_pair *pairs = NULL;
    size_t count = 0;
    if (!text) return PGY_OK;
    pgy_status st = trtexec_pairs(&pairs, &count, text, "--loadInputs", &s->line->memory, err);
    for (size_t i = 0; !st && i < count; i++) st = load_input(feed, &pairs[i], s, err);
    return st;
}
