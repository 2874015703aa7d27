/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of a program's steps for traces (base/tracer.h). */
#ifndef ENGINE_PROGRAM_TRACED_H
#define ENGINE_PROGRAM_TRACED_H

#include "engine/program/program.h"
#include "kernels/launch.h"

/* Makes a label for each step (mem_free); NULL: out of memory. `launches` has the number of parts
 * of each step, which up to `threads` threads share. */
uint32_t *traced_labels(const program *p, const launch *launches, size_t threads);

#endif
