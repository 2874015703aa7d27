/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether two tensors differ. */
#include <math.h>
#include <string.h>

#include "base/cancel.h"
#include "tensor/convert.h"
#include "where/where.h"

enum { BLOCK = 1 << 16 };

/* Errors that rounding in a type causes in layers of usual size, with a reserve. */
static const struct {
    pgy_dtype dtype;
    double rtol, own; /* own: of one node, where nothing accumulates */
} DEFAULTS[] = {
    {PGY_F64, 1e-9, 1e-10}, {PGY_F32, 1e-4, 1e-5}, {PGY_F16, 5e-3, 5e-3}, {PGY_BF16, 4e-2, 4e-2}};

static double default_rtol(pgy_dtype dtype, bool own)
{
    for (size_t i = 0; i < sizeof DEFAULTS / sizeof *DEFAULTS; i++)
        if (DEFAULTS[i].dtype == dtype) return own ? DEFAULTS[i].own : DEFAULTS[i].rtol;
    return pgy_dtype_is_float(dtype) ? 0.25 : 0;
}

typedef struct figures {
    double largest, difference;
    uint64_t worst;
    double worst_a, worst_b;
    size_t nans;
} figures;

static inline void take(figures *f, double a, double b, uint64_t i)
{
    const double size = fabs(a);
    if (isnan(a) || isnan(b)) {
        if (!f->nans++) f->worst = i, f->worst_a = a, f->worst_b = b;
        return;
    }
    if (size > f->largest && !isinf(size)) f->largest = size;
    const double difference = a == b ? 0 : fabs(a - b);
    if (difference <= f->difference) return;
    f->difference = difference;
    if (!f->nans) f->worst = i, f->worst_a = a, f->worst_b = b;
}

static void take_block(figures *f, pgy_tensor *a, pgy_tensor *b, size_t first, size_t end)
{
    const pgy_dtype ta = pgy_tensor_dtype(a), tb = pgy_tensor_dtype(b);
    const void *da = pgy_tensor_data(a), *db = pgy_tensor_data(b);
    if (ta == PGY_F32 && tb == PGY_F32) {
        const float *x = da, *y = db;
        for (size_t i = first; i < end; i++) take(f, x[i], y[i], i);
    } else if (!pgy_dtype_is_float(ta) && !pgy_dtype_is_float(tb)) {
        for (size_t i = first; i < end; i++) {
            const int64_t x = element_as_i64(ta, da, i), y = element_as_i64(tb, db, i);
            /* integers that are equal only as doubles still differ */
            const bool hidden = x != y && (double)x == (double)y;
            take(f, (double)x, hidden ? nextafter((double)x, INFINITY) : (double)y, i);
        }
    } else {
        for (size_t i = first; i < end; i++)
            take(f, element_as_f64(ta, da, i), element_as_f64(tb, db, i), i);
    }
}

static pgy_status judge_tolerance(where_verdict *out, const pgy_where_options *o, bool own,
                                  pgy_tensor *a, pgy_tensor *b, pgy_error *err)
{
    figures f = {0};
    const size_t count = pgy_tensor_count(a);
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < count; i += BLOCK) {
        take_block(&f, a, b, i, count - i < BLOCK ? count : i + BLOCK);
        st = cancel_check(err);
    }
    if (st) return st;
    /* the coarser of the two types sets what is allowed */
    const double ra = default_rtol(pgy_tensor_dtype(a), own);
    const double rb = default_rtol(pgy_tensor_dtype(b), own);
    const double rtol = isnan(o->rtol) ? (ra > rb ? ra : rb) : o->rtol;
    const double atol = isnan(o->atol) ? 0 : o->atol;
    const double unit = f.largest > 0 ? f.largest : 1;
    *out = (where_verdict){.error = f.nans ? INFINITY : f.difference / unit,
                           .allowed = rtol + atol / unit,
                           .worst = f.worst,
                           .worst_a = f.worst_a,
                           .worst_b = f.worst_b,
                           .nans = f.nans};
    out->differs = f.nans || !(out->error <= out->allowed);
    return PGY_OK;
}

static const where_judge JUDGES[] = {{"tolerance", judge_tolerance}};

const where_judge *where_judge_find(const char *name)
{
    if (!name) return JUDGES;
    for (size_t i = 0; i < sizeof JUDGES / sizeof *JUDGES; i++)
        if (!strcmp(JUDGES[i].name, name)) return &JUDGES[i];
    return NULL;
}
