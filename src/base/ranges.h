/* SPDX-License-Identifier: Apache-2.0 */
/* NVTX ranges, by which NVIDIA's Nsight Systems shows our names. NVIDIA's library is opened at run
 * time; without it nothing happens. */
#ifndef BASE_RANGES_H
#define BASE_RANGES_H

#include <stdbool.h>

/* Opens the library, once, if a profiler of NVIDIA's watches this process (NVTX_INJECTION64_PATH)
 * or POLYGRAPHY_NVTX is 1, or the path of a library. From then on tracer_is_on is true. */
void ranges_detect(void);
bool ranges_are_on(void);
/* Ranges of a thread nest. */
void ranges_push(const char *name);
void ranges_pop(void);

#endif
