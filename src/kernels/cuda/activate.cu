// SPDX-License-Identifier: Apache-2.0
// An activation in place, behind a product of a library. Y: type of the elements; PACK: elements of one access.
typedef struct activation_call {
    Y *y;
    uint64_t count; // of accesses
    float first, second;
} activation_call;

typedef struct ALIGNED(sizeof(Y) * PACK) pack { Y at[PACK]; } pack;

KERNEL(run, activation_call, 256)
{
    pack *const y = (pack *)a.y;
    for (uint64_t i = (uint64_t)BLOCK_X * 256 + THREAD; i < a.count; i += (uint64_t)BLOCKS_X * 256) {
        pack p = y[i];
        UNROLL for (int e = 0; e < PACK; e++) p.at[e] = NARROW(Y, activate(WIDEN(Y, p.at[e]), a.first, a.second));
        y[i] = p;
    }
}
