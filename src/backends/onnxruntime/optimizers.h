/* SPDX-License-Identifier: Apache-2.0 */
/* The optimizers of ONNX Runtime that can be switched off by name. */
#ifndef BACKENDS_ONNXRUNTIME_OPTIMIZERS_H
#define BACKENDS_ONNXRUNTIME_OPTIMIZERS_H

#include <polygraphy/base.h>

typedef struct ort_optimizer {
    const char *name;
    const char *level; /* "ORT_ENABLE_BASIC", ... */
} ort_optimizer;

/* The optimizer that runs as number i, or NULL. */
const ort_optimizer *ort_optimizer_at(size_t i);
bool ort_optimizer_is_known(const char *name);

#endif
