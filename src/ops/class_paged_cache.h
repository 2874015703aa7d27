/* SPDX-License-Identifier: Apache-2.0 */
/* A cache of keys or values in blocks that sequences share, [blocks, tokens of a block, heads,
 * elements of a head], perhaps quantised without zero points. */
#ifndef OPS_CLASS_PAGED_CACHE_H
#define OPS_CLASS_PAGED_CACHE_H

#include "ops/class_check.h"

/* Which inputs and attributes describe a cache. */
typedef struct paged_names {
    size_t cache, scale, output;
    const char *dtype, *quant; /* attributes: the logical element type, the kind of its scales */
} paged_names;

/* Checks the attributes against the cache's type, and its shape; sets the output like the cache. */
pgy_status paged_cache_infer(op_infer *c, const paged_names *names, dim heads, dim size,
                             pgy_error *err) PGY_MUST_CHECK;

typedef struct paged_cache {
    const op_eval *c;
    const paged_names *names;
    size_t blocks, tokens, heads, size; /* size: of a head, in logical elements */
    size_t stored; /* elements of a head in the tensor; two values each for 4 bits */
    pgy_dtype logical;
    bool scaled, by_channel;
    double *floats; /* a copy of the cache, as floats or as integers */
    int64_t *codes;
} paged_cache;

/* Copies the cache. The caller must call paged_cache_deinit even after an error. */
pgy_status paged_cache_open(paged_cache *p, const op_eval *c, const paged_names *names, size_t size,
                            pgy_error *err) PGY_MUST_CHECK;
/* Writes or reads a head of the token in a slot: its block times the block's tokens plus its place
 * in the block. */
void paged_cache_put(paged_cache *p, size_t slot, size_t head, const double *x);
double paged_cache_get(const paged_cache *p, size_t slot, size_t head, size_t i);
/* Copies the cache to its output, if the node has it. */
void paged_cache_store(const paged_cache *p);
void paged_cache_deinit(paged_cache *p);

#endif
