/* SPDX-License-Identifier: Apache-2.0 */
/* Copies by index tables; each part copies some rows of the output. Every run checks the tables
 * first, because a plan file may hold any indices. */
#include "kernels/axis_tables.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/system.h"

#if defined(__x86_64__)
#include <tmmintrin.h>
#endif

enum { LONG_RUN = 4 }; /* a run of so many indices is copied at once */

/* Sets the members that follow from the shapes. */
static void axis_tables_place(axis_tables *p)
{
    uint64_t stride = 1;
    for (uint32_t d = p->rank; d-- > 0;) {
        p->strides[d] = stride;
        p->tables[d] = p->entries;
        p->entries += p->shape[d];
        stride *= p->in[d];
        if (d + 1 < p->rank) p->rows *= p->shape[d];
    }
}

bool axis_tables_describe(axis_tables *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0], *y = &u->outputs[0];
    const unsigned bits = pgy_dtype_describe(x->dtype)->bits;
    *p = (axis_tables){
        .item = bits / 8, .rank = (uint32_t)x->rank, .inputs = (uint32_t)u->input_count, .rows = 1};
    if (x->rank < 1 || x->rank > WALK_AXES || y->rank != x->rank) return false;
    if (x->dtype == PGY_STRING || (bits != 8 && bits != 16 && bits != 32 && bits != 64))
        return false;
    if (!kernel_count(x) || !kernel_count(y)) return false;
    for (uint32_t d = 0; d < p->rank; d++) {
        if (x->shape[d] > INT32_MAX || y->shape[d] > INT32_MAX) return false;
        p->in[d] = (uint64_t)x->shape[d];
        p->shape[d] = (uint64_t)y->shape[d];
    }
    axis_tables_place(p);
    return true;
}

void axis_tables_cost(kernel_problem *u, const axis_tables *p, double *cost_ns)
{
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    u->outputs[0].layout = KERNEL_LINEAR;
    *cost_ns = 100 + (double)kernel_size_bytes(&u->outputs[0]) / 4 + (double)p->rows * 10;
}

