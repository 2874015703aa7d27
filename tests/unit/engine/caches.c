/* SPDX-License-Identifier: Apache-2.0 */
/* Caches that stay in a buffer of the caller: runs add rows to it, and give what runs with caches
 * of their own give. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/context/context.h"
#include "harness/model_builder.h"
#include "kernels/half.h"

enum { BATCH = 2, HEADS = 3, ROWS = 24, SIZE = 8, HEAD = ROWS * SIZE };

/* Attention with caches. `looks`: another node reads the new keys, too. */
static pgy_model *attention(bool looks)
{
    model_builder b = builder_start(23);
    builder_input(&b, "q", PGY_F32, "2, 3, rows, 8");
    builder_input(&b, "k", PGY_F32, "2, 3, rows, 8");
    builder_input(&b, "v", PGY_F32, "2, 3, rows, 8");
    builder_input(&b, "past.keys", PGY_F32, "2, 3, past, 8");
    builder_input(&b, "past.values", PGY_F32, "2, 3, past, 8");
    builder_node(&b, "Attention", "q k v - past.keys past.values", "y keys values");
    builder_output(&b, "y", PGY_F32, NULL);
    builder_output(&b, "keys", PGY_F32, NULL);
    builder_output(&b, "values", PGY_F32, NULL);
    if (looks) {
        builder_node(&b, "Relu", "keys", "seen");
        builder_output(&b, "seen", PGY_F32, NULL);
    }
    return builder_finish(&b);
}

/* [batch, heads, rows, size] -> [batch, rows, heads * size]. */
static void join_heads(model_builder *b, const char *from, const char *turned, const char *to)
{
    char inputs[64];
    snprintf(inputs, sizeof inputs, "%s joined", turned);
    builder_attr_ints(b, builder_node(b, "Transpose", from, turned), "perm", 4,
                      (const int64_t[]){0, 2, 1, 3});
    builder_node(b, "Reshape", inputs, to);
}

/* GroupQueryAttention with the same inputs and outputs. Its lengths follow from the shapes. */
static pgy_model *group_attention(pgy_dtype dtype)
{
    model_builder b = builder_start(18);
    builder_opset(&b, "com.microsoft", 1);
    builder_ints(&b, "joined", "3", (const int64_t[]){0, 0, HEADS * SIZE});
    builder_ints(&b, "two", "1", (const int64_t[]){2});
    builder_ints(&b, "one", "1", NULL);
    builder_input(&b, "q", dtype, "2, 3, rows, 8");
    builder_input(&b, "k", dtype, "2, 3, rows, 8");
    builder_input(&b, "v", dtype, "2, 3, rows, 8");
    builder_input(&b, "past.keys", dtype, "2, 3, past, 8");
    builder_input(&b, "past.values", dtype, "2, 3, past, 8");
    join_heads(&b, "q", "q.turned", "q.rows");
    join_heads(&b, "k", "k.turned", "k.rows");
    join_heads(&b, "v", "v.turned", "v.rows");
    builder_node(&b, "Shape", "past.keys", "past.shape");
    builder_node(&b, "Gather", "past.shape two", "past.length");
    builder_node(&b, "Shape", "q", "q.shape");
    builder_node(&b, "Gather", "q.shape two", "q.length");
    builder_node(&b, "Add", "past.length q.length", "length");
    builder_node(&b, "Sub", "length one", "last");
    builder_node(&b, "Expand", "last two", "lasts");
    builder_attr_int(&b, builder_node(&b, "Cast", "length", "total"), "to", 6);
    builder_attr_int(&b, builder_node(&b, "Cast", "lasts", "lengths"), "to", 6);
    pgy_onnx_node *n =
        builder_node(&b, "com.microsoft:GroupQueryAttention",
                     "q.rows k.rows v.rows past.keys past.values lengths total", "y keys values");
    builder_attr_int(&b, n, "num_heads", HEADS);
    builder_attr_int(&b, n, "kv_num_heads", HEADS);
    builder_output(&b, "y", dtype, NULL);
    builder_output(&b, "keys", dtype, "2, 3, total, 8");
    builder_output(&b, "values", dtype, "2, 3, total, 8");
    return builder_finish(&b);
}

typedef struct setup {
    pgy_engine *engine;
    pgy_context *context;
    pgy_dtype dtype; /* of all floats */
    pgy_error err;
} setup;

static size_t item_of(const setup *s)
{
    return s->dtype == PGY_F32 ? sizeof(float) : sizeof(uint16_t);
}

