/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernel of CUDA devices computes an attention, and how it cuts the work. */
#include "kernels/cuda/attention.h"

typedef attention_params params;
typedef attention_strides strides;

enum { MULTIPROCESSORS = 132 };

/* ---- Operands ------------------------------------------------------------------------------- */

uint32_t attention_mask_input(const params *p)
{
    return p->packed ? 1 : ATTENTION_MASK;
}

uint64_t attention_keys_at(const params *p)
{
    return p->packed ? p->heads * p->size : 0;
}

uint64_t attention_values_at(const params *p)
{
    return p->packed ? (p->heads + p->kv_heads) * p->size : 0;
}

/* ---- Kernels -------------------------------------------------------------------------------- */

static bool is_even(const strides *s)
{
    return s->batch % 8 == 0 && s->head % 8 == 0 && s->row % 8 == 0;
}

bool attention_has_even_rows(const params *p)
{
    return is_even(&p->q) && is_even(&p->k) && is_even(&p->v) && is_even(&p->past_k) &&
           is_even(&p->past_v);
}

uint32_t attention_lanes(const params *p)
{
    return (uint32_t)p->size * cuda_item((pgy_dtype)p->type) / 16;
}

bool attention_is_decode(const params *p)
{
    const uint32_t lanes = attention_lanes(p);
    return p->rows <= 4 && p->size == p->v_size &&
           (lanes == 4 || lanes == 8 || lanes == 16 || lanes == 32) &&
           p->size * cuda_item((pgy_dtype)p->type) % 16 == 0 && attention_has_even_rows(p);
}

bool attention_uses_tensor_cores(const params *p)
{
    return !attention_is_decode(p) && cuda_is_half((pgy_dtype)p->type) && p->size % 16 == 0 &&
           p->v_size % 16 == 0 && p->size <= 128 && p->v_size <= 128 &&
           attention_has_even_rows(p) && is_even(&p->y);
}

/* Rows for 4 warps, each with its own, or 16 rows that they share: few rows are spread over more
 * blocks. */
static uint32_t tensor_rows(const params *p)
{
    enum { WANTED_BLOCKS = 132 };
    return p->rows <= 16 || p->batch * p->heads * ((p->rows + 63) / 64) < WANTED_BLOCKS ? 16 : 64;
}

/* Warps that share query rows. */
static uint32_t tensor_split(const params *p)
{
    return tensor_rows(p) > 16 ? 1 : p->size <= 64 && p->v_size <= 64 ? 4 : 2;
}

/* Query rows of a block of threads, and keys that it reads at once; both fit into 48 KiB of shared
 * memory. */
static uint32_t block_rows(const params *p)
{
    if (attention_is_decode(p)) return 1;
    if (attention_uses_tensor_cores(p)) return tensor_rows(p);
    return p->size <= 128 && p->v_size <= 128 ? 32 : 16;
}

static uint32_t block_keys(const params *p)
{
    const uint64_t most = p->size > p->v_size ? p->size : p->v_size;
    if (attention_uses_tensor_cores(p)) return most <= 64 ? 64 : 32;
    return most <= 64 ? 64 : most <= 128 ? 32 : 16;
}

attention_cut attention_blocks_cut(const params *p)
{
    return (attention_cut){.rows = block_rows(p),
                           .split = attention_uses_tensor_cores(p) ? tensor_split(p) : 1,
                           .keys = block_keys(p)};
}

/* ---- All keys in shared memory ----------------------------------------------------------------
 */

/* 16 rows and more for each block, so that all blocks run at the same time. */
static uint32_t whole_rows(const params *p, uint32_t split)
{
    enum { WARPS = 16 };
    const uint64_t heads = extent_mul(p->batch, p->heads);
    uint32_t rows = 16;
    while ((rows / 16 + 1) * split <= WARPS &&
           extent_mul(heads, (p->rows + rows - 1) / rows) > MULTIPROCESSORS)
        rows += 16;
    return rows;
}

bool attention_whole_cut(attention_cut *out, const params *p, uint32_t split)
{
    /* HALF: more than half of a multiprocessor's shared memory, so that few blocks that are
     * launched early do not gather on those that have room. */
    enum { MOST_TILES = 8, MOST_BLOCKS = 528, MOST_BYTES = 200 << 10, HALF = 115 << 10, TILE = 16 };
    const uint64_t tiles = (p->keys + TILE - 1) / TILE, own = (tiles + split - 1) / split;
    if (!attention_uses_tensor_cores(p) || own > MOST_TILES || (split > 4 && tiles < split))
        return false;
    const uint32_t rows = whole_rows(p, split), keys = (uint32_t)own * TILE * split,
                   line = (uint32_t)(p->size + p->v_size + 16) * 2,
                   brought = (uint32_t)tiles * TILE * line + keys * (uint32_t)sizeof(float),
                   joined = rows * split * (uint32_t)(p->v_size + 8) * (uint32_t)sizeof(float);
    const uint64_t blocks = extent_mul3(p->batch, p->heads, (p->rows + rows - 1) / rows);
    *out = (attention_cut){
        .rows = rows, .split = split, .keys = keys, .room = brought > joined ? brought : joined};
    if (blocks <= MULTIPROCESSORS && out->room < HALF) out->room = HALF;
    return out->room <= MOST_BYTES && blocks <= MOST_BLOCKS;
}

/* ---- Groups of warps --------------------------------------------------------------------------
 */

bool attention_groups_cut(attention_cut *out, const params *p, uint32_t most)
{
    /* ENOUGH: blocks for all multiprocessors. */
    enum { TILE = 16, GROUP_ROWS = 64, MOST_BYTES = 220 << 10, ENOUGH = 396 };
    const uint64_t tiles = (p->rows + GROUP_ROWS - 1) / GROUP_ROWS,
                   all = extent_mul3(p->batch, p->heads, tiles),
                   parts = (p->keys + most - 1) / most, line = 2 * (64 + 64),
                   own = extent_round_up((p->keys + parts - 1) / parts, TILE);
    if (!attention_uses_tensor_cores(p) || p->size != 64 || p->v_size != 64 || p->past ||
        own * parts * line > MOST_BYTES)
        return false;
    const uint64_t shares = all / ENOUGH < 1       ? 1
                            : all / ENOUGH < tiles ? all / ENOUGH
                                                   : tiles,
                   room = own * parts * line + 2 * GROUP_ROWS * 128 +
                          (p->mask ? own * parts * sizeof(float) : 0) + 1024;
    *out = (attention_cut){.rows = (uint32_t)shares * GROUP_ROWS,
                           .split = (uint32_t)parts,
                           .keys = (uint32_t)(own * parts),
                           .room = (uint32_t)room,
                           .groups = true};
    return room <= MOST_BYTES;
}

bool attention_cut_of(attention_cut *out, const params *p, attention_way way)
{
    if (way >= ATTENTION_GROUPS_64) return attention_groups_cut(out, p, way);
    if (way != ATTENTION_BLOCKS) return attention_whole_cut(out, p, way);
    *out = attention_blocks_cut(p);
    return true;
}
