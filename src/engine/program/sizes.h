/* SPDX-License-Identifier: Apache-2.0 */
/* The sizes of a range of input shapes: which dimensions of the inputs vary, how the others follow
 * from them, and every size inside the program as an expression over them. */
#ifndef ENGINE_PROGRAM_SIZES_H
#define ENGINE_PROGRAM_SIZES_H

#include <polygraphy/tensor.h>

#include "graph/graph.h"

enum {
    SIZES_SYMBOLS = 6, /* independent sizes */
    SIZES_MOST = 4096, /* distinct sizes of a program */
    SIZES_SPREAD = 16, /* a range reaches from 1/16 to 16 times the sizes that it was built for */
    SIZES_LEAST = 2    /* sizes 0 and 1 broadcast or are empty: they have programs of their own */
};

/* An axis of an input. */
typedef struct size_axis {
    uint32_t input, axis;
} size_axis;

typedef struct size_form {
    pgy_dtype dtype;
    int32_t rank;
} size_form;

typedef struct sizes {
    arena memory;
    op_value *inputs;     /* type and dims of each input */
    size_form *forms;     /* indexed by input: its type and rank */
    uint32_t *input_axes; /* of all axes, one input after the other: places of dims in `items` */
    size_t input_count;
    size_axis symbols[SIZES_SYMBOLS]; /* the axes that vary independently */
    dim_bound bound[SIZES_SYMBOLS];   /* their sizes in the shapes that the range is built for */
    int64_t least[SIZES_SYMBOLS], most[SIZES_SYMBOLS];
    dim_bound now[SIZES_SYMBOLS]; /* their sizes in the latest evaluation */
    size_t symbol_count;
    dim *items;       /* all distinct sizes */
    uint8_t *varying; /* indexed by place: does the size vary? */
    size_t count;
} sizes;

/* Finds what varies and what follows from it in samples of input shapes, of which the first are
 * those to build for, and makes dims of the graph's table for the inputs. PGY_E_UNSUPPORTED: no
 * range has these shapes, for the reason in `err`. */
pgy_status sizes_learn(sizes *out, pgy_graph *g, const pgy_metadata *const *samples, size_t count,
                       pgy_error *err) PGY_MUST_CHECK;
void sizes_deinit(sizes *s);
/* The number of a dim at the shapes that the range is built for. */
bool sizes_value(int64_t *out, const sizes *s, dim d);
/* The place of a dim in `items`, where it is added. False: it has no number, or there is no room.
 */
bool sizes_place(uint32_t *out, sizes *s, dim d);
/* Sets the bounds of all independent sizes. */
void sizes_limit(sizes *s, const pgy_metadata *least, const pgy_metadata *largest);
/* Do types and independent sizes lie in the range? Relations may not hold. */
bool sizes_cover(const sizes *s, const pgy_metadata *shapes);
/* Computes all sizes for input shapes that the range covers. False: a relation between input sizes
 * does not hold, or a number overflows. */
bool sizes_evaluate(int64_t *values, sizes *s, const pgy_metadata *shapes);
/* The same for independent sizes, which need not have been checked. False also if one lies outside
 * the range. */
bool sizes_evaluate_at(int64_t *values, sizes *s, const int64_t *independent);
/* The number of a dim at the shapes of the latest evaluation. */
bool sizes_value_now(int64_t *out, const sizes *s, dim d);

#endif
