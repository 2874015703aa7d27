/* SPDX-License-Identifier: Apache-2.0 */
/* The blocked loop around the micro-kernels. C is computed in blocks of up to UNIT_ROWS rows by
 * UNIT_PANELS panels. The sum over k is split into blocks of DEPTH, so that a panel stays in the L2
 * cache while all rows of the block use it. Rows of A are read in place if their elements are
 * contiguous, else copied block by block. Panels of 16-bit floats are widened block by block if
 * many rows share them, else inside the micro-kernel; panels of fewer bits are unpacked block by
 * block. */
#include <string.h>

#include "kernels/matmul.h"
#include "kernels/squares.h"
#include "kernels/vec_math.h"

enum {
    UNIT_ROWS = 216,
    UNIT_PANELS = 8,
    DEPTH = 1024,
    PARTS_OF_UNIT = 2 /* the most parts for each unit of panels that are read side by side */
};

const matmul_tile *matmul_tile_of(cpu_level level)
{
#if defined(__x86_64__)
    if (level >= CPU_AVX512) return &matmul_tile_avx512;
    if (level >= CPU_AVX2) return &matmul_tile_avx2;
#endif
    (void)level;
    return &matmul_tile_portable;
}

size_t matmul_panel_count(const matmul_shape *s, const matmul_tile *t)
{
    return (s->n + t->columns - 1) / t->columns;
}

size_t matmul_packed_count(const matmul_shape *s, const matmul_tile *t)
{
    return matmul_panel_count(s, t) * t->columns * s->k;
}

/* ---- Packing -------------------------------------------------------------------------------- */

/* Columns that lie one after the other in memory are turned by squares in registers. */
static void pack_panel(float *to, const float *b, const matmul_shape *s, size_t width,
                       size_t columns)
{
    const bool turned = s->b_row == 1 && s->b_column != 1;
    if (turned) squares_transpose(to, width, b, s->b_column, columns, s->k);
    for (size_t p = 0; p < s->k && !(turned && columns == width); p++, to += width) {
        const float *row = b + p * s->b_row;
        if (s->b_column == 1)
            memcpy(to, row, columns * sizeof *to);
        else
            for (size_t j = 0; j < columns && !turned; j++) to[j] = row[j * s->b_column];
        for (size_t j = columns; j < width; j++) to[j] = 0;
    }
}

void matmul_pack(float *packed, const float *b, const matmul_shape *s, const matmul_tile *t,
                 size_t from, size_t to)
{
    for (size_t panel = from; panel < to; panel++) {
        const size_t first = panel * t->columns;
        const size_t columns = s->n - first < t->columns ? s->n - first : t->columns;
        pack_panel(packed + panel * t->columns * s->k, b + first * s->b_column, s, t->columns,
                   columns);
    }
}

size_t matmul_offset(const matmul_shape *s, const uint64_t *strides, size_t i)
{
    size_t offset = 0;
    for (size_t d = s->batch_rank; d-- > 0;) {
        offset += i % s->batch_shape[d] * strides[d];
        i /= s->batch_shape[d];
    }
    return offset;
}

/* ---- The epilogue of a tile ----------------------------------------------------------------- */

static void matmul_activate(float *c, size_t columns, const matmul_shape *s, const vec_math *v)
{
    switch ((matmul_activation)s->activation) {
    case MATMUL_NO_ACTIVATION: return;
    case MATMUL_RELU:
        for (size_t j = 0; j < columns; j++) c[j] = c[j] <= 0 ? 0 : c[j]; /* NaN stays */
        return;
    case MATMUL_SIGMOID: v->sigmoid(c, c, columns); return;
    case MATMUL_TANH: v->tanh(c, c, columns); return;
    case MATMUL_GELU: v->gelu(c, c, columns); return;
    case MATMUL_FAST_GELU: v->fast_gelu(c, c, columns); return;
    case MATMUL_SILU: v->silu(c, c, columns); return;
    }
}

/* Adds beta times one number for each row. */
static void add_to_rows(float *c, size_t step, float beta, const float *bias, size_t bias_step,
                        size_t rows, size_t columns)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) c[i * step + j] += beta * bias[i * bias_step];
}

