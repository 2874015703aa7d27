/* SPDX-License-Identifier: Apache-2.0 */
/* The layers of a model, in the order in which they run, and those that can get another precision.
 */
#ifndef DEBUG_LAYERS_H
#define DEBUG_LAYERS_H

#include <polygraphy/debug.h>

#include "base/arena.h"

typedef struct debug_layer {
    const char *name;
    bool is_markable; /* may its precision change? */
    const char **outputs;
    size_t output_count;
    double error; /* set by debug_layers_sort; negative: not known */
} debug_layer;

typedef struct debug_layers {
    pgy_model *model; /* each of its layers has a name of its own */
    debug_layer *items;
    size_t count;
    arena memory;
} debug_layers;

pgy_status debug_layers_list(debug_layers *out, pgy_model *model, pgy_error *err) PGY_MUST_CHECK;
/* Sorts the layers by the largest errors of their outputs, largest first; layers that cannot get
 * another precision come last. */
void debug_layers_sort(debug_layers *l, const pgy_debug_tensor_error *errors, size_t count);
void debug_layers_deinit(debug_layers *l);

#endif
