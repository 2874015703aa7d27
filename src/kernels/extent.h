/* SPDX-License-Identifier: Apache-2.0 */
/* Which memory a kernel touches when it runs, computed from its parameters alone.
 *
 * A plan file holds the parameters of each step's kernel as bytes, and `run` trusts them. The file
 * may come from an attacker, so opening a plan first calls each kernel's `extent`: it refuses
 * parameters that `run` cannot execute safely, and states how many bytes of every operand `run` may
 * read or write. The opener compares these with the sizes of the step's tensors. Tests run kernels
 * with guard pages behind exactly these bytes (tests/harness/extent_check.h).
 *
 * How to write one, usually 10 to 30 lines behind `prepare`:
 *
 *     static bool extent(kernel_extent *e, const kernel_claim *q)
 *     {
 *         const params *p = extent_params(e, q, sizeof *p);
 *         if (!p || !extent_level(e, p->level)) return false;
 *         if (p->inputs != q->input_count) return extent_refuse(e, "number of inputs");
 *         if (!p->block) return extent_refuse(e, "block");
 *         const uint64_t count = extent_mul(p->rows, p->columns);
 *         extent_tensor(e, 0, count, sizeof(float));
 *         extent_tensor(e, p->inputs, count, sizeof(float));
 *         return true;
 *     }
 *
 * - The parameters can be any bytes. Check every member that `run` uses: enumerations and
 *   indices into tables of the code (extent_enum, extent_level), divisors and steps that must
 *   not be 0, offsets into the parameters, `bool` members (extent_flag: a value other than 0
 *   and 1 is undefined behaviour), numbers of operands, members that follow from others (a
 *   count that must be the product of a shape). Where `run` computes in int64_t, bound the
 *   factors (extent_between, or a product that extent_mul bounds), or they overflow. Refuse
 *   what `prepare` never makes: that is simpler than to find out what `run` would do with it.
 * - Compute sizes with extent_mul and extent_add. A product or sum that overflows becomes
 *   EXTENT_TOO_MUCH and stays so; kernel_extent_of refuses it wherever it ends up.
 * - An operand of 0 bytes may be missing: `run` gets NULL or a tensor of any size. State the
 *   bytes of optional operands only where the claim has them (extent_has), as `run` reads them
 *   only where its pointer is not NULL. The stated size reveals missing operands that `run`
 *   needs. A packed input counts as missing.
 * - The stated bytes must bound the work: a loop over 2^60 rows of 0 bytes never ends.
 * - `phases` is the number that `run` knows: a step must have exactly as many. `parts` is the
 *   largest safe number of parts, by default any: lower it where `workspace` has a place for
 *   each part. `workspace`, `scratch` and `packed` are bytes as in kernel_plan.
 * - Data can be any bytes, too, also those of constants and packed weights. A kernel that takes
 *   indices, lengths or offsets from tensors checks each at run time before its use, and names
 *   these inputs in `indices`: no output may share their memory.
 */
#ifndef KERNELS_EXTENT_H
#define KERNELS_EXTENT_H

#include "kernels/kernel.h"

enum { KERNEL_TENSORS = KERNEL_MAX_INPUTS + KERNEL_MAX_OUTPUTS };

#define EXTENT_TOO_MUCH UINT64_MAX

/* What a step of a plan file claims. Each member may be false. */
typedef struct kernel_claim {
    const kernel *self; /* set by kernel_extent_of */
    const void *params; /* the address is a multiple of 64 */
    uint64_t params_bytes;
    uint64_t present; /* bit i: operand i (inputs, then outputs) is given at run time */
    uint32_t input_count, output_count; /* at most KERNEL_MAX_INPUTS, KERNEL_MAX_OUTPUTS */
} kernel_claim;

