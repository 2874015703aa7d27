/* SPDX-License-Identifier: Apache-2.0 */
/* The function `indices`, for outputs that list indices, as Top-K does: a value of the first output
 * may stand at most `tolerance` places away from where it stands in the second. Slices along the
 * last axis are compared one by one; a sorted copy of the second slice finds the first place of a
 * value. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/pytext.h"
#include "compare/arith.h"
#include "compare/compare.h"

static const char LOG_PATH[] = "comparator/compare.py";

/* An element. Floats and mixed types compare as float64. A 64-bit integer that float64 rounds is
 * then compared by the remainder, too, which the original ignores. */
typedef struct element {
    double real;
    int64_t integer; /* the value, or the rest of it that `real` cannot hold */
    pgy_string text;
    size_t place;
} element;

typedef enum element_kind {
    ELEMENT_REAL,
    ELEMENT_INTEGER,
    ELEMENT_UNSIGNED,
    ELEMENT_TEXT
} element_kind;

typedef struct indices_run {
    const compare_job *job;
    pgy_view a, b;
    element_kind kind;
    size_t length; /* number of elements in a slice */
    int64_t tolerance;
    element *wanted, *sorted;
    bool stop;
    pgy_dtype shown; /* type in which values are printed */
} indices_run;

static int order_by_value(const element *a, const element *b, element_kind kind)
{
    switch (kind) {
    case ELEMENT_INTEGER: return (a->integer > b->integer) - (a->integer < b->integer);
    case ELEMENT_UNSIGNED:
        return ((uint64_t)a->integer > (uint64_t)b->integer) -
               ((uint64_t)a->integer < (uint64_t)b->integer);
    case ELEMENT_REAL:
        if (a->real == b->real) return (a->integer > b->integer) - (a->integer < b->integer);
        return (a->real > b->real) - (a->real < b->real);
    case ELEMENT_TEXT: break;
    }
    size_t least = a->text.size < b->text.size ? a->text.size : b->text.size;
    int order = least ? memcmp(a->text.data, b->text.data, least) : 0;
    return order ? order : (a->text.size > b->text.size) - (a->text.size < b->text.size);
}

static int by_kind(const void *x, const void *y, element_kind kind)
{
    const element *a = x, *b = y;
    bool nan_a = kind == ELEMENT_REAL && a->real != a->real,
         nan_b = kind == ELEMENT_REAL && b->real != b->real;
    if (nan_a || nan_b)
        return nan_a != nan_b ? (nan_a ? 1 : -1) : (a->place > b->place) - (a->place < b->place);
    int order = order_by_value(a, b, kind);
    return order ? order : (a->place > b->place) - (a->place < b->place);
}

static int by_real(const void *x, const void *y)
{
    return by_kind(x, y, ELEMENT_REAL);
}

static int by_integer(const void *x, const void *y)
{
    return by_kind(x, y, ELEMENT_INTEGER);
}

static int by_unsigned(const void *x, const void *y)
{
    return by_kind(x, y, ELEMENT_UNSIGNED);
}

static int by_text(const void *x, const void *y)
{
    return by_kind(x, y, ELEMENT_TEXT);
}

static int (*const ORDERS[])(const void *, const void *) = {by_real, by_integer, by_unsigned,
                                                            by_text};

static element_kind choose_kind(pgy_dtype a, pgy_dtype b)
{
    if (a == PGY_STRING) return ELEMENT_TEXT;
    if (arith_work_type(a) == WORK_I64 && arith_work_type(b) == WORK_I64) return ELEMENT_INTEGER;
    return a == PGY_U64 && b == PGY_U64 ? ELEMENT_UNSIGNED : ELEMENT_REAL;
}

static int64_t left_over(double real, pgy_dtype dtype, const void *data, size_t at)
{
    if (dtype == PGY_I64) return (int64_t)(((const int64_t *)data)[at] - (__int128)real);
    if (dtype == PGY_U64) return (int64_t)(((const uint64_t *)data)[at] - (__int128)real);
    return 0;
}

static void read_real(element *to, const indices_run *run, pgy_view v, size_t at)
{
    const void *data = pgy_view_data(v);
    arith_widen(WORK_F64, &to->real, v.dtype, data, at, 1);
    to->integer = run->job->compat ? 0 : left_over(to->real, v.dtype, data, at);
}

static void read_slice(element *to, const indices_run *run, pgy_view v, size_t slice)
{
    const void *data = pgy_view_data(v);
    for (size_t i = 0; i < run->length; i++) {
        size_t at = slice * run->length + i;
        to[i].place = i;
        if (run->kind == ELEMENT_TEXT)
            to[i].text = ((const pgy_string *)data)[at];
        else if (run->kind == ELEMENT_REAL)
            read_real(&to[i], run, v, at);
        else
            arith_widen(run->kind == ELEMENT_INTEGER ? WORK_I64 : WORK_U64, &to[i].integer, v.dtype,
                        data, at, 1);
    }
}

/* Finds the first place of a value in the second slice. False: the slice does not have it. */
static bool find_place(size_t *place, const indices_run *run, const element *wanted)
{
    size_t low = 0, high = run->length;
    if (run->kind == ELEMENT_REAL && wanted->real != wanted->real) return false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        element probe = *wanted;
        probe.place = 0;
        if (by_kind(&run->sorted[middle], &probe, run->kind) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == run->length || order_by_value(&run->sorted[low], wanted, run->kind) != 0)
        return false;
    if (run->kind == ELEMENT_REAL && run->sorted[low].real != wanted->real) return false;
    *place = run->sorted[low].place;
    return true;
}

