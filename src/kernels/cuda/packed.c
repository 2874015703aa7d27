/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts products on packed weights into tiles, loads and launches packed.cu. */
#include "kernels/cuda/packed.h"

#include "base/alloc.h"

enum { STEP = 64, MULTIPROCESSORS = 132, WANTED_BLOCKS = 200, MOST_SPLITS = 8, LEAST_STEPS = 2 };

const packed_tile PACKED_TILE[PACKED_TILES] = {
    {"128x128", 128, 128, 3, 2, 2650},
    {"128x64", 128, 64, 4, 2, 1930},
    {"64x64", 64, 64, 6, 2, 1430},
    {"short_128x64", 128, 64, 2, 3, 1860},
    {"64x128", 64, 128, 4, 2, 1930},
    /* of boxed.c alone: a block for each multiprocessor */
    {"deep_128x64", 128, 64, 8, 1, 1930},
    {"deep_64x64", 64, 64, 12, 1, 1430},
    {"deep_64x128", 64, 128, 8, 1, 1930},
    /* many blocks, for products that wait for memory */
    {"thin_64x64", 64, 64, 2, 5, 1430},
    {"deep_128x128", 128, 128, 6, 1, 2650},
};

static uint64_t ratio_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

static uint64_t blocks_of(uint32_t tile, uint64_t m, uint64_t n, uint64_t groups)
{
    return extent_mul3(ratio_up(m, PACKED_TILE[tile].m), ratio_up(n, PACKED_TILE[tile].n), groups);
}

uint64_t packed_blocks(const packed_cut *c, uint64_t m, uint64_t n, uint64_t groups)
{
    return blocks_of(c->tile, m, n, groups) * c->splits;
}

packed_cut packed_cut_of(uint32_t tile, uint64_t m, uint64_t n, uint64_t k, uint64_t groups)
{
    const uint64_t blocks = blocks_of(tile, m, n, groups), steps = ratio_up(k, STEP),
                   wanted = PACKED_TILE[tile].blocks > 1 ? WANTED_BLOCKS : MULTIPROCESSORS;
    packed_cut c = {.tile = tile, .splits = 1};
    while (c.splits < MOST_SPLITS && blocks * c.splits * 2 <= wanted &&
           steps >= (uint64_t)LEAST_STEPS * 2 * c.splits)
        c.splits *= 2;
    return c;
}

double packed_cost(const packed_cut *c, uint64_t m, uint64_t n, uint64_t k, uint64_t groups)
{
    const uint64_t waves =
        ratio_up(blocks_of(c->tile, m, n, groups) * c->splits, (uint64_t)MULTIPROCESSORS);
    const double each = 2.0 * PACKED_TILE[c->tile].m * PACKED_TILE[c->tile].n *
                        (double)(ratio_up(ratio_up(k, STEP), c->splits) * STEP);
    return (double)waves * each / PACKED_TILE[c->tile].rate;
}

bool packed_cut_extent(kernel_extent *e, const packed_cut *c, uint32_t tile)
{
    if (c->tile != tile || tile >= PACKED_TILES) return extent_refuse(e, "tile");
    if (!c->splits || c->splits > MOST_SPLITS || (c->splits & (c->splits - 1)))
        return extent_refuse(e, "parts");
    return true;
}

/* The types of bytes as instructions name them. */
static void define_kinds(str *defines, const packed_kind *k)
{
    const bool x = k->types.x == PGY_I8, w = k->types.w == PGY_I8;
    if (cuda_is_float8(k->types.x)) {
        const char *kind = k->types.x == PGY_F8E4M3FN ? "\"e4m3\"" : "\"e5m2\"";
        cuda_define(defines, "X_KIND", kind);
        cuda_define(defines, "W_KIND", kind);
        return;
    }
    cuda_define(defines, "X_KIND", x ? "\"s8\"" : "\"u8\"");
    cuda_define(defines, "W_KIND", w ? "\"s8\"" : "\"u8\"");
    cuda_define_int(defines, "X_SIGNED", x);
    cuda_define_int(defines, "W_SIGNED", w);
}

static void define_limits(str *defines, const packed_kind *k)
{
    cuda_define(defines, "Y_KIND", k->y_signed ? "\"s8\"" : "\"u8\"");
    cuda_define_int(defines, "Y_LOW", k->y_signed ? INT8_MIN : 0);
    cuda_define_int(defines, "Y_HIGH", k->y_signed ? INT8_MAX : UINT8_MAX);
    cuda_define_int(defines, "ABOVE", k->above);
    cuda_define_int(defines, "BELOW", k->below);
}

