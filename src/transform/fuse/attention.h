/* SPDX-License-Identifier: Apache-2.0 */
/* Attention written out, as it was recognised, and the steps to it: what is looked at keeps its
 * shape (three axes, four, or five), what is made has four, or three with the heads side by side.
 */
#ifndef TRANSFORM_FUSE_ATTENTION_H
#define TRANSFORM_FUSE_ATTENTION_H

#include "transform/fuse/fuse.h"

enum { ATTENTION_Q, ATTENTION_K, ATTENTION_V, ATTENTION_OPERANDS, ATTENTION_MAX_MASKS = 4 };

/* Batch and heads. Of three axes the first are heads; of five the first is 1. */
typedef struct attention_lead {
    dim batch, heads;
} attention_lead;

typedef struct attention_operand {
    pgy_value *v;     /* [batch, heads, length, size] */
    bool turned;      /* v is [batch, heads, size, length] */
    bool lies_apart;  /* v is [batch, length, heads, size] itself */
    bool leads;       /* v is [length, batch, heads, size] itself */
    pgy_node *joined; /* the Concat of a cache and v, which is all that attention sees; or NULL */
    pgy_value *apart; /* the same as [batch, length, heads, size], or NULL; of as many axes */
} attention_operand;

/* Added to scores, or choosing among them. */
typedef struct attention_mask {
    pgy_value *v;
    const pgy_value *scores; /* that it was applied to */
    double factor;           /* of v, where scores with their mask are multiplied */
    bool negative;           /* v is subtracted */
    bool chooses, opposite;  /* v is a condition, which opens or, if opposite, closes */
    double closed;           /* what it puts there */
} attention_mask;

/* Products by the last axes of their factors and of the result. */
typedef enum attention_product {
    ATTENTION_NO_PRODUCT,
    ATTENTION_MATRICES,       /* [i, d] [d, j] is [i, j] */
    ATTENTION_ROWS,           /* [i, d] [j, d] is [i, j] */
    ATTENTION_SCORES,         /* [i, heads, d] [j, heads, d] is [heads, i, j] */
    ATTENTION_VALUES,         /* [heads, i, j] [j, heads, d] is [i, heads, d] */
    ATTENTION_LEADING_SCORES, /* [i, batch, heads, d] [j, batch, heads, d] is [batch, heads, i, j]
                               */
    ATTENTION_LEADING_VALUES /* [batch, heads, i, j] [j, batch, heads, d] is [i, batch, heads, d] */
} attention_product;

typedef struct attention {
    attention_operand of[ATTENTION_OPERANDS];
    attention_mask masks[ATTENTION_MAX_MASKS];
    size_t mask_count;
    pgy_value *gain; /* a factor for each head, or NULL */
    const pgy_value *gained;
    double scale, cap; /* cap 0: none */
    bool wide;         /* the softmax is one of float32, the rest of 16 bits */
    bool deep;         /* while reading: a mask would come too late */
    bool grouped;      /* repetition of heads is looked through */
    bool plain;        /* what the engine takes too */
    attention_lead lead;
} attention;

/* ---- attention_operand.c --------------------------------------------------------------------- */

/* False: not of three to five axes, or five and the first is not 1. */
bool attention_lead_of(attention_lead *out, const pgy_value *v);
bool attention_has_perm(const pgy_node *n, const char *digits); /* "0213" */
/* v without a constant factor, which goes into the scale. */
pgy_value *attention_unscaled(pattern *p, pgy_value *v, double *scale);
/* What a view of v (inner, or `open`) shows, where the last two axes stay; or NULL. */
pgy_value *attention_seen_through(pgy_value *v, bool open);
/* The same of one that is [length, batch, heads, size]. */
void attention_read_leading(attention *a, pattern *p, size_t i, pgy_value *v);
/* Keys and values that are joined from a cache and what is new, both being outputs of their level:
 * they become what is new. */
void attention_split_cache(attention *a, pattern *p);
/* Goes back from a factor of a product, over Transposes, Reshapes, numbers and, if a->grouped, the
 * repetition of heads. `apart`: v is [.., length, heads, size]; `turned`: [.., size, length]. */
void attention_read_operand(attention *a, pattern *p, size_t i, pgy_value *v, bool apart,
                            bool turned);
bool attention_operand_lead(attention_lead *out, const attention_operand *o);
/* The axis of v that is the length. */
int32_t attention_length_axis(const attention_operand *o);

/* ---- attention_einsum.c ---------------------------------------------------------------------- */

/* Which product of two tensors of this rank an Einsum is; one that lies apart has the rank 4 or 5.
 */
attention_product attention_einsum(const pgy_node *n, size_t rank);

/* ---- attention_mask.c ------------------------------------------------------------------------ */

/* Can these masks be one input? */
bool attention_masks_fit(const attention *a, const pattern *p);
/* The input, or NULL: there is none, or p->status. *causal: the rest is the triangle. */
pgy_value *attention_make_mask(const attention *a, pattern *p, pgy_node *n, bool *causal);

/* ---- attention_causal.c ---------------------------------------------------------------------- */

/* Is it the triangle? Beside other masks (not `alone`) it must close for good. */
bool attention_mask_is_causal(pattern *p, const attention_mask *m, bool alone);

/* ---- attention_floor.c ----------------------------------------------------------------------- */

/* A number that closes as well as the lowest one. */
double attention_floor(pgy_dtype dtype);
/* May a mask of numbers hold the lowest number, or the largest? */
bool attention_needs_floor(pattern *p, pgy_value *v);

/* ---- attention_make.c ------------------------------------------------------------------------ */

/* A new value of n's level; NULL: out of memory. */
pgy_value *attention_value(pattern *p, const pgy_node *n);
/* Axis 0, of size 1, is put in front or taken away. */
pgy_value *attention_axis(pattern *p, pgy_node *n, const char *op, pgy_value *v);
pgy_value *attention_ints(pattern *p, const pgy_node *n, const int64_t *values, size_t count);
/* Puts it in the place of the last node of it. */
bool attention_make(const attention *a, pattern *p, pgy_node *n);

#endif
