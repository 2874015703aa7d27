/* SPDX-License-Identifier: Apache-2.0 */
/* Weights that a plan stores only packed. The record of such a weight says where its piece is and
 * how it was packed, so that programs for other shapes find the piece, and others get the elements
 * back. */
#ifndef ENGINE_PLAN_PACKED_NOTE_H
#define ENGINE_PLAN_PACKED_NOTE_H

#include <polygraphy/onnx.h>

#include "engine/plan/areas.h"
#include "kernels/packing.h"

/* The pieces of the constants from which weights can be restored. */
typedef struct packed_notes {
    packed_table *table;
    strmap pieces; /* maps the address of a weight's record to its piece (plan_piece) */
    strmap names;  /* maps the address of a weight's record to its name */
} packed_notes;
/* `table` may be NULL: then there are none. `g` has the weights. */
pgy_status packed_notes_find(packed_notes *out, const area_pools *pools, packed_table *table,
                             const pgy_onnx_graph *g, pgy_error *err) PGY_MUST_CHECK;
void packed_notes_deinit(packed_notes *n);
/* Describes the piece of a weight; false: it has none, or (text->failed) there is no memory. */
bool packed_notes_write(str *text, const packed_notes *n, const pgy_onnx_tensor *weight);

/* Gives the weights of a model that was just parsed their elements, which are computed on demand,
 * and offers the pieces to the table, if there is one. `constants` must outlive both. */
pgy_status packed_notes_read(pgy_model *model, const char *(*note_of)(const pgy_onnx_tensor *t),
                             const area_bytes *constants, packed_table *table,
                             pgy_error *err) PGY_MUST_CHECK;

#endif
