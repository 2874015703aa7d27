/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of operators whose results' sizes depend on data (NonZero, NonMaxSuppression ...). They
 * are no steps of a program: a node that has one runs alone, on one thread, on values in their
 * declared types, and the kernel asks for its outputs when it knows their sizes. The operator's
 * shape rule has accepted the inputs. A family is one file src/kernels/finder_<name>.c. */
#ifndef KERNELS_FINDER_H
#define KERNELS_FINDER_H

#include "base/alloc.h"
#include "kernels/kernel.h"

typedef struct finder_call {
    const op_node *node;
    kernel_tensor inputs[KERNEL_MAX_INPUTS]; /* linear; `data` is set unless the input is omitted */
    const bool *wanted;                      /* indexed by output */
    /* Makes output i; its elements, aligned to 64 bytes, are then in *data, not cleared. */
    pgy_status (*create)(void **data, void *user, size_t i, pgy_dtype dtype, size_t rank,
                         const int64_t *shape, pgy_error *err);
    /* Gives memory until the next call, aligned to 64 bytes, not cleared. */
    pgy_status (*memory)(void **out, void *user, size_t size_bytes, pgy_error *err);
    void *user;
} finder_call;

typedef struct finder {
    const char *op; /* of the domain ai.onnx */
    /* Can it run on inputs like these? Else the definition does. */
    bool (*accept)(const finder_call *c);
    /* It calls `memory` at most once. A cancelled run may end with anything. */
    pgy_status (*run)(const finder_call *c, pgy_error *err);
} finder;

/* NULL: the operator has none. */
const finder *finder_for(const char *domain, const char *op);

extern const finder FINDER_nonzero, FINDER_compress, FINDER_unique, FINDER_boxes;

/* Memory for `count` items. */
static inline pgy_status finder_memory(void **out, const finder_call *c, size_t count,
                                       size_t item_bytes, pgy_error *err)
{
    size_t bytes;
    if (!size_mul(&bytes, count, item_bytes))
        return op_error(c->node, err, PGY_E_MEMORY, "out of memory");
    return c->memory(out, c->user, bytes, err);
}

/* ---- finder_marks.c ---- */
/* Appends to `to`, which has room for `n` numbers, the positions `from` + i of the elements i of x
 * that are not zero, and returns their number. */
typedef size_t finder_marks(uint32_t *to, const void *x, size_t n, uint32_t from);
/* By element type; NULL: not supported. NaN is not zero; -0 is. */
finder_marks *finder_marks_of(pgy_dtype dtype);

#endif
