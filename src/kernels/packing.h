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

/* From now on, constants at aligned addresses live as long as the table and its pieces: they are
 * not copied. For the constants of a plan file. Call it before others use the table. */
void packed_table_set_lasting(packed_table *t);

/* What kernel_tensor.narrow is of the constant with this source, if somebody noted it. A table that
 * is out of memory forgets it. */
bool packed_table_narrow(pgy_dtype *out, packed_table *t, const void *source);
void packed_table_note_narrow(packed_table *t, const void *source, pgy_dtype narrow);

packed_piece *packed_piece_retain(packed_piece *p);
void packed_piece_release(packed_piece *p);           /* NULL is fine */
const void *packed_piece_data(const packed_piece *p); /* 64-byte aligned */
uint64_t packed_piece_bytes(const packed_piece *p);

/* What a piece was made from; its key in the table. */
enum { PACKING_NUMBERS = 12, PACKING_SOURCES = 4 };
/* The form of a float32 matrix in 16 bits, without loss, and the number that is its type. */
#define PACKING_NARROW "matmul_narrow"
enum { PACKING_NARROW_TYPE = 8 };
typedef struct packed_source {
    uint32_t input; /* of the kernel's problem */
    pgy_dtype dtype;
    const void *source; /* as in kernel_tensor */
} packed_source;
typedef struct packed_recipe {
    char form[24];
    uint64_t numbers[PACKING_NUMBERS];
    uint32_t source_count;
    packed_source sources[PACKING_SOURCES];
} packed_recipe;
/* The type of a matrix that was packed by PACKING_NARROW; else NONE. */
pgy_dtype packed_recipe_narrow(const packed_recipe *r);
/* NULL: some elements have no source, so nobody else can ask for this piece by name. */
const packed_recipe *packed_piece_recipe(const packed_piece *p);
/* The piece at this address; NULL: the table has none. */
packed_piece *packed_table_at(packed_table *t, const void *data);
/* Can the elements of this input be computed from a piece with this recipe? */
bool packed_can_restore(const packed_recipe *r, uint32_t input);
/* Computes them, in the type of the recipe's source. The recipe and the bytes may come from a file.
 * False: they do not fit the sizes. */
bool packed_restore(void *to, uint64_t size_bytes, const packed_recipe *r, uint32_t input,
                    const void *packed, uint64_t packed_bytes);
/* Adds a piece whose bytes the caller keeps as long as the table and its pieces live. */
pgy_status packed_table_offer(packed_table *t, const packed_recipe *r, const void *data,
                              uint64_t size_bytes, pgy_error *err) PGY_MUST_CHECK;

/* Calls k->prepare. Large constants may lie at any address, as in the file of a model: a kernel
 * sees aligned copies, and one with KERNEL_SHARES_WEIGHTS only where it fills a piece. */
pgy_status kernel_prepare(kernel_plan *out, const kernel *k, const kernel_problem *u,
                          pgy_error *err) PGY_MUST_CHECK;

/* Copies the elements of a constant, wherever they are. False: out of memory. */
bool kernel_read_constant(void *to, const kernel_problem *u, const kernel_tensor *t);
/* Copies only bytes [offset, offset + size_bytes) of them. */
bool kernel_read_part(void *to, const kernel_problem *u, const kernel_tensor *t, size_t offset,
                      size_t size_bytes);

/* How `prepare` packs constant inputs. */
typedef struct kernel_packing {
    /* Names the order of the packed elements, in less than 24 characters. Kernels with the same
     * order share pieces. */
    const char *form;
    /* All that the packed bytes depend on, besides the form and the elements and types of `inputs`:
     * sizes, strides, levels. Nothing else may change them, above all no size of activations. */
    uint64_t numbers[PACKING_NUMBERS];
    uint32_t inputs; /* bit i: elements of input i are packed; those without data are left out */
    size_t size_bytes;
    /* Fills all bytes, gaps included. False: out of memory. */
    bool (*fill)(void *to, const kernel_problem *u, const void *user);
    const void *user;
    bool any_address; /* `fill` reads elements whose address is not aligned, too, and those that are
                         elsewhere */
} kernel_packing;
/* Sets out->packed, packed_bytes and piece: finds the same packing in the problem's table, or fills
 * it. Does not set packed_inputs. If the problem keeps its packed bytes, out->packed stays NULL. */
pgy_status kernel_pack(kernel_plan *out, const kernel_problem *u, const kernel_packing *how,
                       pgy_error *err) PGY_MUST_CHECK;

/* Moves what a plan packed without kernel_pack into the table, and drops it if the table has the
 * same bytes. */
pgy_status packed_table_adopt(packed_table *t, kernel_plan *plan, pgy_error *err) PGY_MUST_CHECK;
/* Retains the piece with the elements of u->inputs[0] as they are. If they stay where they are as
 * long as the model, a lasting table does not copy them. `copied`, which may be NULL, is called
 * after each 16 MiB, so that the caller can give back the memory that they came from. */
pgy_status packed_table_keep(packed_piece **out, const kernel_problem *u, bool stays,
                             void (*copied)(void *user), void *user, pgy_error *err) PGY_MUST_CHECK;

#endif