typedef struct kernel_extent {
    /* Bytes from the start of each operand that `run` may touch: inputs, then outputs. */
    uint64_t tensors[KERNEL_TENSORS];
    uint64_t packed, workspace, scratch; /* bytes */
    uint32_t phases;                     /* 1 unless set */
    uint32_t parts;                      /* upper bound; UINT32_MAX unless set */
    uint32_t indices; /* bit i: elements of input i say where `run` reads or writes */
    uint64_t on_host; /* bit i: operand i of a device's kernel is read on the host */
    const char *why;  /* after a refusal: names the invalid part of the parameters */
} kernel_extent;

/* Calls the kernel's `extent`. False if the parameters are invalid; out->why names the part. */
bool kernel_extent_of(kernel_extent *out, const kernel *k, const kernel_claim *claim);

/* ---- Help for kernels ----------------------------------------------------------------------- */

/* Records the reason; returns false, so that callers write `return extent_refuse(...)`. */
bool extent_refuse(kernel_extent *e, const char *why);
/* Returns the parameters if they have this size; else refuses and returns NULL. */
const void *extent_params(kernel_extent *e, const kernel_claim *q, size_t size);
/* Refuses a level that this processor lacks or POLYGRAPHY_CPU forbids. */
bool extent_level(kernel_extent *e, uint64_t level);
/* Refuses a value that is not below `count`. */
bool extent_enum(kernel_extent *e, uint64_t value, uint64_t count, const char *what);
/* Refuses a `bool` whose byte is neither 0 nor 1. */
bool extent_flag(kernel_extent *e, const bool *flag);
/* States that `run` touches the first `count` elements, of `item` bytes each, of operand i. Of
 * several calls for one operand, the largest counts. */
void extent_tensor(kernel_extent *e, uint32_t i, uint64_t count, uint64_t item);

static inline bool extent_has(const kernel_claim *q, uint32_t operand)
{
    return operand < KERNEL_TENSORS && q->present >> operand & 1;
}

static inline uint64_t extent_add(uint64_t a, uint64_t b)
{
    return a > EXTENT_TOO_MUCH - b ? EXTENT_TOO_MUCH : a + b;
}

static inline uint64_t extent_mul(uint64_t a, uint64_t b)
{
    uint64_t product;
    if (a == EXTENT_TOO_MUCH || b == EXTENT_TOO_MUCH) return EXTENT_TOO_MUCH;
    return __builtin_mul_overflow(a, b, &product) ? EXTENT_TOO_MUCH : product;
}

/* a * b * c */
static inline uint64_t extent_mul3(uint64_t a, uint64_t b, uint64_t c)
{
    return extent_mul(extent_mul(a, b), c);
}

/* A signed size as uint64_t; negative sizes become EXTENT_TOO_MUCH. */
static inline uint64_t extent_size(int64_t size)
{
    return size < 0 ? EXTENT_TOO_MUCH : (uint64_t)size;
}

/* low <= value < high */
static inline bool extent_between(int64_t value, int64_t low, int64_t high)
{
    return low <= value && value < high;
}

/* The product of all sizes, or EXTENT_TOO_MUCH. */
uint64_t extent_product(const uint64_t *sizes, size_t count);
/* Elements up to and including the last one that a strided access reaches; 0 if a size is 0.
 * Negative strides, read as unsigned numbers, give EXTENT_TOO_MUCH. */
uint64_t extent_reach(const uint64_t *sizes, const uint64_t *strides, size_t count);

/* Rounds up to a multiple of `to`, which must not be 0. */
static inline uint64_t extent_round_up(uint64_t size, uint64_t to)
{
    const uint64_t raised = extent_add(size, to - 1);
    return raised == EXTENT_TOO_MUCH ? raised : raised / to * to;
}

/* Sets *at to the end of a workspace, and moves the end behind `count` items there. */
static inline void extent_place(uint64_t *at, uint64_t *end, uint64_t count, uint64_t item)
{
    *at = *end;
    *end = extent_round_up(extent_add(*end, extent_mul(count, item)), 64);
}

#endif
