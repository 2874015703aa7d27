/* SPDX-License-Identifier: Apache-2.0 */
/* An output that is missing, or is not what the model declares, is a failure: a comparison must not
 * pass because trtexec wrote less than it was asked for. */
#include "backends/trtexec/outputs.h"

#include "base/str.h"
#include "data/trtexec_outputs.h"

static pgy_status check_output(const pgy_tensor_info *info, const pgy_tensor *t, pgy_error *err)
{
    bool fits = info->rank < 0 || (size_t)info->rank == pgy_tensor_rank(t);
    str declared = {0}, found = {0};
    for (int32_t i = 0; i < info->rank; i++)
        str_printf(&declared, "%s%lld", i ? ", " : "", (long long)info->shape[i]);
    for (size_t i = 0; i < pgy_tensor_rank(t); i++) {
        const int64_t size = pgy_tensor_shape(t)[i];
        str_printf(&found, "%s%lld", i ? ", " : "", (long long)size);
        fits = fits && (info->rank < 0 || info->shape[i] < 0 || info->shape[i] == size);
    }
    pgy_status st = PGY_OK;
    if (!fits)
        st = pgy_error_set(err, PGY_E_SHAPE,
                           "trtexec's output '%s' has shape (%s), but the model declares (%s)",
                           info->name, str_text(&found), str_text(&declared));
    else if (info->dtype != PGY_DTYPE_NONE && info->dtype != pgy_tensor_dtype(t))
        st = pgy_error_set(
            err, PGY_E_TYPE, "trtexec's output '%s' has type %s, but the model declares %s",
            info->name, pgy_dtype_name(pgy_tensor_dtype(t)), pgy_dtype_name(info->dtype));
    str_deinit(&declared);
    str_deinit(&found);
    return st;
}

static pgy_status missing_output(const char *name, const pgy_tensor_map *found, pgy_error *err)
{
    str list = {0};
    for (size_t i = 0; i < pgy_tensor_map_count(found); i++)
        str_printf(&list, "%s'%s'", i ? ", " : "", pgy_tensor_map_name(found, i));
    const pgy_status st = pgy_error_set(
        err, PGY_E_NOT_FOUND, "trtexec's outputs lack '%s', which the model declares; they are: %s",
        name, list.size ? str_text(&list) : "none");
    str_deinit(&list);
    return st;
}

static pgy_status take_outputs(pgy_tensor_map *out, const pgy_metadata *declared,
                               const pgy_tensor_map *found, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && declared && i < pgy_metadata_count(declared); i++) {
        const pgy_tensor_info *info = pgy_metadata_at(declared, i);
        pgy_tensor *t = pgy_tensor_map_find(found, info->name);
        st = t ? check_output(info, t, err) : missing_output(info->name, found, err);
        if (!st) st = pgy_tensor_map_set(out, info->name, t, err);
    }
    for (size_t i = 0; !st && i < pgy_tensor_map_count(found); i++)
        st = pgy_tensor_map_set(out, pgy_tensor_map_name(found, i), pgy_tensor_map_at(found, i),
                                err);
    return st;
}

pgy_status trtexec_read_outputs(pgy_tensor_map *out, const char *path, const pgy_metadata *declared,
                                pgy_error *err)
{
    pgy_tensor_map *found = NULL;
    pgy_status st = trtexec_outputs_load(&found, path, declared, err);
    if (!st) st = take_outputs(out, declared, found, err);
    pgy_tensor_map_destroy(found);
    return st;
}
