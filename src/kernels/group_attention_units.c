/* SPDX-License-Identifier: Apache-2.0 */
/* Phases 1 and 2 of GroupQueryAttention: scores, their softmax and the weighted sums of values.
 * With a layout of blocks, a part is the keys of neighbouring blocks that the same rows see, so
 * blocks that no row sees cost nothing. */
#include <math.h>
#include <string.h>

#include "kernels/group_attention.h"
#include "kernels/half.h"

typedef group_params params;

static const half_loops *loops_of(const params *p)
{
    return half_loops_of((pgy_dtype)p->narrow, (cpu_level)p->level);
}

/* ---- Rows ----------------------------------------------------------------------------------- */

/* The query rows of a unit, and what they read besides keys and values. */
typedef struct unit {
    attention_rows a;
    float sinks[ATTENTION_ROWS];
    uint64_t y[ATTENTION_ROWS], bias[ATTENTION_ROWS]; /* elements from the starts of the tensors */
} unit;

static attention_row read_row(unit *w, size_t i, const params *p, const kernel_run *r, uint64_t b,
                              uint64_t row, uint64_t head)
{
    attention_row y = {0};
    uint64_t length, past, scratch[GROUP_END + 1];
    (void)group_lengths(&length, &past, p, r, b);
    const uint64_t at = past + row;
    y.to = p->causal && at + 1 < length ? at + 1 : length;
    if (p->window >= 0 && at + 1 > (uint64_t)p->window) y.from = at + 1 - (uint64_t)p->window;
    w->y[i] = ((b * p->rows + row) * p->heads + head) * p->size;
    if (p->bias_keys) {
        const uint64_t of_batch = p->bias_batch == 1 ? 0 : b;
        const uint64_t of_head = p->bias_heads == 1 ? 0 : head;
        w->bias[i] = ((of_batch * p->bias_heads + of_head) * p->rows + row) * p->bias_keys;
    }
    if (p->narrow) {
        group_scratch(scratch, p);
        y.y = (float *)r->scratch + scratch[GROUP_Y] + i * p->size;
    } else {
        y.y = (float *)r->tensors[p->inputs] + w->y[i];
        if (p->bias_keys) y.bias = (const float *)r->tensors[GROUP_BIAS] + w->bias[i];
    }
    return y;
}

static void read_sink(unit *w, size_t i, const params *p, const kernel_run *r, uint64_t head)
{
    const void *sinks = r->tensors[GROUP_SINK];
    if (p->sinks != GROUP_SINKS_GIVEN)
        w->sinks[i] = 0;
    else if (p->narrow)
        loops_of(p)->widen(&w->sinks[i], (const uint16_t *)sinks + head, 1);
    else
        w->sinks[i] = ((const float *)sinks)[head];
}

/* False: the lengths in the data do not fit; phase 0 has reported it. */
static bool read_unit(unit *w, const params *p, const kernel_run *r, uint64_t group, uint64_t first)
{
    const uint64_t b = group / p->kv_heads, all = group_shared_rows(p);
    const uint64_t shared = p->heads / p->kv_heads;
    uint64_t length, past;
    if (!group_lengths(&length, &past, p, r, b)) return false;
    w->a = (attention_rows){.level = (cpu_level)p->level,
                            .rows = all - first < ATTENTION_ROWS ? all - first : ATTENTION_ROWS,
                            .size = p->size,
                            .v_size = p->size,
                            .q = (const float *)r->workspace + (group * all + first) * p->size,
                            .key_step = p->size,
                            .value_step = p->size,
                            .cap = p->cap,
                            .sinks = p->sinks ? w->sinks : NULL};
    for (size_t i = 0; i < w->a.rows; i++) {
        const uint64_t head = group % p->kv_heads * shared + (first + i) % shared;
        w->a.row[i] = read_row(w, i, p, r, b, (first + i) / shared, head);
        if (p->sinks) read_sink(w, i, p, r, head);
    }
    return true;
}

/* ---- Keys ----------------------------------------------------------------------------------- */

/* The keys that some row sees; to 0: none. */
static void find_keys(uint64_t *from, uint64_t *to, const attention_rows *a)
{
    *from = UINT64_MAX;
    *to = 0;
    for (size_t i = 0; i < a->rows; i++) {
        const attention_row *row = &a->row[i];
        if (row->from >= row->to) continue;
        *from = row->from < *from ? row->from : *from;
        *to = row->to > *to ? row->to : *to;
    }
    if (!*to) *from = 0;
}