static void open_setup(setup *s, pgy_model *model, size_t threads)
{
    const pgy_context_options o = {.size = sizeof o, .threads = threads};
    *s = (setup){.dtype = PGY_F32};
    if (engine_build(&s->engine, model, NULL, &s->err)) fail_msg("%s", s->err.text);
    if (pgy_context_create(&s->context, s->engine, &o, &s->err)) fail_msg("%s", s->err.text);
    pgy_model_destroy(model);
}

static void close_setup(setup *s)
{
    pgy_context_destroy(s->context);
    engine_release(s->engine);
}

static void fill(float *x, size_t count, uint32_t seed)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525 + 1013904223;
        x[i] = (float)(seed >> 8) / (1 << 23) - 1;
    }
}

static void set_rows(setup *s, const char *name, int64_t rows)
{
    const int64_t shape[] = {BATCH, HEADS, rows, SIZE};
    assert_int_equal(pgy_context_set_input_shape(s->context, name, 4, shape, &s->err), PGY_OK);
}

/* Of float32, or of 16-bit floats in the first half of each array. */
typedef struct memory {
    float in[3][BATCH * HEADS * ROWS * SIZE], y[BATCH * HEADS * ROWS * SIZE];
    float past[2][BATCH * HEADS * HEAD], present[2][BATCH * HEADS * HEAD];
} memory;

static void set_fresh(setup *s, memory *m, int64_t past, int64_t rows)
{
    static const char *const NAMES[] = {"q", "k", "v"};
    const size_t count = (size_t)(BATCH * HEADS * rows * SIZE);
    for (uint32_t i = 0; i < 3; i++) {
        fill(m->in[i], count, (uint32_t)past * 31 + i);
        if (s->dtype != PGY_F32)
            half_loops_of(s->dtype, CPU_PORTABLE)->narrow((uint16_t *)m->in[i], m->in[i], count);
        set_rows(s, NAMES[i], rows);
        assert_int_equal(
            pgy_context_set_input(s->context, NAMES[i], m->in[i], count * item_of(s), &s->err),
            PGY_OK);
    }
    set_rows(s, "past.keys", past);
    set_rows(s, "past.values", past);
    assert_int_equal(pgy_context_set_output(s->context, "y", m->y, sizeof m->y, &s->err), PGY_OK);
}

/* A step whose caches are read here and written there. */
static void step_apart(setup *s, memory *m, int64_t past, int64_t rows)
{
    pgy_context *c = s->context;
    const size_t bytes = BATCH * HEADS * HEAD * item_of(s);
    set_fresh(s, m, past, rows);
    memcpy(m->past, m->present, sizeof m->past);
    assert_int_equal(pgy_context_set_input(c, "past.keys", m->past[0], bytes, NULL), PGY_OK);
    assert_int_equal(pgy_context_set_input(c, "past.values", m->past[1], bytes, NULL), PGY_OK);
    assert_int_equal(pgy_context_set_output(c, "keys", m->present[0], bytes, NULL), PGY_OK);
    assert_int_equal(pgy_context_set_output(c, "values", m->present[1], bytes, NULL), PGY_OK);
    if (pgy_context_execute(c, &s->err)) fail_msg("%s", s->err.text);
}

static pgy_status step_in_place(setup *s, memory *m, int64_t past, int64_t rows, int64_t room)
{
    pgy_context *c = s->context;
    const size_t bytes = BATCH * HEADS * HEAD * item_of(s);
    set_fresh(s, m, past, rows);
    assert_int_equal(
        pgy_context_set_cache(c, "past.keys", "keys", m->past[0], bytes, room, &s->err), PGY_OK);
    assert_int_equal(
        pgy_context_set_cache(c, "past.values", "values", m->past[1], bytes, room, &s->err),
        PGY_OK);
    return pgy_context_execute(c, &s->err);
}

/* Rows of the buffer equal those of a compact cache, and all behind them is as it was. */
static void expect_rows(const void *buffer, const void *cache, int64_t rows, size_t item)
{
    const size_t bytes = (size_t)rows * SIZE * item, all = HEAD * item;
    for (size_t head = 0; head < BATCH * HEADS; head++) {
        const unsigned char *kept = (const unsigned char *)buffer + head * all;
        assert_memory_equal(kept, (const unsigned char *)cache + head * bytes, bytes);
        for (size_t i = bytes; i < all; i++) assert_int_equal(kept[i], 77);
    }
}

