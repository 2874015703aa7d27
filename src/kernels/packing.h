/* SPDX-License-Identifier: Apache-2.0 */
/* Constants in the forms that kernels read. An engine owns a table, which holds each form of a
 * constant once: all its programs, contexts and profiles share it (docs/engine.md). A piece of the
 * table lives as long as a plan or program retains it. All functions may be called from several
 * threads at once.
 */
#ifndef KERNELS_PACKING_H
#define KERNELS_PACKING_H

#include "kernels/kernel.h"

typedef struct packed_table packed_table;
typedef struct packed_piece packed_piece;

packed_table *packed_table_create(void); /* NULL: out of memory */
packed_table *packed_table_retain(packed_table *t);
void packed_table_release(packed_table *t); /* NULL is fine; pieces may outlive the owner's hold */
typedef struct packed_count {
    size_t pieces;
    uint64_t bytes;
} packed_count;
packed_count packed_table_count(packed_table *t); /* of all live pieces */

packed_piece *packed_piece_retain(packed_piece *p);
void packed_piece_release(packed_piece *p);           /* NULL is fine */
const void *packed_piece_data(const packed_piece *p); /* 64-byte aligned */
uint64_t packed_piece_bytes(const packed_piece *p);

/* How `prepare` packs constant inputs. */
enum { PACKING_NUMBERS = 12 };
typedef struct kernel_packing {
    /* Names the order of the packed elements. Kernels with the same order share pieces. */
    const char *form;
    /* All that the packed bytes depend on, besides the form and the elements and types of `inputs`:
     * sizes, strides, levels. Nothing else may change them, above all no size of activations. */
    uint64_t numbers[PACKING_NUMBERS];
    uint32_t inputs; /* bit i: elements of input i are packed; those without data are left out */
    size_t size_bytes;
    /* Fills all bytes, gaps included. False: out of memory. */
    bool (*fill)(void *to, const kernel_problem *u, const void *user);
    const void *user;
} kernel_packing;
/* Sets out->packed, packed_bytes and piece: finds the same packing in the problem's table, or fills
 * it. Does not set packed_inputs. */
pgy_status kernel_pack(kernel_plan *out, const kernel_problem *u, const kernel_packing *how,
                       pgy_error *err) PGY_MUST_CHECK;

/* Moves what a plan packed without kernel_pack into the table, and drops it if the table has the
 * same bytes. */
pgy_status packed_table_adopt(packed_table *t, kernel_plan *plan, pgy_error *err) PGY_MUST_CHECK;
/* Retains the piece with the elements of a constant as they are. `copied`, which may be NULL, is
 * called after each 16 MiB, so that the caller can give back the memory that they came from. */
pgy_status packed_table_keep(packed_piece **out, packed_table *t, const kernel_tensor *constant,
                             void (*copied)(void *user), void *user, pgy_error *err) PGY_MUST_CHECK;

#endif
