/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a table of packed weights, shared by packing_table.c (the table and its pieces) and
 * packing.c (what goes into them). */
#ifndef KERNELS_PACKING_TABLE_H
#define KERNELS_PACKING_TABLE_H

#include <pthread.h>

#include "base/str.h"
#include "kernels/packing.h"

typedef enum piece_state { FILLING, READY, FAILED } piece_state;

struct packed_piece {
    packed_table *table; /* retained */
    packed_piece *next;  /* in its bucket */
    size_t users;
    piece_state state;
    char *key;
    uint64_t hash; /* of the key */
    void *data;
    uint64_t size_bytes;
    bool borrowed;        /* the data is not the piece's own */
    bool pinned;          /* belongs to the table, and ends with it */
    packed_recipe recipe; /* without form: there is none */
};

struct packed_table {
    size_t users; /* owners and pieces */
    pthread_mutex_t lock;
    pthread_cond_t filled;
    packed_piece **buckets;
    size_t bucket_count, count;
    uint64_t bytes;
    bool lasts;    /* packed_table_set_lasting */
    strmap narrow; /* kernel_tensor.narrow + 1 by the source's address */
};

/* Retains the piece with this key once it is filled. *made: there was none, so the caller fills the
 * piece and calls packed_piece_finish; a piece of `data` needs no filling. Takes the key. NULL: out
 * of memory. */
packed_piece *packed_table_find_or_add(packed_table *t, char *key, const void *data,
                                       uint64_t size_bytes, bool *made);
void packed_piece_finish(packed_piece *p, bool filled);
/* Adds a piece of `data` that lives as long as the table. Takes the key. False: out of memory. */
bool packed_table_pin(packed_table *t, char *key, const packed_recipe *r, const void *data,
                      uint64_t size_bytes);

#endif
