/* SPDX-License-Identifier: Apache-2.0 */
/* Precision as a rewrite of the graph: operators that run in another type than float32 get casts,
 * Q/DQ pairs and weights of that type. Later stages only read types from the graph. docs/engine.md
 * has the rules. */
#ifndef ENGINE_PRECISION_PRECISION_H
#define ENGINE_PRECISION_PRECISION_H

#include <polygraphy/build_config.h>

#include "engine/precision/calibrate.h"
#include "graph/guard.h"
#include "transform/pattern.h"

/* Changes inputs and outputs to the types in config->tensor_types, and reports formats that are not
 * available. Shapes must be inferred; they are inferred again afterwards. */
pgy_status precision_interface(pgy_graph *g, const pgy_build_config *config,
                               pgy_error *err) PGY_MUST_CHECK;

/* Applies the other precisions of config: int8, calibrated by `runner` (may be NULL), 16-bit
 * floats, and types of single layers; then saves the model if config->save_quantized asks for it.
 * Functions must be inlined. Inputs and outputs keep their types. */
pgy_status precision_apply(pgy_graph *g, const pgy_build_config *config,
                           const calibration_runner *runner, pgy_error *err) PGY_MUST_CHECK;

/* Does the model itself say what is int8, by Q/DQ pairs or integer operators? Then it needs no
 * calibration. */
bool precision_is_explicit(const pgy_graph *g);

/* ---- Shared by the files of precision_apply -------------------------------------------------- */

/* What the rewrite has made of one value of the graph so far. */
typedef struct precision_value {
    pgy_value *as[3];       /* the value as float16, bfloat16, float32; NULL: not made yet */
    pgy_value *dequantized; /* the value after a Q/DQ pair, or a weight's DequantizeLinear */
    bool quantized;         /* a layer in int8 computes it */
    bool listed;            /* already listed among the values to calibrate */
    float scale;
    int32_t zero;  /* zero point of a quantized value */
    bool measured; /* the largest finite magnitude of a weight in float32 is known: */
    float largest;
} precision_value;
SIDE_TABLE(precision_values, precision_value)

typedef struct precision {
    pattern p; /* graph edits; after a failure its status stops all further ones */
    const pgy_build_config *config;
    const calibration_runner *runner; /* NULL: calibration data cannot be run */
    bool fuses; /* normalisations were fused into one node each, so names of their layers may be
                   lost */
    precision_values values;
    graph_guards guards;   /* divisions that a number guards that is too small for float16 or
                              bfloat16: they stay in float32 */
    id_marks sizes;        /* values that compute sizes of tensors; stay in float32 by default */
    const pgy_value *zero; /* the int8 zero point constant that all symmetric tensors share */
    /* Numbers of layers changed: to float16, bfloat16, float32; to int8. */
    size_t count[3], quantized_count;
} precision;

/* The entry of v in x->values; NULL: out of memory, recorded in x->p.status. */
precision_value *precision_of(precision *x, pgy_value *v);
pgy_status precision_no_memory(precision *x);
/* A new value of type t with the shape of `like`, named <name of like>_<suffix>; NULL: out of
 * memory. */
pgy_value *precision_create(precision *x, pgy_value *like, const char *suffix, pgy_dtype t);

/* choice.c: the type that --layer-precisions gives a layer, or PGY_DTYPE_NONE. */
pgy_dtype precision_asked(const precision *x, const pgy_node *n);
/* Reports that a layer cannot have the type that was asked for: as an error, a warning or a verbose
 * line, depending on the constraints. */
void precision_refuse(precision *x, const pgy_node *n, pgy_dtype asked, const char *why);
/* Warns of names that match no layer, and of missing constraints. */
void precision_check_choices(const precision *x);

/* half.c, half_choice.c, half_value.c: layers in float16 and bfloat16. */
void precision_halve(precision *x);
bool precision_is_activation(const pgy_node *n);

/* half_weight.c: their weights. */
float precision_largest(pgy_dtype t); /* the largest finite number of float16 or bfloat16 */
/* Why a weight does not fit in float16; NULL: it fits, or v is no weight in float32. `mask`: it is
 * clamped without a loss. */
const char *precision_unfit_weight(precision *x, pgy_value *v, bool mask);
/* Makes `to`, of another float type, a weight with the numbers of the constant `from`. */
void precision_convert_weight(precision *x, pgy_value *from, pgy_value *to);

/* quantize.c: layers in int8, by Q/DQ around them. */
void precision_quantize(precision *x);

/* What int8 does with the elements that an operator reads. */
typedef enum quantize_role {
    QUANTIZE_NONE,
    QUANTIZE_LINEAR, /* Conv, MatMul and the like: input 1 is a weight */
    QUANTIZE_JOIN,   /* combines elements of its inputs, each of which has its own scale */
    QUANTIZE_MOVE,   /* moves elements, so the result has the scale of input 0 */
} quantize_role;
quantize_role quantize_role_of(const pgy_node *n);
/* Is n a Relu or Clip, which the int8 layer before it can apply to its results? */
bool quantize_is_limit(const pgy_node *n);
/* The first inputs of n, up to this number, are the tensors that it combines or moves. */
size_t quantize_data_inputs(const pgy_node *n);
/* Why layer n cannot run in int8; NULL: it can, if its scales are known. */
const char *quantize_obstacle(const precision *x, const pgy_node *n);
/* The axis of a weight of this rank that holds the output channels. */
size_t quantize_channel_axis(const pgy_node *n, size_t rank);

#endif
