/* SPDX-License-Identifier: Apache-2.0 */
/* Phase 0 of GroupQueryAttention: queries are normalised, rotated and scaled, keys and values of
 * new tokens join the caches. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "kernels/group_attention.h"
#include "kernels/half.h"
#include "kernels/vec_math.h"

typedef group_params params;

static const half_loops *loops_of(const params *p)
{
    return half_loops_of((pgy_dtype)p->narrow, (cpu_level)p->level);
}

/* ---- The past ------------------------------------------------------------------------------- */

bool group_lengths(uint64_t *all, uint64_t *past, const params *p, const kernel_run *r, uint64_t b)
{
    const int64_t total = *(const int32_t *)r->tensors[GROUP_TOTAL];
    const int64_t length =
        (int64_t)((const int32_t *)r->tensors[GROUP_LENGTHS])[b] + !p->counts_all;
    const int64_t before = total == (int64_t)p->rows ? 0 : length - (int64_t)p->rows;
    const uint64_t longest = (uint64_t)total > p->past ? (uint64_t)total : p->past;
    *all = (uint64_t)length;
    *past = (uint64_t)before;
    return total >= (int64_t)p->rows && longest == p->capacity && length >= 1 && length <= total &&
           before >= 0 && (uint64_t)before <= p->past &&
           (!p->bias_keys || p->bias_keys == (uint64_t)total);
}

/* Has the caller a buffer with the past of keys (0) or values (1) in it? */
static bool group_is_kept(const kernel_run *r, uint64_t which)
{
    return r->rooms[which].rows;
}

void *group_cache(const params *p, const kernel_run *r, uint64_t which, uint64_t head)
{
    const uint64_t rows = group_is_kept(r, which) ? r->rooms[which].rows : p->capacity;
    return (char *)r->tensors[p->inputs + 1 + which] + head * rows * p->size * group_item(p);
}

bool group_has_room(const params *p, const kernel_run *r)
{
    for (size_t i = 0; i < 2; i++) {
        size_t count = p->batch;
        if (!group_is_kept(r, i)) continue;
        if (p->capacity > r->rooms[i].rows || !size_mul(&count, count, p->kv_heads) ||
            !size_mul(&count, count, r->rooms[i].rows) || !size_mul(&count, count, p->size) ||
            count > r->rooms[i].size_bytes / group_item(p))
            return false;
    }
    return true;
}

enum { COPIED_ROWS = 512 };

static uint64_t group_blocks(const params *p)
{
    return (p->capacity + COPIED_ROWS - 1) / COPIED_ROWS;
}

/* Units of phase 0 that copy the past; the others are tokens. */
static uint64_t group_copies(const params *p)
{
    return 2 * p->batch * p->kv_heads * group_blocks(p);
}

/* Copies a block of one head's past keys or values, except the rows that new tokens get; rows
 * behind the end of the sequence become 0 unless they are kept. */
static void group_copy(const params *p, const kernel_run *r, uint64_t index)
{
    const uint64_t blocks = group_blocks(p), all = p->batch * p->kv_heads;
    const uint64_t head = index / blocks % all, which = index / blocks / all;
    uint64_t length, past, from = index % blocks * COPIED_ROWS;
    const uint64_t end = p->capacity - from < COPIED_ROWS ? p->capacity : from + COPIED_ROWS;
    const uint64_t row = p->size * group_item(p); /* bytes */
    const char *x = p->past ? r->tensors[GROUP_PAST_K + which] : NULL;
    const bool kept = group_is_kept(r, which), full = p->past == p->capacity;
    char *y = group_cache(p, r, which, head);
    if ((x == r->tensors[p->inputs + 1 + which] && full) ||
        !group_lengths(&length, &past, p, r, head / p->kv_heads))
        return;
    if (x) x += head * p->past * row;
    while (from < end) {
        /* What stays is the past, and perhaps what the cache has behind the new rows. */
        const uint64_t stays = from < past ? past : p->keeps_rows ? p->past : 0;
        const bool old = from < stays;
        const uint64_t to = old && stays < end ? stays : end;
        if (from >= past && from < past + p->rows) { /* rows of new tokens */
            from = past + p->rows;
            continue;
        }
        const uint64_t bytes = (to - from) * row;
        if (!old)
            memset(y + from * row, 0, bytes);
        else if (!kept)
            memcpy(y + from * row, x + from * row, bytes);
        from = to;
    }
}

/* ---- New tokens ----------------------------------------------------------------------------- */

/* Finds the row of the tables for a token; false if its position lies outside of them. */
static bool group_place(uint64_t *place, const params *p, const kernel_run *r, uint64_t token,
                        uint64_t at, uint64_t length)
{
    const int64_t *ids = p->ids ? r->tensors[GROUP_POSITIONS] : NULL;
    const uint64_t row = token % p->rows;
    *place = 0;
    if (!p->half || at >= length) return true;
    *place = !ids ? at : p->ids == 1 ? (uint64_t)ids[0] + row : (uint64_t)ids[token];
    return *place < p->places;
}

