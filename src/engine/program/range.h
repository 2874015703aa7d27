/* SPDX-License-Identifier: Apache-2.0 */
/* Programs for ranges of input shapes (docs/engine.md, "Ranges"). A range is a program for certain
 * shapes, its base, and what in it depends on the sizes of the inputs. For other shapes in the
 * range it makes a program with the same steps, kernels, layouts and constants, whose shapes,
 * parameters and places in memory are computed anew. */
#ifndef ENGINE_PROGRAM_RANGE_H
#define ENGINE_PROGRAM_RANGE_H

#include "engine/program/program.h"

typedef struct range range;

/* Builds the base for the first of at least two samples of input shapes, and the range of shapes
 * that vary as they do. Takes the graph, also on failure. PGY_E_UNSUPPORTED: the shapes have no
 * range, for the reason in `err`. */
pgy_status range_build(range **out, pgy_graph *g, const pgy_metadata *const *samples, size_t count,
                       const build_options *o, pgy_error *err) PGY_MUST_CHECK;
range *range_retain(range *r);
void range_release(range *r); /* NULL is fine */
/* The program for the first sample; borrowed. */
const program *range_base(const range *r);
/* Do these shapes vary from the base only in sizes that the range admits? range_program may refuse
 * them nevertheless. */
bool range_covers(const range *r, const pgy_metadata *shapes);
/* Lets the range reach from the least to the largest shapes, which vary as its samples do. */
void range_limit(range *r, const pgy_metadata *least, const pgy_metadata *largest);
/* Makes the program for shapes that the range covers; it retains the range. PGY_E_UNSUPPORTED: the
 * shapes break a relation between the inputs, or a kernel of the range does not support them. */
pgy_status range_program(program **out, range *r, const pgy_metadata *shapes,
                         pgy_error *err) PGY_MUST_CHECK;

#endif