pgy_status axis_tables_plan(kernel_plan *out, const axis_tables *p, pgy_error *err)
{
    axis_tables *params = mem_calloc(1, sizeof *params);
    const size_t packed_bytes = p->entries * sizeof(int32_t);
    int32_t *tables = mem_alloc_aligned(64, packed_bytes);
    if (!params || !tables) {
        mem_free(params);
        mem_free(tables);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    *params = *p;
    memset(tables, 0xff, packed_bytes);
    const uint64_t parts = p->rows * p->shape[p->rank - 1] * p->item / 32768 + 1;
    *out = (kernel_plan){.params = params,
                         .params_bytes = sizeof *params,
                         .packed = tables,
                         .packed_bytes = packed_bytes,
                         .phases = 1,
                         .parts = (uint32_t)(parts < p->rows ? parts : p->rows),
                         .in_place = -1};
    if (out->parts > 256) out->parts = 256;
    return PGY_OK;
}

/* Finds the longest run of consecutive source indices. */
static void axis_tables_find_run(axis_tables *p, const int32_t *last)
{
    const uint64_t n = p->shape[p->rank - 1];
    for (uint64_t i = 0; i < n;) {
        uint64_t end = i + 1;
        while (end < n && last[i] >= 0 && last[end] == last[i] + (int32_t)(end - i)) end++;
        if (last[i] >= 0 && end - i > p->run_count) {
            p->run_from = i;
            p->run_count = end - i;
        }
        i = end;
    }
}

void axis_tables_finish(kernel_plan *out)
{
    axis_tables *p = out->params;
    axis_tables_find_run(p, (const int32_t *)out->packed + p->tables[p->rank - 1]);
}

bool axis_tables_keeps_last(const axis_tables *p)
{
    const uint32_t last = p->rank - 1;
    return p->run_from == 0 && p->run_count == p->shape[last] && p->in[last] == p->shape[last];
}

pgy_status axis_tables_turn(kernel_plan *out, pgy_error *err)
{
    axis_tables *p = out->params, new = *p;
    int32_t *tables = mem_alloc_aligned(64, out->packed_bytes);
    if (!tables) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    new.rows = 1;
    new.entries = new.run_from = new.run_count = 0;
    for (uint32_t d = 1; d < p->rank; d++) {
        const uint32_t from = d + 1 < p->rank ? d + 1 : 1;
        new.in[d] = p->in[from];
        new.shape[d] = p->shape[from];
    }
    axis_tables_place(&new);
    for (uint32_t d = 0; d < p->rank; d++) {
        const uint32_t from = d == 0 ? 0 : d + 1 < p->rank ? d + 1 : 1;
        memcpy(tables + new.tables[d], (const int32_t *)out->packed + p->tables[from],
               p->shape[from] * sizeof *tables);
    }
    mem_free(out->packed);
    out->packed = tables;
    *p = new;
    axis_tables_finish(out);
    return PGY_OK;
}

/* Do the members have the values that follow from the shapes of input and output? */
static bool is_consistent(const axis_tables *p)
{
    axis_tables own = {.rank = p->rank, .rows = 1};
    if (!p->rank || p->rank > WALK_AXES) return false;
    for (uint32_t d = 0; d < p->rank; d++)
        if (!p->in[d] || !p->shape[d] || p->in[d] > INT32_MAX || p->shape[d] > INT32_MAX)
            return false;
    if (extent_product(p->in, p->rank) == EXTENT_TOO_MUCH ||
        extent_product(p->shape, p->rank) == EXTENT_TOO_MUCH)
        return false;
    memcpy(own.in, p->in, sizeof own.in);
    memcpy(own.shape, p->shape, sizeof own.shape);
    axis_tables_place(&own);
    return own.rows == p->rows && own.entries == p->entries &&
           !memcmp(own.strides, p->strides, sizeof own.strides) &&
           !memcmp(own.tables, p->tables, sizeof own.tables);
}

bool axis_tables_extent(kernel_extent *e, const kernel_claim *q)
{
    const axis_tables *p = extent_params(e, q, sizeof *p);
    if (!p) return false;
    if (p->inputs != q->input_count || p->value >= p->inputs)
        return extent_refuse(e, "number of inputs");
    if (p->item != 1 && p->item != 2 && p->item != 4 && p->item != 8)
        return extent_refuse(e, "size of an element");
    if (!is_consistent(p)) return extent_refuse(e, "shape");
    const uint64_t n = p->shape[p->rank - 1];
    if (p->run_from > n || p->run_count > n - p->run_from) return extent_refuse(e, "run");
    extent_tensor(e, 0, extent_product(p->in, p->rank), p->item);
    if (p->value) extent_tensor(e, p->value, 1, p->item);
    extent_tensor(e, p->inputs, extent_product(p->shape, p->rank), p->item);
    e->packed = extent_mul(p->entries, sizeof(int32_t));
    return true;
}

static bool are_inside(const int32_t *table, uint64_t count, uint64_t size)
{
    const int32_t most = (int32_t)size - 1;
    int outside = 0;
    for (uint64_t i = 0; i < count; i++) outside |= (table[i] < -1) | (table[i] > most);
    return !outside;
}

/* Checks that all indices that are read are inside the input: tables come from the plan file, which
 * is not trusted. Of a run, only the first one is read. */
static bool axis_tables_are_inside(const axis_tables *p, const int32_t *tables)
{
    const uint32_t last = p->rank - 1;
    const int32_t *of_last = tables + p->tables[last],
                  first = of_last[p->run_from % p->shape[last]];
    const uint64_t end = p->run_from + p->run_count;
    for (uint32_t d = 0; d < last; d++)
        if (!are_inside(tables + p->tables[d], p->shape[d], p->in[d])) return false;
    if (p->run_count < LONG_RUN) return are_inside(of_last, p->shape[last], p->in[last]);
    return are_inside(of_last, p->run_from, p->in[last]) &&
           are_inside(of_last + end, p->shape[last] - end, p->in[last]) && first >= 0 &&
           (uint64_t)first + p->run_count <= p->in[last];
}

/* Copies indices [from, to) of a row one by one; a negative index stands for the padding. */
#define MOVE(name, type)                                                                  \
    static void name(type *y, const type *x, type fill, const int32_t *last, size_t from, \
                     size_t to)                                                           \
    {                                                                                     \
        for (size_t i = from; i < to; i++) y[i] = last[i] >= 0 ? x[last[i]] : fill;       \
    }
/* Writes each element twice, into a row and, unless that is NULL, the one below: nearest Resize by
 * 2. */
#define TWICE(name, type)                                                                      \
    static void name(type *restrict y, type *restrict below, const type *restrict x, size_t n) \
    {                                                                                          \
        const size_t pairs = n / 2;                                                            \
        for (size_t i = 0; below && i < pairs; i++)                                            \
            y[2 * i] = y[2 * i + 1] = below[2 * i] = below[2 * i + 1] = x[i];                  \
        for (size_t i = 0; !below && i < pairs; i++) y[2 * i] = y[2 * i + 1] = x[i];           \
        if (n % 2) y[n - 1] = x[pairs];                                                        \
        if (n % 2 && below) below[n - 1] = x[pairs];                                           \
    }
TWICE(twice_1, uint8_t)
TWICE(twice_2, uint16_t)
TWICE(twice_4, uint32_t)
TWICE(twice_8, uint64_t)
MOVE(move_1, uint8_t)
MOVE(move_2, uint16_t)
MOVE(move_4, uint32_t)
MOVE(move_8, uint64_t)

#define FILL(type)                                                             \
    do {                                                                       \
        const type v = value ? *(const type *)value : 0;                       \
        for (size_t i = 0; i < p->shape[p->rank - 1]; i++) ((type *)y)[i] = v; \
    } while (0)

/* A row of padding. */
static void axis_tables_fill(const axis_tables *p, char *y, const void *value)
{
    switch (p->item) {
    case 1: FILL(uint8_t); break;
    case 2: FILL(uint16_t); break;
    case 4: FILL(uint32_t); break;
    default: FILL(uint64_t);
    }
}

#define MOVE_ALL(function, type) \
    function((type *)y, (const type *)x, value ? *(const type *)value : 0, last, from, to)

static void axis_tables_move(const axis_tables *p, char *y, const char *x, const void *value,
                             const int32_t *last, size_t from, size_t to)
{
    switch (p->item) {
    case 1: MOVE_ALL(move_1, uint8_t); break;
    case 2: MOVE_ALL(move_2, uint16_t); break;
    case 4: MOVE_ALL(move_4, uint32_t); break;
    default: MOVE_ALL(move_8, uint64_t);
    }
}

static void axis_tables_twice(const axis_tables *p, char *y, char *below, const char *x)
{
    const uint64_t n = p->shape[p->rank - 1];
    switch (p->item) {
    case 1: twice_1((uint8_t *)y, (uint8_t *)below, (const uint8_t *)x, n); break;
    case 2: twice_2((uint16_t *)y, (uint16_t *)below, (const uint16_t *)x, n); break;
    case 4: twice_4((uint32_t *)y, (uint32_t *)below, (const uint32_t *)x, n); break;
    default: twice_8((uint64_t *)y, (uint64_t *)below, (const uint64_t *)x, n);
    }
}

static bool axis_tables_is_twice(const axis_tables *p, const int32_t *last)
{
    int other = 0;
    for (uint64_t i = 0; i < p->shape[p->rank - 1]; i++) other |= last[i] != (int32_t)(i / 2);
    return !other;
}

static void axis_tables_row(const axis_tables *p, char *y, const char *x, const void *value,
                            const int32_t *last)
{
    const uint64_t n = p->shape[p->rank - 1], end = p->run_from + p->run_count;
    if (p->run_count < LONG_RUN) {
        axis_tables_move(p, y, x, value, last, 0, n);
        return;
    }
    axis_tables_move(p, y, x, value, last, 0, p->run_from);
    memcpy(y + p->run_from * p->item, x + (size_t)last[p->run_from] * p->item,
           p->run_count * p->item);
    axis_tables_move(p, y, x, value, last, end, n);
}

/* ---- Rows of bytes by shuffles -------------------------------------------------------------- */

/* Blocks of 16 bytes of an output row; each takes its bytes from 16 neighbours of the input row. */
enum { BLOCK = 16, MAX_BLOCKS = 128 };

typedef struct shuffles {
    size_t count; /* 0: the row cannot be made so */
    size_t to[MAX_BLOCKS], from[MAX_BLOCKS];
    uint8_t masks[MAX_BLOCKS][BLOCK];
} shuffles;

#if defined(__x86_64__)
__attribute__((target("ssse3"))) static void shuffle_row(char *y, const char *x, const shuffles *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(x + s->from[i]));
        const __m128i mask = _mm_loadu_si128((const __m128i *)s->masks[i]);
        _mm_storeu_si128((__m128i *)(y + s->to[i]), _mm_shuffle_epi8(bytes, mask));
    }
}
#else
static void shuffle_row(char *y, const char *x, const shuffles *s)
{
    (void)y, (void)x, (void)s;
}
#endif

