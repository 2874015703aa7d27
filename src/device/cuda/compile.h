/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA C++ text to machine code. */
#ifndef DEVICE_CUDA_COMPILE_H
#define DEVICE_CUDA_COMPILE_H

#include "device/cuda/driver.h"

typedef struct cuda_source {
    const char *name, *text;    /* name for messages, and the source */
    const char *const *options; /* NULL-ended */
    char architecture[16];      /* "sm_90a" */
} cuda_source;

/* PGY_E_BACKEND: the compiler refuses the source; the error has its first line, the log at level
 * verbose all of them. */
pgy_status cuda_compile(void **out, size_t *out_size, const cuda_nvrtc *n, const cuda_source *s,
                        pgy_error *err) PGY_MUST_CHECK;

#endif
