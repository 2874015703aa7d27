/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the axes of a sweep: "batch=1,2,4,8", "seq=64:1024:x2", "image:0=1:8". */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/printable.h"
#include "perf/bench_sweep.h"

typedef struct axis_reader {
    const char *p;    /* next character */
    const char *word; /* for errors */
} axis_reader;

static pgy_status refuse(const axis_reader *r, const char *why, pgy_error *err)
{
    return pgy_error_set(err, PGY_E_ARGUMENT,
                         "bench.sweep: '%s': %s; expected NAME=SIZES, such as batch=1,2,4 or "
                         "seq=64:1024:x2",
                         printable_name(r->word), why);
}

/* ---- Axes ------------------------------------------------------------------------------------ */

void pgy_bench_axes_destroy(pgy_bench_axes *a)
{
    if (!a) return;
    for (size_t i = 0; i < a->count; i++) {
        mem_free(a->items[i].name);
        mem_free(a->items[i].sizes);
    }
    mem_free(a);
}

size_t pgy_bench_axes_count(const pgy_bench_axes *a)
{
    return a->count;
}

const char *pgy_bench_axes_name(const pgy_bench_axes *a, size_t axis)
{
    return a->items[axis].name;
}

size_t pgy_bench_axes_size_count(const pgy_bench_axes *a, size_t axis)
{
    return a->items[axis].count;
}

int64_t pgy_bench_axes_size(const pgy_bench_axes *a, size_t axis, size_t i)
{
    return a->items[axis].sizes[i];
}

size_t bench_axes_points(const pgy_bench_axes *a)
{
    size_t points = 1;
    for (size_t i = 0; i < a->count; i++) points *= a->items[i].count;
    return points;
}

int64_t bench_axes_at(const pgy_bench_axes *a, size_t point, size_t axis)
{
    for (size_t i = a->count; --i > axis;) point /= a->items[i].count;
    return a->items[axis].sizes[point % a->items[axis].count];
}

static pgy_status check_sizes(const char *name, const int64_t *sizes, size_t count, pgy_error *err)
{
    if (!count)
        return pgy_error_set(err, PGY_E_ARGUMENT, "bench.sweep: '%s' has no sizes",
                             printable_name(name));
    for (size_t i = 0; i < count; i++) {
        if (sizes[i] < 1 || sizes[i] > INT32_MAX)
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "bench.sweep: '%s' has the size %" PRId64
                                 "; expected 1 to 2147483647",
                                 printable_name(name), sizes[i]);
        for (size_t k = 0; k < i; k++)
            if (sizes[k] == sizes[i])
                return pgy_error_set(err, PGY_E_ARGUMENT,
                                     "bench.sweep: '%s' has the size %" PRId64 " twice",
                                     printable_name(name), sizes[i]);
    }
    return PGY_OK;
}

static pgy_status check_place(const pgy_bench_axes *a, const char *name, size_t count,
                              pgy_error *err)
{
    const size_t points = bench_axes_points(a);
    if (a->count == BENCH_AXES)
        return pgy_error_set(err, PGY_E_ARGUMENT, "bench.sweep: more than %d axes", BENCH_AXES);
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->items[i].name, name) == 0)
            return pgy_error_set(err, PGY_E_ARGUMENT, "bench.sweep: '%s' is given twice",
                                 printable_name(name));
    if (count > BENCH_POINTS / points)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "bench.sweep: more than %d points; leave out some sizes of '%s'",
                             BENCH_POINTS, printable_name(name));
    return PGY_OK;
}

pgy_status bench_axes_add(pgy_bench_axes *a, const char *name, size_t name_size,
                          const int64_t *sizes, size_t count, pgy_error *err)
{
    bench_axis axis = {.name = mem_strndup(name, name_size), .count = count};
    axis.sizes = mem_calloc(count + 1, sizeof *axis.sizes);
    pgy_status st =
        axis.name && axis.sizes ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!st) st = check_sizes(axis.name, sizes, count, err);
    if (!st) st = check_place(a, axis.name, count, err);
    if (st) {
        mem_free(axis.name);
        mem_free(axis.sizes);
        return st;
    }
    memcpy(axis.sizes, sizes, count * sizeof *sizes);
    a->items[a->count++] = axis;
    return PGY_OK;
}

