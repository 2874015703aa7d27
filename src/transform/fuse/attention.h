/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of an Attention that was recognised in elementary nodes. The recognised values have
 * three, four or five axes; the new nodes use four, or three with the heads side by side. */
#ifndef TRANSFORM_FUSE_ATTENTION_H
#define TRANSFORM_FUSE_ATTENTION_H

#include "transform/fuse/fuse.h"

enum { ATTENTION_Q, ATTENTION_K, ATTENTION_V, ATTENTION_OPERANDS, ATTENTION_MAX_MASKS = 4 };

/* Batch and heads. With three axes the first one is the heads; with five the first one is 1. */
typedef struct attention_lead {
    dim batch, heads;
} attention_lead;

typedef struct attention_operand {
    pgy_value *v;     /* [batch, heads, length, size] */
    bool turned;      /* v is [batch, heads, size, length] */
    bool lies_apart;  /* v is [batch, length, heads, size] itself */
    bool leads;       /* v is [length, batch, heads, size] itself */
    pgy_node *joined; /* the Concat of a cache and v that attention reads; or NULL */
    pgy_value
        *apart; /* the same value as [batch, length, heads, size], with as many axes, or NULL */
} attention_operand;

/* A mask that is added to the scores, or a condition that selects among them. */
typedef struct attention_mask {
    pgy_value *v;
    const pgy_value *scores; /* to which it is applied */
    double factor;           /* of v, if the masked scores are multiplied */
    bool negative;           /* v is subtracted */
    bool chooses, opposite;  /* v is a condition; true keeps the score or, if opposite, closes it */
    double closed;           /* number written to closed positions */
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
    pgy_value *gain; /* a factor for each head, or NULL */
    const pgy_value *gained;
    double scale, cap; /* cap 0: none */
    bool wide;         /* the softmax is in float32, the rest in 16 bits */
    bool deep;         /* while reading: a mask can no longer be included */
    bool grouped;      /* repetitions of heads are skipped */
    bool plain;        /* the engine supports it, too */
    attention_lead lead;
} attention;

/* ---- attention_operand.c --------------------------------------------------------------------- */

/* Reads batch and heads of v; false: it has not three to five axes, or five of which the first is
 * not 1. */
bool attention_lead_of(attention_lead *out, const pgy_value *v);
bool attention_has_perm(const pgy_node *n, const char *digits); /* "0213" */
/* Removes a constant factor from v and multiplies *scale by it. */
pgy_value *attention_unscaled(pattern *p, pgy_value *v, double *scale);
/* The input of the view that makes v, if the view keeps the last two axes; or NULL. v must be inner
 * unless `open` is set. */
pgy_value *attention_seen_through(pgy_value *v, bool open);
/* Reads operand i from a value v in the order [length, batch, heads, size]. */
void attention_read_leading(attention *a, pattern *p, size_t i, pgy_value *v);
/* If keys and values are Concats of a cache and new ones, and both Concats are outputs of the
 * level, replaces them by the new ones. */
void attention_split_cache(attention *a, pattern *p);
/* Reads operand i from a factor of a product, back over Transposes, Reshapes, constant factors and,
 * if a->grouped, the repetition of heads. `apart`: v is [.., length, heads, size]; `turned`: [..,
 * size, length]. */
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

/* Can these masks be merged into one input? */
bool attention_masks_fit(const attention *a, const pattern *p);
/* Makes the mask input; NULL: none is needed, or p->status is set. *causal: the causal attribute
 * replaces the triangle. */
pgy_value *attention_make_mask(const attention *a, pattern *p, pgy_node *n, bool *causal);

/* ---- attention_causal.c ---------------------------------------------------------------------- */

/* Is it the causal triangle? Together with other masks (not `alone`) its closed positions must stay
 * closed. */
bool attention_mask_is_causal(pattern *p, const attention_mask *m, bool alone);

/* ---- attention_floor.c ----------------------------------------------------------------------- */

/* A finite number, above the lowest one, that closes a position just as well. */
double attention_floor(pgy_dtype dtype);
/* May a mask of numbers hold the lowest or the largest number of its type? */
bool attention_needs_floor(pattern *p, pgy_value *v);

/* ---- attention_make.c ------------------------------------------------------------------------ */

/* Creates a value in n's level; NULL: out of memory. */
pgy_value *attention_value(pattern *p, const pgy_node *n);
/* Adds or removes axis 0, of size 1, by operator `op`. */
pgy_value *attention_axis(pattern *p, pgy_node *n, const char *op, pgy_value *v);
pgy_value *attention_ints(pattern *p, const pgy_node *n, const int64_t *values, size_t count);
/* Replaces the recognised nodes by Attention; n is the last product. */
bool attention_make(const attention *a, pattern *p, pgy_node *n);

#endif
