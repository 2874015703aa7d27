/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses and launches the tiles of matrix products and convolutions on CUDA devices. */
#include "kernels/cuda/product.h"

enum { WANTED_BLOCKS = 264, LEAST_SPLIT = 128, MOST_SPLITS = 32, STEP = 32 };

static uint64_t tiles_of(uint64_t m, uint64_t n, uint64_t batch, uint32_t tile)
{
    return extent_mul3((m + tile - 1) / tile, (n + tile - 1) / tile, batch);
}

product_cut product_cut_of(uint64_t m, uint64_t n, uint64_t k, uint64_t batch)
{
    product_cut c = {.tile = 128, .splits = 1, .split = k};
    if (m <= 64 || n <= 64 || tiles_of(m, n, batch, 128) < WANTED_BLOCKS) c.tile = 64;
    const uint64_t blocks = tiles_of(m, n, batch, c.tile);
    uint64_t splits = blocks < WANTED_BLOCKS ? WANTED_BLOCKS / blocks : 1;
    if (splits > k / LEAST_SPLIT) splits = k / LEAST_SPLIT;
    if (splits > MOST_SPLITS) splits = MOST_SPLITS;
    if (splits < 2) return c;
    c.split = ((k + splits - 1) / splits + STEP - 1) / STEP * STEP;
    c.splits = (uint32_t)((k + c.split - 1) / c.split);
    return c;
}

uint64_t product_workspace(const product_cut *c, uint64_t m, uint64_t n, uint64_t batch)
{
    if (c->splits < 2) return 0;
    return extent_mul3(extent_mul3(m, n, batch), c->splits, sizeof(float));
}

bool product_cut_extent(kernel_extent *e, const product_cut *c, uint64_t k)
{
    if (c->tile != 64 && c->tile != 128) return extent_refuse(e, "tile");
    if (!c->splits || c->splits > MOST_SPLITS || !c->split || c->split > k ||
        (k + c->split - 1) / c->split != c->splits || (c->splits > 1 && c->split % STEP))
        return extent_refuse(e, "parts");
    return true;
}

/* Tiles of steps of k that are in shared memory at the same time. */
static uint32_t stages_of(const product_cut *c, pgy_dtype type)
{
    return !cuda_is_half(type) ? 2 : c->tile > 64 ? 3 : 4;
}

/* The shared memory that tile.cu lays out; B_TILE is at most as large as A_TILE. */
static uint32_t room_of(const product_cut *c, pgy_dtype type)
{
    const uint32_t tile = cuda_is_half(type) ? c->tile * 40 * 2 : 16 * (c->tile + 4) * 4;
    return stages_of(c, type) * 2 * tile;
}

void product_define(str *defines, const product_cut *c, pgy_dtype type)
{
    const bool half = cuda_is_half(type);
    cuda_define_int(defines, "BM", c->tile);
    cuda_define_int(defines, "BN", c->tile);
    cuda_define_int(defines, "BK", half ? 32 : 16);
    cuda_define_int(defines, "STAGES", stages_of(c, type));
    cuda_define_int(defines, "TENSOR", type == PGY_F16 ? 1 : half ? 2 : 0);
    cuda_define_type(defines, "X", type);
}

pgy_status product_launch(device_stream *s, const cuda_loaded *l, const product_cut *c,
                          pgy_dtype type, product_call *call, pgy_error *err)
{
    const uint64_t blocks = tiles_of(call->m, call->n, call->batch, c->tile) * c->splits;
    call->split = c->split;
    call->splits = c->splits;
    const pgy_status st =
        cuda_launch_shared(s, l->functions[0], blocks, CUDA_BLOCK, room_of(c, type), call, err);
    if (st || c->splits < 2) return st;
    return cuda_launch_for(s, l->functions[1], call->m * call->n * call->batch, CUDA_BLOCK, call,
                           err);
}

uint32_t product_vector(pgy_dtype type, const uint64_t *sizes, size_t count)
{
    uint32_t n = cuda_is_half(type) ? 8 : 4;
    for (size_t i = 0; i < count; i++)
        while (sizes[i] % n) n /= 2;
    return n;
}
