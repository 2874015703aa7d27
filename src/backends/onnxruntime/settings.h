/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the ONNX Runtime backend, and the session options made from them. */
#ifndef BACKENDS_ONNXRUNTIME_SETTINGS_H
#define BACKENDS_ONNXRUNTIME_SETTINGS_H

#include <polygraphy/option.h>

#include "backends/onnxruntime/api.h"

typedef struct ort_settings {
    pgy_text_list providers; /* not given: cpu */
    const char *graph_level; /* NULL: the runtime's default */
    int64_t threads;         /* 0: one per usable processor */
    pgy_text_list op_libraries;
    pgy_text_list disabled_optimizers;
    const char *optimized_path; /* NULL: the optimized model is not saved */
} ort_settings;

extern const pgy_option ORT_OPTIONS[];

/* Makes session options from settings (NULL: defaults). Logs the START line with the providers. */
pgy_status ort_settings_apply(ort_options **out, const ort_api *api, const ort_settings *settings,
                              pgy_error *err) PGY_MUST_CHECK;
/* The graph optimization level with this name. Else PGY_E_ARGUMENT, which lists the valid names. */
pgy_status ort_graph_level_from_name(int *out, const char *name, pgy_error *err) PGY_MUST_CHECK;

#endif
