/* SPDX-License-Identifier: Apache-2.0 */
/* Ends a run of ONNX Runtime after pgy_cancel. */
#ifndef BACKENDS_ONNXRUNTIME_STOP_H
#define BACKENDS_ONNXRUNTIME_STOP_H

#include <pthread.h>

#include "backends/onnxruntime/api.h"

/* Options of one run, with a thread that waits for pgy_cancel and then asks the run to end. */
typedef struct ort_stop {
    const ort_api *api;
    ort_run_options *options; /* NULL: the run is not watched */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool has_ended;
} ort_stop;

/* Watches the run that follows, if runs are long enough (last_ns; below 0: unknown). If the system
 * has no thread, the run is not watched. */
void ort_stop_begin(ort_stop *s, const ort_api *api, int64_t last_ns);
void ort_stop_end(ort_stop *s);

#endif
