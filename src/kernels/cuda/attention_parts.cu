// SPDX-License-Identifier: Apache-2.0
// Text in front of attention.cu and attention_tensor.cu: arguments, where keys and values lie, masks.
//
// SIZE and V_SIZE: elements of a key and of a value, padded to multiples of 4; MASK: 0 none, 1 added numbers of type MASKS, 2 truth values.
// CAPPED: scores go through tanh. PAST: the first keys and values lie in caches.
typedef struct place { uint64_t batch, head, row; } place; // strides

typedef struct attention {
    const X *q, *k, *v;
    const MASKS *mask;
    X *y;
    place q_at, k_at, v_at, y_at;
    uint64_t heads, kv_heads, rows, keys, size, v_size, row_tiles;
    uint64_t m_batch, m_head, m_row, m_key, m_keys;
    float scale, cap;
    uint32_t causal;
    const X *past_k, *past_v;
    uint64_t past;
    place past_k_at, past_v_at;
} attention;

// The keys or the values of one head.
typedef struct lines {
    const X *now, *old;
    uint64_t step, old_step, past;
} lines;

DEVICE lines lines_of(const X *now, const place *at, const X *old, const place *old_at, uint64_t past, uint64_t b, uint64_t head)
{
    lines l;
    l.now = now + b * at->batch + head * at->head;
    l.step = at->row;
    l.old = old + b * old_at->batch + head * old_at->head;
    l.old_step = old_at->row;
    l.past = past;
    return l;
}
DEVICE lines keys_of(const attention *a, uint64_t b, uint64_t head)
{
    return lines_of(a->k, &a->k_at, a->past_k, &a->past_k_at, a->past, b, head);
}
DEVICE lines values_of(const attention *a, uint64_t b, uint64_t head)
{
    return lines_of(a->v, &a->v_at, a->past_v, &a->past_v_at, a->past, b, head);
}

DEVICE const X *line_at(const lines *l, uint64_t i)
{
#if PAST
    return i < l->past ? l->old + i * l->old_step : l->now + (i - l->past) * l->step;
#else
    return l->now + i * l->step;
#endif
}

// Keys that a row may attend to; those behind are masked.
DEVICE uint64_t open_keys(const attention *a, uint64_t row)
{
    uint64_t n = a->m_keys < a->keys ? a->m_keys : a->keys;
    if (a->causal && row + a->past + 1 < n) n = row + a->past + 1;
    return n;
}

DEVICE float scored(const attention *a, uint64_t b, uint64_t h, uint64_t row, uint64_t key, float x)
{
#if CAPPED
    x = a->cap * tanhf(x / a->cap);
#endif
#if MASK
    if (key >= open_keys(a, row)) return -INFINITY;
    const MASKS *mask = a->mask + b * a->m_batch + h * a->m_head + row * a->m_row + key * a->m_key;
#if MASK == 1
    x += WIDEN(MASKS, *mask);
#else
    x = *mask ? x : -INFINITY;
#endif
#else
    (void)b, (void)h;
#endif
    return key < open_keys(a, row) ? x : -INFINITY;
}
