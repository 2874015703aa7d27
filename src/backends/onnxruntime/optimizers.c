/* SPDX-License-Identifier: Apache-2.0 */
/* The list of optimizers. */
#include "backends/onnxruntime/optimizers.h"

#include <string.h>

static const ort_optimizer OPTIMIZERS[] = {
#define OPTIMIZER(level, name) {#name, "ORT_ENABLE_" #level},
#include "backends/onnxruntime/optimizers.def"
#undef OPTIMIZER
};
enum { COUNT = sizeof OPTIMIZERS / sizeof *OPTIMIZERS };

const ort_optimizer *ort_optimizer_at(size_t i)
{
    return i < COUNT ? &OPTIMIZERS[i] : NULL;
}

bool ort_optimizer_is_known(const char *name)
{
    for (size_t i = 0; i < COUNT; i++)
        if (strcmp(OPTIMIZERS[i].name, name) == 0) return true;
    return false;
}