/* What the heads of a token share, in float32; the rotation's rows are NULL without one. */
typedef struct token_tables {
    const float *cosines, *sines, *norms[2];
} token_tables;

/* `count` floats of an input from element `from` on; 16 bits are widened into `room`. */
static const float *floats_of(const params *p, const kernel_run *r, size_t input, uint64_t from,
                              uint64_t count, float *room)
{
    if (!p->narrow) return (const float *)r->tensors[input] + from;
    loops_of(p)->widen(room, (const uint16_t *)r->tensors[input] + from, count);
    return room;
}

/* Uses up to 3 * size floats of `room`. */
static token_tables read_tables(const params *p, const kernel_run *r, uint64_t place, float *room)
{
    token_tables t = {0};
    for (size_t i = 0; i < 2; i++)
        if (p->normed >> i & 1)
            t.norms[i] = floats_of(p, r, GROUP_Q_NORM + i, 0, p->size, room + i * p->size);
    if (!p->half) return t;
    room += 2 * p->size;
    t.cosines = floats_of(p, r, GROUP_COS, place * p->half, p->half, room);
    t.sines = floats_of(p, r, GROUP_SIN, place * p->half, p->half, room + p->half);
    return t;
}

/* Normalises and rotates one head of a query (0) or key (1). */
static void turn(const params *p, const token_tables *t, float *y, const float *x, uint32_t which)
{
    const vec_math *m = vec_math_of((cpu_level)p->level);
    if (t->norms[which]) {
        const float mean = m->sum_squares(x, p->size, 0) / (float)p->size;
        m->normalize(y, x, p->size, 0, 1 / sqrtf(mean + p->epsilon), t->norms[which], NULL);
    } else if (y != x) {
        memcpy(y, x, p->size * sizeof *y);
    }
    if (t->cosines)
        attention_loops_of((cpu_level)p->level)
            ->rotate(y, y, t->cosines, t->sines, p->half, p->interleaved);
}

/* Where the query, key and value of a token lie: inputs and elements from their starts. */
typedef struct token_rows {
    size_t input[3];
    uint64_t at[3];
} token_rows;

static token_rows rows_of(const params *p, uint64_t token)
{
    const uint64_t q_width = p->heads * p->size, width = p->kv_heads * p->size;
    const uint64_t all = q_width + 2 * width;
    if (p->packed)
        return (token_rows){{GROUP_QUERY, GROUP_QUERY, GROUP_QUERY},
                            {token * all, token * all + q_width, token * all + q_width + width}};
    return (token_rows){{GROUP_QUERY, GROUP_KEY, GROUP_VALUE},
                        {token * q_width, token * width, token * width}};
}

/* Adds a head of a new key and value to the caches, at row `at`. */
static void add_row(const params *p, const kernel_run *r, const token_tables *t,
                    const token_rows *rows, uint64_t kv_head, uint64_t head, uint64_t at)
{
    const uint64_t item = group_item(p), bytes = p->size * item;
    float *wide = (float *)r->scratch + 3 * p->size;
    const float *k =
        floats_of(p, r, rows->input[1], rows->at[1] + kv_head * p->size, p->size, wide);
    const char *v =
        (const char *)r->tensors[rows->input[2]] + (rows->at[2] + kv_head * p->size) * item;
    char *key = (char *)group_cache(p, r, 0, head) + at * bytes;
    turn(p, t, p->narrow ? wide : (float *)key, k, 1);
    if (p->narrow) loops_of(p)->narrow((uint16_t *)key, wide, p->size);
    memcpy((char *)group_cache(p, r, 1, head) + at * bytes, v, bytes);
}

static void group_token(const params *p, const kernel_run *r, uint64_t token)
{
    const uint64_t b = token / p->rows, row = token % p->rows, shared = p->heads / p->kv_heads;
    const token_rows rows = rows_of(p, token);
    uint64_t length, past, place;
    if (!group_lengths(&length, &past, p, r, b) ||
        !group_place(&place, p, r, token, past + row, length)) {
        kernel_fail(r, KERNEL_FAULT_LENGTH);
        return;
    }
    const token_tables t = read_tables(p, r, place, r->scratch);
    for (uint64_t h = 0; h < p->heads; h++) {
        const uint64_t head = b * p->kv_heads + h / shared;
        float *y = (float *)r->workspace + ((head * p->rows + row) * shared + h % shared) * p->size;
        turn(p, &t, y, floats_of(p, r, rows.input[0], rows.at[0] + h * p->size, p->size, y), 0);
        for (uint64_t d = 0; d < p->size; d++) y[d] *= p->scale;
    }
    for (uint64_t h = 0; h < p->kv_heads; h++)
        add_row(p, r, &t, &rows, h, b * p->kv_heads + h, past + row);
}

uint64_t group_cache_units(const params *p)
{
    return group_copies(p) + p->batch * p->rows;
}

void group_cache_unit(const params *p, const kernel_run *r, uint64_t index)
{
    const uint64_t copies = group_copies(p);
    if (index < copies)
        group_copy(p, r, index);
    else
        group_token(p, r, index - copies);
}
