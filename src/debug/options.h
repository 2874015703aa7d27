/* SPDX-License-Identifier: Apache-2.0 */
/* The copies that a session keeps of its options. */
#ifndef DEBUG_OPTIONS_H
#define DEBUG_OPTIONS_H

#include <polygraphy/debug.h>

#include "base/arena.h"

/* Copies all texts and lists into `memory`; false: out of memory. */
bool debug_options_copy(pgy_debug_options *o, pgy_debug_check *c, arena *memory);

#endif