/* Lets the rows see only keys [from, to). */
static void clip(attention_rows *a, uint64_t from, uint64_t to)
{
    for (size_t i = 0; i < a->rows; i++) {
        attention_row *row = &a->row[i];
        row->from = row->from < from ? from : row->from;
        row->to = row->to > to ? to : row->to;
        if (row->from >= row->to) row->from = row->to = from;
    }
}

static const float *widen_rows(const params *p, const kernel_run *r, uint64_t which, uint64_t group,
                               uint64_t from, uint64_t to, float *room)
{
    const uint16_t *x = (const uint16_t *)group_cache(p, r, which, group) + from * p->size;
    loops_of(p)->widen(room, x, (to - from) * p->size);
    return room;
}

/* Widens the keys, values and biases that the rows see, at most ATTENTION_PART keys. Rows count
 * keys from the first of them then. */
static void widen_part(unit *w, const params *p, const kernel_run *r, uint64_t group)
{
    uint64_t from, to, scratch[GROUP_END + 1];
    float *room = r->scratch;
    group_scratch(scratch, p);
    find_keys(&from, &to, &w->a);
    w->a.keys = widen_rows(p, r, 0, group, from, to, room + scratch[GROUP_WIDE]);
    w->a.values = widen_rows(p, r, 1, group, from, to, room + scratch[GROUP_WIDE + 1]);
    for (size_t i = 0; i < w->a.rows; i++) {
        attention_row *row = &w->a.row[i];
        if (row->from >= row->to) {
            row->from = row->to = 0;
            continue;
        }
        if (p->bias_keys) {
            float *bias = room + scratch[GROUP_BIASES] + i * ATTENTION_PART;
            loops_of(p)->widen(bias, (const uint16_t *)r->tensors[GROUP_BIAS] + w->bias[i] + from,
                               row->to - from);
            row->bias = bias;
        }
        row->from -= from;
        row->to -= from;
    }
}

static void run_part(unit *w, const params *p, const kernel_run *r, uint64_t group)
{
    if (p->narrow) {
        widen_part(w, p, r, group);
    } else {
        w->a.keys = group_cache(p, r, 0, group);
        w->a.values = group_cache(p, r, 1, group);
    }
    attention_rows_run(&w->a, r->scratch);
}

/* ---- Results -------------------------------------------------------------------------------- */

static void narrow_unit(const unit *w, const params *p, const kernel_run *r)
{
    for (size_t i = 0; p->narrow && i < w->a.rows; i++)
        loops_of(p)->narrow((uint16_t *)r->tensors[p->inputs] + w->y[i], w->a.row[i].y, p->size);
}

/* Many rows in 16 bits: goes through the keys in parts, so that what it widens stays small. */
static void run_narrow(unit *w, const params *p, const kernel_run *r, uint64_t group)
{
    uint64_t from, to, parts = 0, scratch[GROUP_END + 1];
    group_scratch(scratch, p);
    float *sums = (float *)r->scratch + scratch[GROUP_SUMS];
    find_keys(&from, &to, &w->a);
    if (to - from <= ATTENTION_PART) {
        run_part(w, p, r, group);
        return;
    }
    for (; from < to; from += ATTENTION_PART, parts++) {
        unit part = *w;
        clip(&part.a, from, from + ATTENTION_PART);
        part.a.sinks = NULL;
        part.a.part = sums + parts * w->a.rows * (p->size + 2);
        run_part(&part, p, r, group);
    }
    attention_rows_join(&w->a, sums, parts);
}

static float *part_sums(const params *p, const kernel_run *r, uint64_t group)
{
    uint64_t places[3];
    group_places(places, p);
    return (float *)r->workspace + places[1] +
           group * group_key_parts(p) * group_shared_rows(p) * (p->size + 2);
}

uint64_t group_units(const params *p)
{
    return p->batch * p->kv_heads * group_row_units(p) * group_key_parts(p);
}