/* Of elements of one byte. All indices of the row must be inside. */
static void find_shuffles(shuffles *s, const axis_tables *p, const int32_t *last)
{
    const size_t n = p->shape[p->rank - 1], in = p->in[p->rank - 1];
    const size_t blocks = (n + BLOCK - 1) / BLOCK;
    s->count = 0;
#if defined(__x86_64__)
    if (n < BLOCK || in < BLOCK || blocks > MAX_BLOCKS) return;
    if (cpu_features() < CPU_AVX2) return;
#else
    return;
#endif
    for (size_t b = 0; b < blocks; b++) {
        const size_t to = b * BLOCK + BLOCK <= n ? b * BLOCK : n - BLOCK;
        int32_t least = last[to], most = last[to];
        for (size_t i = 1; i < BLOCK; i++) {
            least = last[to + i] < least ? last[to + i] : least;
            most = last[to + i] > most ? last[to + i] : most;
        }
        if (most - least >= BLOCK) return;
        s->to[b] = to;
        s->from[b] = (size_t)least + BLOCK <= in ? (size_t)least : in - BLOCK;
        for (size_t i = 0; i < BLOCK; i++)
            s->masks[b][i] = (uint8_t)((size_t)last[to + i] - s->from[b]);
    }
    s->count = blocks;
}

