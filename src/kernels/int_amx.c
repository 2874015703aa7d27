/* SPDX-License-Identifier: Apache-2.0 */
/* The tile instructions of AMX for sums of products of bytes, and when to use them. */
#include "kernels/int_amx.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET __attribute__((target("amx-tile,amx-int8")))
#define ZERO_TILE(tile) _tile_zero(tile)
#define LOAD_TILE(tile, from, row) _tile_loadd(tile, from, row)
#define STORE_TILE(tile, to, row) _tile_stored(tile, to, row)
#define DOT_TILES(sums, a, b) _tile_dpbusd(sums, a, b)
#include "kernels/int_amx.inc"

/* What LDTILECFG reads. */
typedef struct tile_shapes {
    uint8_t palette, start_row, reserved[14];
    uint16_t bytes[16]; /* of a row of each tile */
    uint8_t rows[16];
} tile_shapes;

TARGET static void amx_start(size_t step)
{
    tile_shapes s = {.palette = 1};
    for (size_t i = 0; i < 8; i++) {
        s.bytes[i] = i == A_TILE ? (uint16_t)(step * INT_GROUP) : VECTOR_BYTES;
        s.rows[i] = i == B_TILE ? (uint8_t)step : INT_AMX_ROWS;
    }
    /* GCC's _tile_loadconfig does not tell that it reads all of it. */
    __asm__ volatile("" : : "r"(&s) : "memory");
    _tile_loadconfig(&s);
}

TARGET static void amx_stop(void)
{
    _tile_release();
}

const int_amx int_amx_native = {.start = amx_start, .stop = amx_stop, .run = AMX_ROWS};
#endif

/* The largest number of groups that a tile can hold and that divides `groups`. */
static size_t find_step(size_t groups)
{
    size_t step = groups < INT_AMX_GROUPS ? groups : INT_AMX_GROUPS;
    while (step > 1 && groups % step) step--;
    return step;
}

static const int_amx *find_amx(cpu_level level)
{
    if (level < CPU_AVX512) return NULL; /* its B is packed in narrower vectors */
    if (&INT_AMX_OF_TEST) return &INT_AMX_OF_TEST;
#if defined(__x86_64__)
    if (cpu_has_tiles()) return &int_amx_native;
#endif
    return NULL;
}

int_amx_use int_amx_begin(cpu_level level, size_t groups, size_t rows)
{
    /* A product of tiles takes as long for few groups as for many. */
    enum { LEAST_STEP = 4 };
    int_amx_use u = {.step = find_step(groups)};
    if (rows >= INT_AMX_ROWS && u.step >= LEAST_STEP) u.amx = find_amx(level);
    if (u.amx) u.amx->start(u.step);
    return u;
}

void int_amx_end(const int_amx_use *u)
{
    if (u->amx) u->amx->stop();
}

size_t int_amx_run(const int_amx_use *u, const int_job *j, size_t rows, size_t vectors)
{
    if (!u->amx || rows < INT_AMX_ROWS) return 0;
    const size_t blocks = rows >= INT_AMX_MOST_ROWS ? 2 : 1;
    u->amx->run[blocks - 1][vectors - 1](j, u->step);
    return blocks * INT_AMX_ROWS;
}