void matmul_finish(const matmul_shape *s, const matmul_tile *t, const matmul_data *d, float alpha,
                   size_t row, size_t rows, size_t column, size_t columns)
{
    const vec_math *v = vec_math_of(t->level);
    const size_t n = s->n, place = row * n + column;
    const bool full = s->bias == MATMUL_BIAS_FULL, by_row = s->bias == MATMUL_BIAS_ROW;
    const bool wide = d->bias && (full || s->bias == MATMUL_BIAS_COLUMN);
    float *c = d->c + place;
    if (wide || alpha != 1)
        v->combine_rows(c, n, c, n, alpha, wide ? d->bias + (full ? place : column) : NULL,
                        full ? n : 0, s->beta, rows, columns);
    if (d->bias && !wide)
        add_to_rows(c, n, s->beta, d->bias + (by_row ? row : 0), by_row, rows, columns);
    if (d->residual) v->combine_rows(c, n, c, n, 1, d->residual + place, n, 1, rows, columns);
    if (s->activation != MATMUL_NO_ACTIVATION)
        for (size_t i = 0; i < rows; i++) matmul_activate(c + i * n, columns, s, v);
}

/* ---- The loop ------------------------------------------------------------------------------- */

/* Tiles are numbered: products one after the other, in a product blocks of UNIT_ROWS rows, in a
 * block its panels, and in a panel the block's tiles from top to bottom. A unit is a run of tiles.
 * If there are several parts, all have the same number of units, which differ by one grain at most,
 * so threads end together, whatever the sizes. Else a unit is a block by UNIT_PANELS panels. */
typedef struct cut {
    size_t column, panels; /* tiles in a column of C, and number of panels */
    size_t blocks, groups; /* of rows in a product; of panels in a block */
    size_t grain, grains;  /* tiles of the smallest run, and number of such runs in a product */
    size_t units;
    bool shared; /* by several parts */
} cut;

static size_t divide_up(size_t n, size_t by)
{
    return (n + by - 1) / by;
}

/* Panels that few rows read side by side stay together, if that leaves enough units. */
static size_t least_panels(const matmul_shape *s, size_t panels, uint32_t parts)
{
    const size_t abreast = divide_up(panels, MATMUL_ABREAST);
    const bool few = s->m <= MATMUL_ABREAST_ROWS;
    return few && s->batch * abreast * PARTS_OF_UNIT >= parts ? MATMUL_ABREAST : 1;
}

/* No tile of the micro-kernels is divided, so all cuts give the same bits. */
static cut cut_for(const matmul_shape *s, const matmul_tile *t, uint32_t parts)
{
    cut c = {.column = divide_up(s->m, t->rows),
             .panels = matmul_panel_count(s, t),
             .blocks = divide_up(s->m, UNIT_ROWS),
             .shared = parts > 1};
    c.groups = divide_up(c.panels, UNIT_PANELS);
    c.grain = least_panels(s, c.panels, parts);
    c.grains = divide_up(c.column * c.panels, c.grain);
    c.units = s->batch * c.blocks * c.groups;
    if (!c.shared) return c;
    c.units = divide_up(c.units, parts) * parts;
    if (c.units > s->batch * c.grains) c.units = parts;
    if (c.units > s->batch * c.grains) c.units = s->batch * c.grains;
    return c;
}

size_t matmul_unit_count(const matmul_shape *s, const matmul_tile *t, uint32_t parts)
{
    return cut_for(s, t, parts).units;
}

static bool is_read_in_place(const matmul_shape *s)
{
    return s->a_column == 1;
}

uint32_t matmul_most_parts(const matmul_shape *s, const matmul_tile *t)
{
    const uint32_t most = is_read_in_place(s) ? MATMUL_PARTS : MATMUL_COPIED_PARTS;
    const size_t units = matmul_unit_count(s, t, most);
    return units < most ? (uint32_t)units : most;
}

size_t matmul_scratch_count(const matmul_shape *s, const matmul_tile *t)
{
    const size_t rows = s->m < UNIT_ROWS ? s->m : UNIT_ROWS;
    const size_t depth = s->k < DEPTH ? s->k : DEPTH;
    return t->rows * t->columns + (is_read_in_place(s) ? 0 : rows * depth);
}

size_t matmul_half_scratch_count(const matmul_shape *s, const matmul_tile *t)
{
    return matmul_scratch_count(s, t) + (s->k < DEPTH ? s->k : DEPTH) * t->columns;
}

static void copy_rows(float *to, const float *a, const matmul_shape *s, size_t rows, size_t depth)
{
    for (size_t p = 0; p < depth; p++)
        for (size_t i = 0; i < rows; i++) to[i * depth + p] = a[i * s->a_row + p * s->a_column];
}

/* Memory that a tile fetches for later ones. */
typedef struct ahead {
    const char *at;
    size_t step;
} ahead;

