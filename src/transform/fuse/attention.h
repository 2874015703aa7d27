/* SPDX-License-Identifier: Apache-2.0 */
/* Attention as recognised in elementary nodes: operands, masks and factors. The recognised values
 * have three, four or five axes; the new Attention uses four, or three whose last axis holds all
 * heads side by side. */
#ifndef TRANSFORM_FUSE_ATTENTION_H
#define TRANSFORM_FUSE_ATTENTION_H

#include "transform/fuse/fuse.h"

enum { ATTENTION_Q, ATTENTION_K, ATTENTION_V, ATTENTION_OPERANDS, ATTENTION_MAX_MASKS = 4 };

/* Sizes of the leading axes, batch and heads. A value with three axes has no batch; one with five
 * has an additional first axis of size 1. */
typedef struct attention_lead {
    dim batch, heads;
} attention_lead;

typedef struct attention_operand {
    pgy_value *v;     /* [batch, heads, length, size] */
    bool turned;      /* v is [batch, heads, size, length] */
    bool lies_apart;  /* v is [batch, length, heads, size] */
    bool leads;       /* v is [length, batch, heads, size] */
    pgy_node *joined; /* the Concat of a key or value cache and v, which the nodes read instead of
                         v; NULL: no cache */
    pgy_value *apart; /* another value with the same elements as [batch, length, heads, size] and as
                         many axes as v, or NULL */
} attention_operand;

/* A mask that is added to the scores, or a condition that selects among them. */
typedef struct attention_mask {
    pgy_value *v;
    const pgy_value *scores; /* the scores (Q K') that the mask is added to */
    double factor;           /* factor for v, because the scores are multiplied after v was added */
    bool negative;           /* v is subtracted */
    bool chooses, opposite;  /* v is a condition; true keeps the score or, if opposite, masks it */
    double closed;           /* the score that masked positions get */
} attention_mask;

/* Kinds of products, by the last axes of the factors and of the result. */
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
    pgy_value *gain; /* a factor of the scores for each head, or NULL */
    const pgy_value *gained;
    double scale, cap; /* scale of the scores; cap of cap * tanh(scores / cap), 0: none */
    bool wide;         /* softmax runs in float32, everything else in 16-bit floats */
    bool deep;    /* while reading: cap or gain was passed, so masks found further back cannot be
                     merged */
    bool grouped; /* operands are read through the repetition of heads that several queries share */
    bool plain;   /* simple enough for the engine's own Attention kernels */
    bool own;     /* caches and shared heads are allowed, as the engine's kernels of the host take
                     them, and pgy:Attention for masks that may have one column */
    bool column;  /* the mask may have one column for all keys */
    attention_lead lead;
} attention;

/* ---- attention_operand.c --------------------------------------------------------------------- */

/* Reads batch and heads of v; false: it has not three to five axes, or five of which the first is
 * not 1. */
bool attention_lead_of(attention_lead *out, const pgy_value *v);
bool attention_has_perm(const pgy_node *n, const char *digits); /* "0213" */
/* Removes a constant factor from v and multiplies *scale by it. */
pgy_value *attention_unscaled(pattern *p, pgy_value *v, double *scale);
/* The input of the Reshape-like node that makes v, if it keeps the last two axes; or NULL. Unless
 * `open` is set, nothing else may use v. */
pgy_value *attention_seen_through(pgy_value *v, bool open);
/* Reads operand i from a value v in the order [length, batch, heads, size]. */
void attention_read_leading(attention *a, pattern *p, size_t i, pgy_value *v);
/* If keys and values are each a Concat of a cache and new rows, and both Concats are outputs of the
 * graph, replaces the operands by the new rows. */
void attention_split_cache(attention *a, pattern *p);
/* Lets nodes that read the shape of what a Concat of a cache and new rows makes compute it from the
 * shapes of both parts. */
void attention_free_shapes(pattern *p, const pgy_node *joined);
/* Reads operand i from factor v of a product, back over Transposes, Reshapes, constant factors and,
 * if a->grouped, the repetition of heads. `apart`: v is [.., length, heads, size]; `turned`: v is
 * [.., size, length]. */
void attention_read_operand(attention *a, pattern *p, size_t i, pgy_value *v, bool apart,
                            bool turned);
bool attention_operand_lead(attention_lead *out, const attention_operand *o);
/* The axis of v that holds the length. */
int32_t attention_length_axis(const attention_operand *o);

/* ---- attention_einsum.c ---------------------------------------------------------------------- */

/* The product that an Einsum of two tensors of this rank computes; [.., length, heads, size] needs
 * rank 4 or 5. */
attention_product attention_einsum(const pgy_node *n, size_t rank);

/* ---- attention_mask.c ------------------------------------------------------------------------ */

/* Can the masks in `a` be merged into one mask input? */
bool attention_masks_fit(const attention *a, const pattern *p);
/* Makes the mask input; NULL: none is needed, or p->status is set. *causal: Attention needs
 * is_causal, because the mask leaves out the causal triangle. */
pgy_value *attention_make_mask(const attention *a, pattern *p, pgy_node *n, bool *causal);

/* ---- attention_causal.c ---------------------------------------------------------------------- */

/* Is m the causal triangle? If not `alone`, other masks are added, so masked positions must be
 * masked by enough to stay so. */
bool attention_mask_is_causal(pattern *p, const attention_mask *m, bool alone);

/* ---- attention_floor.c ----------------------------------------------------------------------- */

/* A finite number, above the lowest one of the type, that as a mask also makes the softmax 0. */
double attention_floor(pgy_dtype dtype);
/* May v, a mask that is added to scores, hold the lowest or the largest number of its type? */
bool attention_needs_floor(pattern *p, pgy_value *v);

/* ---- attention_axis.c ------------------------------------------------------------------------ */

/* Adds or removes axis 0, of size 1, by operator `op`. */
pgy_value *attention_axis(pattern *p, pgy_node *n, const char *op, pgy_value *v);

/* ---- attention_make.c ------------------------------------------------------------------------ */

/* Replaces the recognised nodes by Attention; n is the last product. */
bool attention_make(const attention *a, pattern *p, pgy_node *n);

#endif
