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
static pgy_model *group_attention(void)
{
    model_builder b = builder_start(18);
    builder_opset(&b, "com.microsoft", 1);
    builder_ints(&b, "joined", "3", (const int64_t[]){0, 0, HEADS * SIZE});
    builder_ints(&b, "two", "1", (const int64_t[]){2});
    builder_ints(&b, "one", "1", NULL);
    builder_input(&b, "q", PGY_F32, "2, 3, rows, 8");
    builder_input(&b, "k", PGY_F32, "2, 3, rows, 8");
    builder_input(&b, "v", PGY_F32, "2, 3, rows, 8");
    builder_input(&b, "past.keys", PGY_F32, "2, 3, past, 8");
    builder_input(&b, "past.values", PGY_F32, "2, 3, past, 8");
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
    builder_output(&b, "y", PGY_F32, NULL);
    builder_output(&b, "keys", PGY_F32, "2, 3, total, 8");
    builder_output(&b, "values", PGY_F32, "2, 3, total, 8");
    return builder_finish(&b);
}

typedef struct setup {
    pgy_engine *engine;
    pgy_context *context;
    pgy_error err;
} setup;

static void open_setup(setup *s, pgy_model *model, size_t threads)
{
    const pgy_context_options o = {.size = sizeof o, .threads = threads};
    *s = (setup){0};
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
        set_rows(s, NAMES[i], rows);
        assert_int_equal(
            pgy_context_set_input(s->context, NAMES[i], m->in[i], count * sizeof(float), &s->err),
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
    const size_t bytes = sizeof m->past[0];
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
    const size_t bytes = sizeof m->past[0];
    set_fresh(s, m, past, rows);
    assert_int_equal(
        pgy_context_set_cache(c, "past.keys", "keys", m->past[0], bytes, room, &s->err), PGY_OK);
    assert_int_equal(
        pgy_context_set_cache(c, "past.values", "values", m->past[1], bytes, room, &s->err),
        PGY_OK);
    return pgy_context_execute(c, &s->err);
}

/* Rows of the buffer equal those of a compact cache, and all behind them is as it was. */
static void expect_rows(const float *buffer, const float *cache, int64_t rows)
{
    for (int head = 0; head < BATCH * HEADS; head++) {
        const float *kept = buffer + head * HEAD;
        assert_memory_equal(kept, cache + head * rows * SIZE, (size_t)rows * SIZE * sizeof *kept);
        for (int64_t i = rows * SIZE; i < HEAD; i++) assert_true(kept[i] == 77);
    }
}

/* `group`: of GroupQueryAttention. */
static void expect_same(bool group)
{
    static memory a, b;
    for (size_t threads = 1; threads < 4; threads += 2) {
        setup x, y;
        open_setup(&x, group ? group_attention() : attention(false), threads);
        open_setup(&y, group ? group_attention() : attention(false), threads);
        a = b = (memory){0};
        for (size_t i = 0; i < BATCH * HEADS * HEAD; i++) b.past[0][i] = b.past[1][i] = 77;
        for (int64_t past = 0, rows = 4; past + rows <= ROWS; past += rows, rows = 1) {
            step_apart(&x, &a, past, rows);
            if (step_in_place(&y, &b, past, rows, ROWS)) fail_msg("%s", y.err.text);
            assert_memory_equal(a.y, b.y, (size_t)(BATCH * HEADS * rows * SIZE) * sizeof(float));
            for (int i = 0; i < 2; i++) expect_rows(b.past[i], a.present[i], past + rows);
        }
        /* The same program without buffers: what was set is gone. */
        for (int i = 0; i < 2; i++)
            for (int head = 0; head < BATCH * HEADS; head++)
                memcpy(b.present[i] + head * (ROWS - 1) * SIZE, b.past[i] + head * HEAD,
                       (ROWS - 1) * SIZE * sizeof(float));
        step_apart(&y, &b, ROWS - 1, 1);
        assert_memory_equal(a.present, b.present, sizeof a.present);
        close_setup(&x);
        close_setup(&y);
    }
}

static void test_caches__rows_are_added_to_a_buffer(void **state)
{
    (void)state;
    expect_same(false);
    expect_same(true);
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
    open_setup(&s, group_attention(), 1);
    assert_int_equal(step_in_place(&s, &m, 8, 1, 8), PGY_E_UNSUPPORTED);
    assert_int_equal(step_in_place(&s, &m, 8, 1, ROWS), PGY_OK);
    step_apart(&s, &m, 8, 1);
    assert_int_equal(pgy_context_set_output(s.context, "keys", m.past[0], sizeof m.past[0], NULL),
                     PGY_OK);
    assert_int_equal(pgy_context_execute(s.context, &s.err), PGY_E_ARGUMENT); /* no buffer */
    assert_non_null(strstr(s.err.text, "lies in the memory of input 'past.keys'"));
    close_setup(&s);
}