static void matmul_rows(const matmul_tile *t, const matmul_data *d, size_t rows, size_t depth,
                        const float *a, size_t lda, const void *b, float *c, size_t ldc,
                        bool accumulate, float scale, ahead next)
{
    if (d->half_tile)
        d->half_tile->run[rows](depth, a, lda, b, c, ldc, accumulate, scale, next.at, next.step);
    else
        t->run[rows](depth, a, lda, b, c, ldc, accumulate, scale, next.at, next.step);
}

/* Computes one tile, and multiplies it by `scale` if it is whole. A partial panel at the edge of C
 * goes through the buffer `edge`. */
static void matmul_run_tile(const matmul_tile *t, const matmul_data *d, size_t rows, size_t columns,
                            size_t depth, const float *a, size_t lda, const void *b, float *c,
                            size_t ldc, bool accumulate, float scale, float *edge, ahead next)
{
    if (columns == t->columns) {
        matmul_rows(t, d, rows, depth, a, lda, b, c, ldc, accumulate, scale, next);
        return;
    }
    matmul_rows(t, d, rows, depth, a, lda, b, edge, t->columns, false, 1, next);
    vec_math_of(t->level)->combine_rows(c, ldc, edge, t->columns, 1, accumulate ? c : NULL, ldc, 1,
                                        rows, columns);
}

/* Tiles of one block of rows and one group of panels. */
typedef struct block {
    size_t product;
    /* The block's first row and number of rows, first panel and number of panels. */
    size_t row, rows, panel, panels;
    /* The first tile of the first panel, and the end of the last panel's tiles. */
    size_t first, end;
    size_t count; /* of tiles */
} block;

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The block of rows that tile `at` of a product belongs to, and its number of tiles in a panel. */
static size_t block_of(const matmul_tile *t, const cut *c, size_t at, size_t *tiles)
{
    const size_t whole = UNIT_ROWS / t->rows, index = at / (whole * c->panels);
    *tiles = smaller(whole, c->column - index * whole);
    return index;
}

/* The tiles [from, to) of a unit. */
static void find_run(size_t *from, size_t *to, const matmul_shape *s, const matmul_tile *t,
                     const cut *c, size_t unit)
{
    const size_t product = c->column * c->panels;
    size_t tiles;
    if (c->shared) {
        kernel_share(from, to, s->batch * c->grains, (uint32_t)unit, (uint32_t)c->units);
        *from = *from / c->grains * product + *from % c->grains * c->grain;
        *to = *to / c->grains * product + *to % c->grains * c->grain;
        return;
    }
    const size_t row = unit / c->groups % c->blocks * (UNIT_ROWS / t->rows) * c->panels;
    const size_t panel = unit % c->groups * UNIT_PANELS;
    const size_t base = unit / (c->groups * c->blocks) * product + row;
    (void)block_of(t, c, row, &tiles);
    *from = base + panel * tiles;
    *to = base + smaller(panel + UNIT_PANELS, c->panels) * tiles;
}

/* The block that begins with tile `at` and ends before tile `to` at the latest. */
static block find_block(const matmul_shape *s, const matmul_tile *t, const cut *c, size_t at,
                        size_t to)
{
    const size_t product = c->column * c->panels, place = at % product;
    size_t tiles;
    const size_t index = block_of(t, c, place, &tiles);
    const size_t inside = place - index * (UNIT_ROWS / t->rows) * c->panels;
    const size_t panel = inside / tiles, group = panel / UNIT_PANELS + 1;
    const size_t last = smaller(group * UNIT_PANELS, c->panels) * tiles;
    const size_t end = smaller(inside + to - at, last);
    block u = {.product = at / product,
               .row = index * UNIT_ROWS,
               .panel = panel,
               .panels = divide_up(end, tiles) - panel,
               .first = inside % tiles,
               .count = end - inside};
    u.rows = smaller(s->m - u.row, UNIT_ROWS);
    u.end = end - (panel + u.panels - 1) * tiles;
    return u;
}

/* Returns a block of a panel as the micro-kernel reads it. Widened blocks go to the end of the
 * scratch memory. */
static const void *panel_at(const matmul_shape *s, const matmul_tile *t, const matmul_data *d,
                            size_t panel, size_t p, size_t depth, float *scratch)
{
    const size_t at = (panel * s->k + p) * t->columns;
    if (d->packed) return d->packed + at;
    if (d->half_tile) return d->half + at;
    float *room = scratch + matmul_scratch_count(s, t);
    if (d->half)
        d->widen(room, d->half + at, depth * t->columns);
    else
        d->unpack(room, d->user, panel, p, depth);
    return room;
}