void group_unit(const params *p, const kernel_run *r, uint64_t index)
{
    const uint64_t across = group_row_units(p), parts = group_key_parts(p), part = index % parts;
    const uint64_t group = index / parts / across, first = index / parts % across * ATTENTION_ROWS;
    unit w;
    if (!read_unit(&w, p, r, group, first)) return;
    if (parts > 1) {
        clip(&w.a, part * ATTENTION_PART, (part + 1) * ATTENTION_PART);
        w.a.sinks = NULL;
        w.a.part = part_sums(p, r, group) + part * w.a.rows * (p->size + 2);
        run_part(&w, p, r, group);
        return;
    }
    if (p->narrow)
        run_narrow(&w, p, r, group);
    else
        run_part(&w, p, r, group);
    narrow_unit(&w, p, r);
}

void group_finish(const params *p, const kernel_run *r, uint64_t group)
{
    unit w;
    if (!read_unit(&w, p, r, group, 0)) return;
    attention_rows_join(&w.a, part_sums(p, r, group), group_key_parts(p));
    narrow_unit(&w, p, r);
}

/* ---- Layouts of blocks ---------------------------------------------------------------------- */

uint64_t group_sparse_units(const params *p)
{
    return p->batch * p->kv_heads * group_row_units(p);
}

/* Sets bit i of seen[block] if row i of the unit sees the block of keys. */
static void find_seen(uint32_t *seen, const unit *w, const params *p, const group_layout *l,
                      uint64_t past)
{
    const uint64_t blocks = p->capacity / l->block + 1;
    memset(seen, 0, blocks * sizeof *seen);
    for (size_t i = 0; i < w->a.rows; i++) {
        const uint64_t head = w->y[i] / p->size % p->heads, which = head % l->count;
        const uint64_t token = w->y[i] / p->size / p->heads % p->rows;
        const uint64_t block = (past + token) / l->block;
        if (w->a.row[i].from >= w->a.row[i].to || block + 1 >= l->row_width) continue;
        const int32_t *row = l->rows + which * l->row_width + block;
        const int32_t *columns = l->columns + which * l->column_width;
        for (int32_t k = row[0]; k < row[1]; k++)
            if (columns[k] >= 0 && (uint64_t)columns[k] < blocks) seen[columns[k]] |= 1U << i;
    }
}

/* Adds the keys [from, to), which the rows in `seen` see, to the sums. */
static void add_part(float *sums, const unit *w, const params *p, const kernel_run *r,
                     uint64_t group, uint64_t from, uint64_t to, uint32_t seen, float *room)
{
    unit part = *w;
    clip(&part.a, from, to);
    for (size_t i = 0; i < part.a.rows; i++)
        if (!(seen >> i & 1)) part.a.row[i].from = part.a.row[i].to = from;
    part.a.part = room;
    run_part(&part, p, r, group);
    attention_rows_add(sums, &part.a, room);
}

static void start_sums(float *sums, const params *p, size_t rows)
{
    memset(sums, 0, rows * (p->size + 2) * sizeof *sums);
    for (size_t i = 0; i < rows; i++) sums[i * (p->size + 2) + p->size] = -INFINITY;
}

void group_sparse_unit(const params *p, const group_layout *l, const kernel_run *r, uint64_t index)
{
    const uint64_t group = index / group_row_units(p);
    uint64_t length, past, from, end, scratch[GROUP_SPARSE_END + 1];
    float *room = r->scratch;
    unit w;
    if (!read_unit(&w, p, r, group, index % group_row_units(p) * ATTENTION_ROWS)) return;
    (void)group_lengths(&length, &past, p, r, group / p->kv_heads);
    group_sparse_scratch(scratch, p, l->block);
    float *sums = room + scratch[GROUP_SO_FAR];
    uint32_t *seen = (uint32_t *)(void *)(room + scratch[GROUP_SEEN]);
    find_keys(&from, &end, &w.a);
    find_seen(seen, &w, p, l, past);
    start_sums(sums, p, w.a.rows);
    while (from < end) {
        const uint32_t rows = seen[from / l->block];
        uint64_t to = from;
        while (to < end && to - from < ATTENTION_PART && seen[to / l->block] == rows)
            to = (to / l->block + 1) * l->block;
        to = to < end ? to : end;
        to = to - from < ATTENTION_PART ? to : from + ATTENTION_PART;
        if (rows) add_part(sums, &w, p, r, group, from, to, rows, room + scratch[GROUP_PART]);
        from = to;
    }
    attention_rows_join(&w.a, sums, 1);
    narrow_unit(&w, p, r);
}