static bool has_padding(const int32_t *last, size_t n)
{
    int32_t least = 0;
    for (size_t i = 0; i < n; i++) least = last[i] < least ? last[i] : least;
    return least < 0;
}

/* ---- Rows in order --------------------------------------------------------------------------- */

/* How the rows of a run are copied. */
typedef struct row_copy {
    const axis_tables *p;
    const int32_t *last;
    const void *value;
    size_t bytes; /* of an output row */
    bool twice;
    shuffles s;
} row_copy;

/* Makes a row of the input row x, and unless `below` is NULL also that one. */
static void copy_row(const row_copy *c, char *y, char *below, const char *x)
{
    if (c->twice && !c->s.count) {
        axis_tables_twice(c->p, y, below, x);
        return;
    }
    if (c->s.count)
        shuffle_row(y, x, &c->s);
    else
        axis_tables_row(c->p, y, x, c->value, c->last);
    if (below) memcpy(below, y, c->bytes);
}

/* Makes rows [from, to) along the axis before the last. x: input index 0 of both axes; NULL: an
 * index of the other axes is padding. */
static void copy_rows(const row_copy *c, char *y, const char *x, const int32_t *table,
                      uint64_t stride, size_t from, size_t to)
{
    for (size_t i = from, count; i < to; i += count, y += count * c->bytes) {
        const bool again = i + 1 < to && table[i + 1] == table[i];
        count = again ? 2 : 1;
        if (x && table[i] >= 0) {
            copy_row(c, y, again ? y + c->bytes : NULL, x + (uint64_t)table[i] * stride);
            continue;
        }
        axis_tables_fill(c->p, y, c->value);
        if (again) axis_tables_fill(c->p, y + c->bytes, c->value);
    }
}

/* Finds plane `at`, counted over all axes but the last two: its offset in the input. False: the
 * plane is padding. */
static bool find_plane(uint64_t *offset, const axis_tables *p, const int32_t *tables, uint64_t at)
{
    bool inside = true;
    *offset = 0;
    for (uint32_t d = p->rank - 1; d-- > 1; at /= p->shape[d - 1]) {
        const int32_t from = tables[p->tables[d - 1] + at % p->shape[d - 1]];
        inside &= from >= 0;
        *offset += from < 0 ? 0 : (uint64_t)from * p->strides[d - 1];
    }
    return inside;
}

void axis_tables_run(const kernel_run *r)
{
    static const int32_t ONLY[1] = {0};
    enum { AT_ONCE = 64 }; /* rows between two looks at the cancellation */
    const axis_tables *p = r->params;
    const int32_t *tables = r->packed, *last = tables + p->tables[p->rank - 1];
    const size_t n = p->shape[p->rank - 1];
    row_copy c = {.p = p,
                  .last = last,
                  .value = p->value ? r->tensors[p->value] : NULL,
                  .bytes = n * p->item};
    if (!axis_tables_are_inside(p, tables)) {
        kernel_fault(r);
        return;
    }
    c.twice = p->run_count < LONG_RUN && axis_tables_is_twice(p, last);
    if (p->item == 1 && p->run_count < n && !has_padding(last, n)) find_shuffles(&c.s, p, last);
    const uint32_t axis = p->rank < 2 ? 0 : p->rank - 2;
    const int32_t *table = p->rank < 2 ? ONLY : tables + p->tables[axis];
    const size_t rows = p->rank < 2 ? 1 : p->shape[axis];
    size_t from, to, count;
    kernel_share(&from, &to, p->rows, r->part, r->parts);
    for (size_t row = from; row < to && !cancel_requested(); row += count) {
        const size_t first = row % rows;
        uint64_t offset;
        const bool inside = find_plane(&offset, p, tables, row / rows);
        const char *x = (const char *)r->tensors[0] + offset * p->item;
        count = rows - first < to - row ? rows - first : to - row;
        if (count > AT_ONCE) count = AT_ONCE;
        copy_rows(&c, (char *)r->tensors[p->inputs] + row * c.bytes, inside ? x : NULL, table,
                  p->strides[axis] * p->item, first, first + count);
    }
}