/* Chooses what a tile fetches into the cache. `tiles` tiles read the same block of a panel, and the
 * block behind it is read next: tile `index` fetches its share of that. A single tile fetches its
 * own block. B is the block as the tile reads it; in memory, it begins with element `at`. */
static ahead fetch_ahead(const matmul_tile *t, const matmul_data *d, const void *b, size_t at,
                         size_t depth, size_t behind, size_t index, size_t tiles)
{
    enum { ROWS_AHEAD = 32 };
    const bool widened = !d->packed && !d->half_tile;
    if (widened && (!d->half || tiles == 1)) return (ahead){b, 0};
    const size_t each = t->columns * (d->packed ? sizeof(float) : sizeof(uint16_t));
    const char *from = widened ? (const char *)(d->half + at) : b;
    if (tiles == 1) return (ahead){from + ROWS_AHEAD * each, each};
    const size_t step = (each + tiles - 1) / tiles;
    return (ahead){from + behind * each + index * depth * step, step};
}

/* Computes MATMUL_ABREAST panels at once if all of them are whole and there is a micro-kernel for
 * so few rows. */
static bool matmul_run_abreast(const matmul_shape *s, const matmul_tile *t, const block *u,
                               const matmul_data *d, size_t p, size_t depth, const float *rows_at,
                               size_t lda, size_t panel)
{
    const size_t column = panel * t->columns, each = s->k * t->columns;
    const size_t at = panel * each + p * t->columns;
    float *to = d->c + u->row * s->n + column;
    if (u->rows > MATMUL_ABREAST_ROWS || u->panel + u->panels - panel < MATMUL_ABREAST ||
        s->n - column < MATMUL_ABREAST * t->columns)
        return false;
    if (d->packed && t->abreast[u->rows])
        t->abreast[u->rows](depth, rows_at, lda, d->packed + at, each, to, s->n, p > 0);
    else if (!d->packed && d->half_tile && d->half_tile->abreast[u->rows])
        d->half_tile->abreast[u->rows](depth, rows_at, lda, d->half + at, each, to, s->n, p > 0);
    else
        return false;
    if (p + depth == s->k)
        matmul_finish(s, t, d, s->alpha, u->row, u->rows, column, MATMUL_ABREAST * t->columns);
    return true;
}

/* Fetches what the end of a tile writes and reads, while its products are computed. `residual` may
 * be NULL. Inline always: gcc takes a function that only fetches for one without effect. */
__attribute__((always_inline)) static inline void fetch_end(const float *c, const float *residual,
                                                            size_t step, size_t rows,
                                                            size_t columns)
{
    enum { LINE = 16 };
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j += LINE) {
            __builtin_prefetch(c + i * step + j, 1, 3);
            if (residual) __builtin_prefetch(residual + i * step + j, 0, 3);
        }
}

/* Adds the products of one block along k to all tiles of a block of C. `rows_at`: its rows of A. */
static void matmul_block(const matmul_shape *s, const matmul_tile *t, const block *u,
                         const matmul_data *d, size_t p, size_t depth, const float *rows_at,
                         size_t lda, float *edge)
{
    for (size_t panel = u->panel; panel < u->panel + u->panels; panel++) {
        if (matmul_run_abreast(s, t, u, d, p, depth, rows_at, lda, panel)) {
            panel += MATMUL_ABREAST - 1;
            continue;
        }
        const size_t column = panel * t->columns;
        const size_t columns = s->n - column < t->columns ? s->n - column : t->columns;
        const bool whole = columns == t->columns;
        const void *b = panel_at(s, t, d, panel, p, depth, edge);
        const size_t first = panel == u->panel ? u->first * t->rows : 0;
        const size_t end = panel + 1 == u->panel + u->panels ? u->end * t->rows : u->rows;
        const size_t tiles = divide_up(smaller(end, u->rows) - first, t->rows);
        for (size_t i = first; i < end && i < u->rows; i += t->rows) {
            const size_t rows = smaller(u->rows - i, t->rows);
            const size_t place = (u->row + i) * s->n + column;
            float *to = d->c + place;
            const bool ends = p + depth == s->k;
            fetch_end(to, ends && d->residual ? d->residual + place : NULL, s->n, rows, columns);
            matmul_run_tile(t, d, rows, columns, depth, rows_at + i * lda, lda, b, to, s->n, p > 0,
                            ends ? s->alpha : 1, edge,
                            fetch_ahead(t, d, b, (panel * s->k + p) * t->columns, depth, s->k,
                                        (i - first) / t->rows, tiles));
            if (ends)
                matmul_finish(s, t, d, whole ? 1 : s->alpha, u->row + i, rows, column, columns);
        }
    }
}

