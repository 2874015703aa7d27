/* SPDX-License-Identifier: Apache-2.0 */
/* Clock, processor features and a parallel loop. */
#ifndef BASE_SYSTEM_H
#define BASE_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int64_t clock_ns(void); /* monotonic time */

/* Processor features, lowest first. POLYGRAPHY_CPU=portable|avx2|avx512 hides the higher levels,
 * AMX and AVX-VNNI; avxvnni is avx2 with AVX-VNNI. */
typedef enum cpu_level { CPU_PORTABLE, CPU_AVX2, CPU_AVX512 } cpu_level;
cpu_level cpu_features(void);
const char *cpu_level_name(cpu_level level);
/* True if the processor has sums of products of bytes in vectors of a level: AVX-VNNI for
 * CPU_AVX2, AVX-512 VNNI for CPU_AVX512. They are no cpu_level, because kernels pack weights and
 * compute results the same without them. */
bool cpu_has_byte_sums(cpu_level level);
/* The same for AVX-512 VBMI (permutations of bytes). */
bool cpu_has_byte_permutes(void);
/* The same for AMX-INT8 (products of tiles of bytes), if the kernel lets this process use it. */
bool cpu_has_tiles(void);
/* The number of processors that this process may use (base/processors.h), at least 1.
 * POLYGRAPHY_THREADS overrides it. */
size_t cpu_count(void);

/* Calls task(i, user) for i in [0, count), on up to cpu_count() threads; returns when all are done.
 * Any thread may run any index, so a task must write only data that belongs to its index. Runs
 * inline when count is 1, when no thread can be started, or when called from inside a task. Threads
 * are kept and joined at exit. */
typedef void (*parallel_task)(size_t index, void *user);
void parallel_for(size_t count, parallel_task task, void *user);
/* Like parallel_for, but after pgy_cancel it skips the tasks that have not begun. The caller must
 * call cancel_check (base/cancel.h) before it uses the results. */
void parallel_for_until_cancelled(size_t count, parallel_task task, void *user);

#endif
