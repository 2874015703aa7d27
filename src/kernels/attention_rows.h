/* SPDX-License-Identifier: Apache-2.0 */
/* Attention of some query rows over the keys and values of one head, which lie row by row in a
 * cache: what the kernels of attention with caches share. */
#ifndef KERNELS_ATTENTION_ROWS_H
#define KERNELS_ATTENTION_ROWS_H

#include "kernels/attention_loops.h"
#include "kernels/kernel.h"

enum { ATTENTION_ROWS = 32, ATTENTION_KEYS = 256 };

/* A query row. */
typedef struct attention_row {
    uint64_t from, to;   /* the keys that it sees */
    const float *bias;   /* NULL, or what is added to its scores, indexed by key */
    const float *mask;   /* the same once more */
    const uint8_t *open; /* NULL, or for each key 0 if the row does not see it */
    float shift;         /* added to all its scores */
    float *y;
} attention_row;

/* Keys of a part. Few query rows over many keys are computed in parts, so that threads can share
 * them; the length is fixed, so that results do not depend on the number of threads. */
enum { ATTENTION_PART = 1024 };

typedef struct attention_rows {
    cpu_level level;
    uint64_t rows, size, v_size; /* at most ATTENTION_ROWS rows */
    const float *q;              /* [rows][size], scaled */
    const float *keys, *values;
    uint64_t key_step, value_step;
    float cap;          /* 0: scores are not capped */
    const float *sinks; /* NULL, or for each row a logit that only adds to the denominator */
    float *part;        /* NULL, or where the sums of a part go instead of y: [rows][v_size + 2] */
    attention_row row[ATTENTION_ROWS];
} attention_rows;

/* Floats of scratch memory. */
uint64_t attention_rows_scratch(uint64_t size, uint64_t v_size);
/* Computes y of every row; a row that sees no key gives zeros. */
void attention_rows_run(const attention_rows *a, float *scratch);
/* The same for some of the rows, at most two vectors. */
void attention_lanes_run(const attention_rows *a, size_t first, size_t rows, float *scratch);
/* Computes y of every row from `count` parts, [count][rows][v_size + 2]. Of `a` it reads rows,
 * v_size, sinks and each row's y; the parts have been computed without sinks. */
void attention_rows_join(const attention_rows *a, const float *parts, uint64_t count);
/* Adds a part to `sums`, the sums of parts before it. */
void attention_rows_add(float *sums, const attention_rows *a, const float *part);

#endif
