/* SPDX-License-Identifier: Apache-2.0 */
/* Precision as a change to the graph: whatever is to be computed in another type than float32 gets
 * casts, Q/DQ pairs and weights of that type. Afterwards the graph says everything; nothing that
 * comes later decides about types. docs/engine.md has the rules. */
#ifndef ENGINE_PRECISION_PRECISION_H
#define ENGINE_PRECISION_PRECISION_H

#include <polygraphy/build_config.h>

#include "engine/precision/calibrate.h"
#include "graph/guard.h"
#include "transform/pattern.h"

/* Gives inputs and outputs the types that config->tensor_types asks for, and says which formats
 * cannot be had. The graph's shapes must have been inferred, and are again. */
pgy_status precision_interface(pgy_graph *g, const pgy_build_config *config,
                               pgy_error *err) PGY_MUST_CHECK;

/* Everything else that config asks for: int8 with its calibration (by `runner`, or NULL), 16-bit
 * floats, types of layers; then config->save_quantized. Functions must have been inlined. Types of
 * inputs and outputs stay. */
pgy_status precision_apply(pgy_graph *g, const pgy_build_config *config,
                           const calibration_runner *runner, pgy_error *err) PGY_MUST_CHECK;

/* Does the model say itself what is int8, by Q/DQ pairs or integer operators? Then nothing is
 * calibrated. */
bool precision_is_explicit(const pgy_graph *g);

/* ---- Parts ----------------------------------------------------------------------------------- */

/* What is kept of a value while the graph is rewritten. */
typedef struct precision_value {
    pgy_value *as[3];       /* the same as float16, bfloat16, float32; NULL: not made yet */
    pgy_value *dequantized; /* behind a Q/DQ pair, or a weight's DequantizeLinear */
    bool quantized;         /* made by a layer in int8 */
    bool exact;             /* takes part in shape arithmetic */
    bool listed;            /* to be calibrated */
    float scale;
    int32_t zero; /* zero point of what is quantized */
} precision_value;
SIDE_TABLE(precision_values, precision_value)

typedef struct precision {
    pattern p; /* sticky status; edits */
    const pgy_build_config *config;
    const calibration_runner *runner; /* NULL: nothing can be calibrated from data */
    bool fuses; /* norms were made one node each, so layers' names may have gone */
    precision_values values;
    graph_guards guards;              /* of float16 and bfloat16 */
    const pgy_value *zero;            /* int8 zero point of the top level */
    size_t count[3], quantized_count; /* layers; in float16, bfloat16, float32 */
} precision;

/* The entry of v; NULL: out of memory, and the status is set. */
precision_value *precision_of(precision *x, pgy_value *v);
pgy_status precision_no_memory(precision *x);

/* precision_choice.c: the type that --layer-precisions gives a layer; NONE: none. */
pgy_dtype precision_asked(const precision *x, const pgy_node *n);
/* A layer cannot have the type that was asked for: an error, a warning or a line for the curious,
 * as the constraints say. */
void precision_refuse(precision *x, const pgy_node *n, pgy_dtype asked, const char *why);
/* Names that fit no layer, and that constraints are missing, are told. */
void precision_check_choices(const precision *x);
/* Marks what shapes are computed from: 16-bit floats are too coarse for sizes. */
void precision_mark_exact(precision *x);

/* precision_half.c: layers in float16 and bfloat16. */
void precision_halve(precision *x);
bool precision_is_activation(const pgy_node *n);

/* precision_quantize.c: layers in int8, by Q/DQ around them. */
void precision_quantize(precision *x);

#endif