static void run_block(const matmul_shape *s, const matmul_tile *t, const block *u,
                      const matmul_data *d, float *scratch)
{
    const size_t product = u->product;
    const bool in_place = is_read_in_place(s);
    float *edge = scratch, *copy = scratch + t->rows * t->columns;
    const float *a = d->a + matmul_offset(s, s->a_batch, product) + u->row * s->a_row;
    matmul_data one = *d;
    one.c += product * s->m * s->n;
    if (one.bias && s->bias == MATMUL_BIAS_FULL) one.bias += product * s->m * s->n;
    if (one.residual) one.residual += product * s->m * s->n;
    if (!d->b_shared && one.packed) one.packed += product * matmul_packed_count(s, t);
    if (!d->b_shared && one.half) one.half += product * matmul_packed_count(s, t);
    for (size_t p = 0; p < s->k; p += DEPTH) {
        const size_t depth = smaller(s->k - p, DEPTH);
        if (!in_place) copy_rows(copy, a + p * s->a_column, s, u->rows, depth);
        matmul_block(s, t, u, &one, p, depth, in_place ? a + p : copy, in_place ? s->a_row : depth,
                     edge);
    }
}

void matmul_unit(const matmul_shape *s, const matmul_tile *t, uint32_t parts, size_t unit,
                 const matmul_data *d, float *scratch)
{
    const cut c = cut_for(s, t, parts);
    size_t at, to;
    find_run(&at, &to, s, t, &c, unit);
    while (at < to) {
        const block u = find_block(s, t, &c, at, to);
        run_block(s, t, &u, d, scratch);
        at += u.count;
    }
}

/* ---- Plans from files ----------------------------------------------------------------------- */

/* Number of elements of an operand up to the last one that any of the products reads. */
static uint64_t reach_of(const matmul_shape *s, const uint64_t *batch, uint64_t rows, uint64_t row,
                         uint64_t columns, uint64_t column)
{
    uint64_t sizes[MATMUL_MAX_BATCH_RANK + 2], strides[MATMUL_MAX_BATCH_RANK + 2];
    for (uint32_t d = 0; d < s->batch_rank; d++) {
        sizes[d] = s->batch_shape[d];
        strides[d] = batch[d];
    }
    sizes[s->batch_rank] = rows;
    strides[s->batch_rank] = row;
    sizes[s->batch_rank + 1] = columns;
    strides[s->batch_rank + 1] = column;
    return extent_reach(sizes, strides, s->batch_rank + 2);
}

uint64_t matmul_b_reach(const matmul_shape *s)
{
    return reach_of(s, s->b_batch, s->k, s->b_row, s->n, s->b_column);
}

bool matmul_extent(kernel_extent *e, const matmul_shape *s, uint32_t has_residual, uint32_t c)
{
    /* A bound for all sizes that keeps their sums and roundings below INT64_MAX. */
    const uint64_t most = INT64_MAX / 64;
    if (s->batch_rank > MATMUL_MAX_BATCH_RANK ||
        extent_product(s->batch_shape, s->batch_rank) != s->batch || !s->m || !s->n || !s->k ||
        !s->batch || s->m > most || s->n > most || s->k > most || s->batch > most)
        return extent_refuse(e, "shape");
    if (!extent_enum(e, s->activation, MATMUL_SILU + 1, "activation")) return false;
    const uint64_t all = extent_mul3(s->batch, s->m, s->n);
    const uint64_t biases[] = {[MATMUL_NO_BIAS] = 0,
                               [MATMUL_BIAS_SCALAR] = 1,
                               [MATMUL_BIAS_COLUMN] = s->n,
                               [MATMUL_BIAS_ROW] = s->m,
                               [MATMUL_BIAS_FULL] = all};
    if (!extent_enum(e, s->bias, sizeof biases / sizeof *biases, "bias")) return false;
    extent_tensor(e, 0, reach_of(s, s->a_batch, s->m, s->a_row, s->k, s->a_column), sizeof(float));
    extent_tensor(e, 2, biases[s->bias], sizeof(float));
    if (has_residual) extent_tensor(e, 3, all, sizeof(float));
    extent_tensor(e, c, all, sizeof(float));
    return true;
}
