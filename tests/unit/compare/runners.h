/* SPDX-License-Identifier: Apache-2.0 */
/* Runners made of functions, input data in memory, and the log, for tests of the driver. */
#ifndef TEST_RUNNERS_H
#define TEST_RUNNERS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <polygraphy/compare.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Log ------------------------------------------------------------------------------------ */

static char logged[1 << 18];
static size_t logged_size;

static void keep_line(pgy_severity severity, const char *text, size_t size, void *user)
{
    (void)severity, (void)user;
    if (logged_size + size >= sizeof logged) return;
    memcpy(logged + logged_size, text, size);
    logged_size += size;
    logged[logged_size] = '\0';
}

static inline void log_begin(void)
{
    logged_size = 0;
    logged[0] = '\0';
    pgy_log_set_sink(keep_line, NULL);
}

static inline int log_count(const char *needle)
{
    int n = 0;
    for (const char *p = logged; (p = strstr(p, needle)); p += strlen(needle)) n++;
    return n;
}

/* ---- Data ----------------------------------------------------------------------------------- */

static inline pgy_tensor *floats(size_t count, const float *values)
{
    pgy_tensor *t = NULL;
    assert_int_equal(pgy_tensor_create(&t, PGY_F32, 1, (int64_t[]){(int64_t)count}, NULL), PGY_OK);
    memcpy(pgy_tensor_data(t), values, count * sizeof *values);
    return t;
}

/* A loader of `count` iterations with one input x of three floats: i, i + 0.25, i + 0.5. */
static inline pgy_data_loader *loader_of(size_t count)
{
    pgy_data_loader *l = NULL;
    pgy_tensor_map *maps[16] = {NULL};
    assert_true(count <= 16);
    for (size_t i = 0; i < count; i++) {
        float v[] = {(float)i, (float)i + 0.25f, (float)i + 0.5f};
        assert_int_equal(pgy_tensor_map_create(&maps[i], NULL), PGY_OK);
        assert_int_equal(pgy_tensor_map_adopt(maps[i], "x", floats(3, v), NULL), PGY_OK);
    }
    assert_int_equal(pgy_list_loader_create(&l, (const pgy_tensor_map *const *)maps, count, NULL),
                     PGY_OK);
    for (size_t i = 0; i < count; i++) pgy_tensor_map_destroy(maps[i]);
    return l;
}

/* ---- Runners -------------------------------------------------------------------------------- */

typedef struct act {
    float add; /* y = x + add */
    bool nan;  /* y has a NaN when x[0] is nan_at */
    float nan_at;
    const char *output; /* NULL: "y" */
    const char *second; /* another output, equal to x */
    const char *error;  /* fails with this text */
    bool silent;        /* gives no outputs */
    bool abort;
    bool exit;
    int sleep_ms;
    int calls;
} act;
#define ACT(...) (&(act){__VA_ARGS__})

static void pause_ms(int ms);

static pgy_status add_floats(pgy_tensor_map *out, const char *name, const float *v, pgy_error *err)
{
    pgy_tensor *t = NULL;
    pgy_status st = pgy_tensor_create(&t, PGY_F32, 1, (int64_t[]){3}, err);
    if (st) return st;
    memcpy(pgy_tensor_data(t), v, 3 * sizeof *v);
    return pgy_tensor_map_adopt(out, name, t, err);
}

static pgy_status perform(const pgy_tensor_map *feed, pgy_tensor_map *out, void *user,
                          pgy_error *err)
{
    act *a = user;
    const float *x = pgy_tensor_data(pgy_tensor_map_find(feed, "x"));
    float y[3];
    a->calls++;
    if (a->error) return pgy_error_set(err, PGY_E_BACKEND, "%s", a->error);
    if (a->abort) abort();
    if (a->exit) _Exit(3);
    if (a->sleep_ms) pause_ms(a->sleep_ms);
    if (a->silent) return PGY_OK;
    for (int i = 0; i < 3; i++) y[i] = x[i] + a->add;
    if (a->nan && x[0] == a->nan_at) y[1] = NAN;
    pgy_status st = add_floats(out, a->output ? a->output : "y", y, err);
    if (!st && a->second) st = add_floats(out, a->second, x, err);
    return st;
}

static inline pgy_runner *runner_of(const char *name, act *a)
{
    pgy_runner *r = NULL;
    assert_int_equal(pgy_runner_create_callback(&r, name, NULL, perform, a, NULL), PGY_OK);
    return r;
}

static inline char *read_text(const char *path)
{
    static char text[1 << 18];
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    return text;
}

#endif
