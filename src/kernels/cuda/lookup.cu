// SPDX-License-Identifier: Apache-2.0
// Functions of one byte by a table: rows of VECTOR times `units` bytes, which lie `pitch` bytes apart in the result.
typedef struct lookup {
    const u8 *x;
    u8 *y;
    uint64_t rows, units, pitch;
    u8 table[256];
} lookup;

typedef struct ALIGNED(VECTOR) pack { u8 at[VECTOR]; } pack;

KERNEL(run, lookup, 256)
{
    SHARED u8 table[256];
    table[THREAD] = a.table[THREAD];
    BARRIER();
    const uint64_t count = a.rows * a.units;
    for (uint64_t i = (uint64_t)BLOCK_X * 256 + THREAD; i < count; i += (uint64_t)BLOCKS_X * 256) {
        const uint64_t row = quotient(i, a.units);
        pack p = ((const pack *)a.x)[i];
        UNROLL for (int v = 0; v < VECTOR; v++) p.at[v] = table[p.at[v]];
        *(pack *)(a.y + row * a.pitch + (i - row * a.units) * VECTOR) = p;
    }
}