void packed_define(str *defines, const packed_kind *k, uint32_t splits)
{
    cuda_define_int(defines, "BM", PACKED_TILE[k->cut.tile].m);
    cuda_define_int(defines, "BN", PACKED_TILE[k->cut.tile].n);
    cuda_define_int(defines, "STAGES", PACKED_TILE[k->cut.tile].stages * (k->slim ? 2 : 1));
    cuda_define_int(defines, "BLOCKS", PACKED_TILE[k->cut.tile].blocks);
    cuda_define_int(defines, "SPLITS", splits);
    const bool bytes = k->finish != PACKED_FLOATS, float8 = cuda_is_float8(k->types.x);
    cuda_define_int(defines, "TENSOR", bytes ? 3 : float8 ? 4 : k->types.x == PGY_F16 ? 1 : 2);
    cuda_define_int(defines, "FINISH", k->finish);
    cuda_define_int(defines, "PLANES", k->planes);
    cuda_define_int(defines, "LOOSE", k->loose);
    cuda_define_int(defines, "MAPPED", k->mapped);
    cuda_define_int(defines, "SLIM", k->slim);
    cuda_define_int(defines, "LATE", k->late);
    cuda_define_int(defines, "DIRECT", k->direct);
    cuda_define_int(defines, "STAYS", k->stays);
    if (k->direct) define_limits(defines, k);
    if (bytes || float8) define_kinds(defines, k);
    cuda_define_int(defines, "PLAIN", k->plain);
    cuda_define_int(defines, "PATCHED", k->patched);
    cuda_define_int(defines, "GATHERED", k->gathered);
    cuda_define_int(defines, "TAPS", k->taps);
    cuda_define_int(defines, "LEAD", k->lead);
    cuda_define_int(defines, "WINDOW_WIDTH", k->width);
    cuda_define_int(defines, "WINDOW_HEIGHT", k->height);
    cuda_define_int(defines, "VECTOR", k->vector);
    cuda_define_int(defines, "BIASED", k->biased);
    cuda_define_int(defines, "ADDED", k->added);
    cuda_define_int(defines, "ADDED_ROW", k->row);
    cuda_define_int(defines, "JOINED", k->parts ? k->parts : 1);
    cuda_define_int(defines, "LOOKED_UP", k->table);
    cuda_define_int(defines, "ACTIVATION", k->activation);
    cuda_define_type(defines, "X", k->types.x);
    cuda_define_type(defines, "WEIGHT", bytes ? k->types.w : k->types.x);
    cuda_define_type(defines, "BIAS", k->types.bias);
    cuda_define_type(defines, "RESIDUAL", k->types.residual);
    cuda_define_type(defines, "Y", k->types.y);
}

cuda_source packed_text(const packed_kind *kind, const char *name, const char *text)
{
    cuda_source s = {.name = name, .text = text, .entries = {"run"}};
    size_t count = 0;
    if (cuda_is_float8(kind->types.x)) s.before[count++] = CUDA_SOURCE_fp8;
    s.before[count++] = CUDA_SOURCE_mma;
    s.before[count++] = CUDA_SOURCE_groups;
    if (kind->finish) s.before[count++] = CUDA_SOURCE_bytes;
    if (kind->finish == PACKED_TO_BYTES && kind->added) s.before[count++] = CUDA_SOURCE_byte_binary;
    s.before[count++] = CUDA_SOURCE_packed_sums;
    if (!kind->direct) return s;
    s.before[count++] = CUDA_SOURCE_byte_words;
    s.before[count] = CUDA_SOURCE_byte_rows;
    return s;
}

pgy_status packed_load(void **out, const packed_kind *kind, device *d, pgy_error *err)
{
    const cuda_source source = packed_text(kind, kind->loose ? "loose" : "packed",
                                           kind->loose ? CUDA_SOURCE_loose : CUDA_SOURCE_packed);
    packed_loaded *l = mem_calloc(1, sizeof *l);
    str defines = {0};
    void *code = NULL;
    if (!l) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    l->more = kind->more;
    l->stays = kind->stays;
    l->splits = cuda_has_clusters(d) ? kind->cut.splits : 1;
    packed_define(&defines, kind, l->splits);
    const pgy_status st = cuda_load(&code, d, &source, &defines, err);
    l->code = code;
    if (st)
        mem_free(l);
    else
        *out = l;
    return st;
}

void packed_unload(void *loaded)
{
    packed_loaded *l = loaded;
    if (!l) return;
    cuda_unload(l->code);
    mem_free(l);
}

uint32_t packed_room(uint32_t tile, uint32_t more)
{
    const packed_tile *t = &PACKED_TILE[tile];
    const uint32_t tiles = t->stages * (t->m + t->n) * STEP * 2 + more;
    const uint32_t sums = t->m * (t->n + 8) * (uint32_t)sizeof(float);
    return (tiles > sums ? tiles : sums) + 1024;
}

pgy_status packed_launch(device_stream *s, const packed_loaded *l, const packed_cut *c,
                         packed_call *call, pgy_error *err)
{
    const uint64_t all = blocks_of(c->tile, call->m, call->n, call->groups) * l->splits,
                   most = (uint64_t)MULTIPROCESSORS * PACKED_TILE[c->tile].blocks,
                   blocks = l->stays && all > most ? most : all;
    return cuda_launch_shared(s, l->code->functions[0], blocks, PACKED_TILE[c->tile].m * 2,
                              packed_room(c->tile, l->more), call, err);
}