pgy_status bench_axes_copy(pgy_bench_axes **out, const pgy_bench_axes *a, pgy_error *err)
{
    pgy_bench_axes *copy = mem_calloc(1, sizeof *copy);
    pgy_status st = copy ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; !st && a && i < a->count; i++) {
        const bench_axis *x = &a->items[i];
        st = bench_axes_add(copy, x->name, strlen(x->name), x->sizes, x->count, err);
    }
    if (st)
        pgy_bench_axes_destroy(copy);
    else
        *out = copy;
    return st;
}

/* ---- Sizes ----------------------------------------------------------------------------------- */

static bool read_integer(int64_t *out, axis_reader *r)
{
    const char *begin = r->p;
    int64_t v = 0;
    for (; *r->p >= '0' && *r->p <= '9'; r->p++) {
        v = 10 * v + (*r->p - '0');
        if (v > INT32_MAX) return false;
    }
    *out = v;
    return r->p > begin;
}

static bool skip(axis_reader *r, char c)
{
    if (*r->p != c) return false;
    r->p++;
    return true;
}

static pgy_status push(bench_axis *to, int64_t size, const axis_reader *r, pgy_error *err)
{
    if (to->count == BENCH_POINTS) return refuse(r, "more than 1000 sizes", err);
    if (!mem_grow((void **)&to->sizes, &to->capacity, to->count + 1, sizeof *to->sizes))
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    to->sizes[to->count++] = size;
    return PGY_OK;
}

/* SIZE, LOW:HIGH, LOW:HIGH:STEP or LOW:HIGH:xFACTOR */
static pgy_status read_sizes(bench_axis *to, axis_reader *r, pgy_error *err)
{
    int64_t low, high, step = 1;
    bool factor = false;
    if (!read_integer(&low, r)) return refuse(r, "a size is not a number up to 2147483647", err);
    high = low;
    if (skip(r, ':')) {
        if (!read_integer(&high, r))
            return refuse(r, "the end of a range is not a number up to 2147483647", err);
        if (skip(r, ':')) {
            factor = skip(r, 'x');
            if (!read_integer(&step, r))
                return refuse(r, "the step of a range is not a number up to 2147483647", err);
        }
    }
    if (high < low) return refuse(r, "a range ends below its begin", err);
    if (factor ? step < 2 || low < 1 : step < 1)
        return refuse(r,
                      factor ? "a factor must be at least 2, and its range begin at 1 or more"
                             : "a step must be at least 1",
                      err);
    pgy_status st = PGY_OK;
    for (int64_t v = low; !st && v <= high; v = factor ? v * step : v + step)
        st = push(to, v, r, err);
    return st;
}

static pgy_status read_word(pgy_bench_axes *a, const char *word, pgy_error *err)
{
    axis_reader r = {.word = word};
    bench_axis sizes = {0};
    const char *equals = strrchr(word, '=');
    if (!equals || equals == word) return refuse(&r, "it has no '=' behind a name", err);
    r.p = equals + 1;
    pgy_status st = read_sizes(&sizes, &r, err);
    while (!st && skip(&r, ',')) st = read_sizes(&sizes, &r, err);
    if (!st && *r.p) st = refuse(&r, "something follows the last size", err);
    if (!st) st = bench_axes_add(a, word, (size_t)(equals - word), sizes.sizes, sizes.count, err);
    mem_free(sizes.sizes);
    return st;
}

pgy_status pgy_bench_axes_parse(pgy_bench_axes **out, const char *const *words, size_t count,
                                pgy_error *err)
{
    pgy_bench_axes *a = mem_calloc(1, sizeof *a);
    pgy_status st = a ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!st && !count) st = pgy_error_set(err, PGY_E_ARGUMENT, "bench.sweep: there is no axis");
    for (size_t i = 0; !st && i < count; i++) st = read_word(a, words[i], err);
    if (st)
        pgy_bench_axes_destroy(a);
    else
        *out = a;
    return st;
}