typedef enum caching { OF_ATTENTION, OF_GROUPS, OF_GROUPS_IN_F16 } caching;

static void open_caching(setup *s, caching of, size_t threads)
{
    const pgy_dtype dtype = of == OF_GROUPS_IN_F16 ? PGY_F16 : PGY_F32;
    open_setup(s, of == OF_ATTENTION ? attention(false) : group_attention(dtype), threads);
    s->dtype = dtype;
}

static void expect_same(caching of)
{
    static memory a, b;
    for (size_t threads = 1; threads < 4; threads += 2) {
        setup x, y;
        open_caching(&x, of, threads);
        open_caching(&y, of, threads);
        const size_t item = item_of(&x), head_bytes = (ROWS - 1) * SIZE * item;
        a = b = (memory){0};
        memset(b.past, 77, sizeof b.past);
        for (int64_t past = 0, rows = 4; past + rows <= ROWS; past += rows, rows = 1) {
            step_apart(&x, &a, past, rows);
            if (step_in_place(&y, &b, past, rows, ROWS)) fail_msg("%s", y.err.text);
            assert_memory_equal(a.y, b.y, (size_t)(BATCH * HEADS * rows * SIZE) * item);
            for (int i = 0; i < 2; i++) expect_rows(b.past[i], a.present[i], past + rows, item);
        }
        /* The same program without buffers: what was set is gone. */
        for (int i = 0; i < 2; i++)
            for (size_t head = 0; head < BATCH * HEADS; head++)
                memcpy((char *)b.present[i] + head * head_bytes,
                       (char *)b.past[i] + head * HEAD * item, head_bytes);
        step_apart(&y, &b, ROWS - 1, 1);
        assert_memory_equal(a.present[0], b.present[0], BATCH * HEADS * HEAD * item);
        assert_memory_equal(a.present[1], b.present[1], BATCH * HEADS * HEAD * item);
        close_setup(&x);
        close_setup(&y);
    }
}

static void test_caches__rows_are_added_to_a_buffer(void **state)
{
    (void)state;
    expect_same(OF_ATTENTION);
    expect_same(OF_GROUPS);
    expect_same(OF_GROUPS_IN_F16);
}

static void test_caches__refusals(void **state)
{
    (void)state;
    static memory m;
    static float seen[BATCH * HEADS * HEAD];
    setup s;
    open_setup(&s, attention(false), 1);
    assert_int_equal(step_in_place(&s, &m, 8, 1, 8), PGY_E_UNSUPPORTED);     /* a row too few */
    assert_int_equal(step_in_place(&s, &m, 8, 1, ROWS + 1), PGY_E_ARGUMENT); /* too large */
    assert_non_null(strstr(s.err.text, "bytes"));
    assert_int_equal(pgy_context_set_cache(s.context, "past.keys", "keys", m.past[0],
                                           sizeof m.past[0], 0, &s.err),
                     PGY_E_ARGUMENT);
    assert_int_equal(
        pgy_context_set_cache(s.context, "past", "keys", m.past[0], sizeof m.past[0], ROWS, &s.err),
        PGY_E_NOT_FOUND);
    assert_int_equal(step_in_place(&s, &m, 8, 1, 9), PGY_OK);
    close_setup(&s);
    open_setup(&s, attention(true), 1);
    assert_int_equal(pgy_context_set_output(s.context, "seen", seen, sizeof seen, NULL), PGY_OK);
    assert_int_equal(step_in_place(&s, &m, 8, 1, ROWS), PGY_E_UNSUPPORTED);
    assert_non_null(strstr(s.err.text, "'past.keys' cannot stay in place"));
    close_setup(&s);
    open_setup(&s, group_attention(PGY_F32), 1);
    assert_int_equal(step_in_place(&s, &m, 8, 1, 8), PGY_E_UNSUPPORTED);
    assert_int_equal(step_in_place(&s, &m, 8, 1, ROWS), PGY_OK);
    step_apart(&s, &m, 8, 1);
    assert_int_equal(pgy_context_set_output(s.context, "keys", m.past[0], sizeof m.past[0], NULL),
                     PGY_OK);
    assert_int_equal(pgy_context_execute(s.context, &s.err), PGY_E_ARGUMENT); /* no buffer */
    assert_non_null(strstr(s.err.text, "lies in the memory of input 'past.keys'"));
    close_setup(&s);
}
