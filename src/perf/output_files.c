/* SPDX-License-Identifier: Apache-2.0 */
/* Files of outputs; data/trtexec_outputs.c knows their form. */
#include "data/trtexec_outputs.h"

#include <polygraphy/perf.h>

pgy_status pgy_perf_outputs_save(const char *path, const pgy_tensor_map *outputs, pgy_error *err)
{
    return json_save(path, trtexec_outputs_write, outputs, err);
}

pgy_status pgy_perf_outputs_load(pgy_tensor_map **out, const char *path, pgy_error *err)
{
    return trtexec_outputs_load(out, path, NULL, err);
}
