/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the ONNX Runtime backend, and what a session is made with. */
#ifndef BACKENDS_ONNXRUNTIME_SETTINGS_H
#define BACKENDS_ONNXRUNTIME_SETTINGS_H

#include <polygraphy/option.h>

#include "backends/onnxruntime/api.h"

typedef struct ort_settings {
    pgy_text_list providers; /* not given: cpu */
    const char *graph_level; /* NULL: the runtime's own */
    int64_t threads;         /* 0: the usable processors */
    pgy_text_list op_libraries;
} ort_settings;

extern const pgy_option ORT_OPTIONS[];

/* Options of a session, from settings (NULL: defaults). Logs the START line that names the
 * providers. */
pgy_status ort_settings_apply(ort_options **out, const ort_api *api, const ort_settings *settings,
                              pgy_error *err) PGY_MUST_CHECK;
/* The graph optimization level of a name; PGY_E_ARGUMENT with the valid names. */
pgy_status ort_graph_level_from_name(int *out, const char *name, pgy_error *err) PGY_MUST_CHECK;

#endif
