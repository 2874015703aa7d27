// SPDX-License-Identifier: Apache-2.0
// The new caches of keys and values: rows of the past, then those of this run. A thread copies VECTOR elements.
typedef struct place { uint64_t batch, head, row; } place; // strides in elements
typedef struct ALIGNED(sizeof(X) * VECTOR) pack { X at[VECTOR]; } pack;

typedef struct cache {
    const X *old, *now;
    X *to; // [batch, heads, keys, size]
    place old_at, now_at;
    uint64_t heads, past, keys, size; // size: packs of a row
} cache;

typedef struct caches {
    cache at[2];
    uint64_t counts[2]; // packs of each; 0: it is not wanted
} caches;

DEVICE void copy_pack(const cache *c, uint64_t i)
{
    const uint64_t line = quotient(i, c->size), part = (i - line * c->size) * VECTOR, plane = quotient(line, c->keys);
    const uint64_t key = line - plane * c->keys, b = quotient(plane, c->heads), h = plane - b * c->heads;
    const X *from = key < c->past ? c->old + b * c->old_at.batch + h * c->old_at.head + key * c->old_at.row
                                  : c->now + b * c->now_at.batch + h * c->now_at.head + (key - c->past) * c->now_at.row;
    *(pack *)(c->to + i * VECTOR) = *(const pack *)(from + part);
}

KERNEL(run, caches, 256)
{
    const uint64_t count = a.counts[0] + a.counts[1];
    for (uint64_t i = (uint64_t)BLOCK_X * 256 + THREAD; i < count; i += (uint64_t)BLOCKS_X * 256) {
        if (i < a.counts[0])
            copy_pack(&a.at[0], i);
        else
            copy_pack(&a.at[1], i - a.counts[0]);
    }
}