/* Writes an integer in the range of int64 or uint64. */
static void write_whole(char *out, size_t size, const element *e)
{
    __int128 v = (__int128)e->real + e->integer;
    if (v < 0)
        snprintf(out, size, "%lld", (long long)v);
    else
        snprintf(out, size, "%llu", (unsigned long long)v);
}

static void log_not_found(const indices_run *run, const element *e)
{
    char number[32];
    str text = {0};
    switch (run->kind) {
    case ELEMENT_TEXT: str_append_n(&text, e->text.data, e->text.size); break;
    case ELEMENT_UNSIGNED: str_printf(&text, "%llu", (unsigned long long)e->integer); break;
    case ELEMENT_INTEGER:
        if (run->shown == PGY_BOOL)
            str_append(&text, e->integer ? "True" : "False");
        else
            str_printf(&text, "%lld", (long long)e->integer);
        break;
    case ELEMENT_REAL:
        if (pgy_dtype_is_integer(run->shown))
            write_whole(number, sizeof number, e);
        else
            py_double_repr(number, e->real);
        str_append(&text, number);
    }
    LOG(ERROR, "FAILED | Value: %s not found in output", str_text(&text));
    str_deinit(&text);
}

static bool same_value(element_kind kind, const element *a, const element *b)
{
    bool nan = kind == ELEMENT_REAL && (a->real != a->real || b->real != b->real);
    return !nan && order_by_value(a, b, kind) == 0;
}

static void order_slice(const indices_run *run, const element *slice)
{
    memcpy(run->sorted, slice, run->length * sizeof *slice);
    qsort(run->sorted, run->length, sizeof *slice, ORDERS[run->kind]);
}

static bool compare_slice(const indices_run *run, size_t slice)
{
    element *first = run->wanted, *second = run->wanted + run->length;
    size_t drop = run->tolerance > 0 ? (size_t)run->tolerance : 0;
    size_t last = run->length > drop ? run->length - drop : 0;
    bool passed = true;
    read_slice(first, run, run->a, slice);
    read_slice(second, run, run->b, slice);
    bool ordered = false;
    for (size_t i = 0; i < last && (passed || !run->stop); i++) {
        size_t place;
        if (same_value(run->kind, &first[i], &second[i])) continue;
        if (!ordered) order_slice(run, second);
        ordered = true;
        if (!find_place(&place, run, &first[i])) {
            log_not_found(run, &first[i]);
            passed = false;
            continue;
        }
        int64_t away = (int64_t)place - (int64_t)i;
        if ((away < 0 ? -away : away) <= run->tolerance) continue;
        LOG(ERROR, "FAILED | Difference exceeds index tolerance (%lld)", (long long)run->tolerance);
        passed = false;
    }
    return passed;
}

static pgy_status compare_slices(pgy_verdict *v, indices_run *run, pgy_error *err)
{
    size_t count = pgy_view_count(run->a);
    run->length = (size_t)run->a.shape[run->a.rank - 1];
    run->wanted = mem_calloc(2 * run->length + 1, sizeof *run->wanted);
    run->sorted = mem_calloc(run->length + 1, sizeof *run->sorted);
    if (!run->wanted || !run->sorted)
        return pgy_error_set(err, PGY_E_MEMORY,
                             "out of memory while comparing indices of %zu elements", count);
    v->passed = true;
    for (size_t i = 0; run->length && i < count / run->length && (v->passed || !run->stop); i++)
        v->passed &= compare_slice(run, i);
    if (v->passed)
        LOG(FINISH, "PASSED | Difference is within index tolerance (%lld)",
            (long long)run->tolerance);
    return PGY_OK;
}

pgy_status indices_compare(pgy_verdict *v, const compare_job *job, pgy_error *err)
{
    const pgy_compare_options *o = &job->compare->options;
    indices_run run = {.job = job, .stop = o->fail_fast};
    pgy_tensor *a = NULL, *b = NULL;
    pgy_status st = PGY_OK;
    v->verified = true;
    run.tolerance = compare_number(&o->threshold, job->a.output, job_partner(job),
                                   (pgy_number){.is_integer = true})
                        .integer;
    if (!pgy_view_same_shape(pgy_tensor_view(job->a.tensor), pgy_tensor_view(job->b.tensor))) {
        LOG(ERROR, "Cannot compare outputs of different shapes.");
        return PGY_OK;
    }
    if (pgy_tensor_rank(job->a.tensor) == 0) {
        LOG(ERROR, "FAILED | Output: '%s' | A scalar has no axis of indices", job->a.output);
        return PGY_OK;
    }
    if ((pgy_tensor_dtype(job->a.tensor) == PGY_STRING) !=
        (pgy_tensor_dtype(job->b.tensor) == PGY_STRING)) {
        LOG(ERROR, "FAILED | Output: '%s' | Cannot compare strings with numbers", job->a.output);
        return PGY_OK;
    }
    st = arith_compact(&a, job->a.tensor, err);
    if (!st) st = arith_compact(&b, job->b.tensor, err);
    if (st) goto done;
    run.a = pgy_tensor_view(a);
    run.b = pgy_tensor_view(b);
    run.kind = choose_kind(run.a.dtype, run.b.dtype);
    run.shown = run.a.dtype;
    st = compare_slices(v, &run, err);
done:
    mem_free(run.wanted);
    mem_free(run.sorted);
    pgy_tensor_release(a);
    pgy_tensor_release(b);
    return st;
}
