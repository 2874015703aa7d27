/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether two tensors differ. */
#include <polygraphy/noise.h>

#include <math.h>
#include <string.h>

#include "base/cancel.h"
#include "tensor/convert.h"
#include "where/where.h"

enum { BLOCK = 1 << 16 };

/* The multiple of the floor that passes: no correct run of docs/where_noise.md exceeds it. */
#define FLOOR_TIMES 3.0

/* Errors that rounding in a type causes in layers of usual size, with a reserve. */
static const struct {
    pgy_dtype dtype;
    double rtol, own, twins; /* own: of one node, where nothing accumulates */
} DEFAULTS[] = {{PGY_F64, 1e-9, 1e-10, 1e-11},
                {PGY_F32, 1e-4, 1e-5, 2e-6},
                {PGY_F16, 5e-3, 5e-3, 5e-3},
                {PGY_BF16, 4e-2, 4e-2, 4e-2}};

static double default_rtol(pgy_dtype dtype, const where_terms *terms)
{
    for (size_t i = 0; i < sizeof DEFAULTS / sizeof *DEFAULTS; i++)
        if (DEFAULTS[i].dtype == dtype)
            return terms->twins ? DEFAULTS[i].twins
                   : terms->own ? DEFAULTS[i].own
                                : DEFAULTS[i].rtol;
    return pgy_dtype_is_float(dtype) ? 0.25 : 0;
}

typedef struct figures {
    double largest, difference;
    pgy_where_element worst[WHERE_MAX_WORST]; /* the largest difference first */
    double differences[WHERE_MAX_WORST];
    size_t count, most;
    double least; /* difference that an element must exceed to be kept */
    size_t nans;
} figures;

static void keep(figures *f, double difference, double a, double b, uint64_t i)
{
    size_t at = f->count < f->most ? f->count++ : f->most - 1;
    for (; at && f->differences[at - 1] < difference; at--) {
        f->worst[at] = f->worst[at - 1];
        f->differences[at] = f->differences[at - 1];
    }
    f->worst[at] = (pgy_where_element){i, a, b};
    f->differences[at] = difference;
    if (f->count == f->most) f->least = f->differences[f->most - 1];
}

static inline void take(figures *f, double a, double b, uint64_t i)
{
    const double size = fabs(a);
    if (isnan(a) || isnan(b)) {
        f->nans++;
        if (f->least < INFINITY) keep(f, INFINITY, a, b, i);
        return;
    }
    if (size > f->largest && !isinf(size)) f->largest = size;
    const double difference = a == b ? 0 : fabs(a - b);
    if (difference > f->difference) f->difference = difference;
    if (difference > f->least) keep(f, difference, a, b, i);
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

/* The verdict follows from the largest magnitude and difference. */
static void conclude(where_verdict *v)
{
    v->scale = v->largest > 0 ? v->largest : 1;
    v->error = v->nans ? INFINITY : v->difference / v->scale;
    v->allowed = v->rtol + v->atol / v->scale;
    v->differs = v->nans || !(v->error <= v->allowed);
}

static pgy_status judge_tolerance(where_verdict *out, const where_terms *terms, pgy_tensor *a,
                                  pgy_tensor *b, pgy_error *err)
{
    const pgy_where_options *o = terms->options;
    const size_t wanted = o->worst_count ? o->worst_count : WHERE_WORST;
    figures f = {.most = wanted < WHERE_MAX_WORST ? wanted : WHERE_MAX_WORST};
    const size_t count = pgy_tensor_count(a);
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < count; i += BLOCK) {
        take_block(&f, a, b, i, count - i < BLOCK ? count : i + BLOCK);
        st = cancel_check(err);
    }
    if (st) return st;
    /* the coarser of the two types sets what is allowed */
    const double ra = default_rtol(pgy_tensor_dtype(a), terms);
    const double rb = default_rtol(pgy_tensor_dtype(b), terms);
    const double rtol = isnan(o->rtol) ? (ra > rb ? ra : rb) : o->rtol;
    const double atol = isnan(o->atol) ? 0 : o->atol;
    *out = (where_verdict){.largest = f.largest,
                           .difference = f.difference,
                           .rtol = rtol,
                           .atol = atol,
                           .worst_count = f.count,
                           .nans = f.nans,
                           .times = NAN};
    memcpy(out->worst, f.worst, sizeof f.worst);
    conclude(out);
    return PGY_OK;
}

static double distance(const pgy_where_element *e)
{
    const double d = e->a == e->b ? 0 : fabs(e->a - e->b);
    return isnan(d) ? INFINITY : d;
}

/* Keeps the worst elements of both, the largest difference first. */
static void add_worst(where_verdict *io, const where_verdict *slice, uint64_t first, size_t most)
{
    for (size_t i = 0; i < slice->worst_count; i++) {
        pgy_where_element e = slice->worst[i];
        size_t at = io->worst_count;
        e.index += first;
        while (at && distance(&io->worst[at - 1]) < distance(&e)) at--;
        if (at == most) continue;
        if (io->worst_count < most) io->worst_count++;
        for (size_t k = io->worst_count - 1; k > at; k--) io->worst[k] = io->worst[k - 1];
        io->worst[at] = e;
    }
}

void where_verdict_add(where_verdict *io, const where_verdict *slice, uint64_t first,
                       size_t worst_count)
{
    if (slice->largest > io->largest) io->largest = slice->largest;
    if (slice->difference > io->difference) io->difference = slice->difference;
    io->rtol = slice->rtol;
    io->atol = slice->atol;
    io->nans += slice->nans;
    io->times = NAN;
    add_worst(io, slice, first, worst_count);
    conclude(io);
}

/* A tensor may differ by a multiple of its floor. NaN is never noise. */
static pgy_status judge_floor(where_verdict *out, const where_terms *terms, pgy_tensor *a,
                              pgy_tensor *b, pgy_error *err)
{
    const pgy_floor_tensor *t = terms->floor ? pgy_floor_find(terms->floor, terms->name) : NULL;
    const double limit =
        isnan(terms->options->floor_times) ? FLOOR_TIMES : terms->options->floor_times;
    pgy_floor_verdict v;
    pgy_status st = judge_tolerance(out, terms, a, b, err);
    if (st || !t || t->unknown_why) return st;
    st =
        pgy_floor_judge(&v, terms->floor, terms->name, pgy_tensor_view(a), pgy_tensor_view(b), err);
    if (st) return st;
    /* the scale of errors is the reference's largest magnitude, as in judge_tolerance */
    out->allowed = out->scale > 0 ? limit * t->max_abs / out->scale : INFINITY;
    out->times = v.times;
    out->floor_dtype = t->dtype;
    out->differs = out->nans || v.times > limit;
    return PGY_OK;
}

static const where_judge JUDGES[] = {{.name = "tolerance", .judge = judge_tolerance},
                                     {.name = "floor", .needs_floor = true, .judge = judge_floor}};

void where_judge_list(str *out)
{
    const size_t count = sizeof JUDGES / sizeof *JUDGES;
    for (size_t i = 0; i < count; i++)
        str_printf(out, "%s'%s'", !i ? "" : i + 1 < count ? ", " : " or ", JUDGES[i].name);
}

const where_judge *where_judge_find(const char *name)
{
    if (!name) return JUDGES;
    for (size_t i = 0; i < sizeof JUDGES / sizeof *JUDGES; i++)
        if (!strcmp(JUDGES[i].name, name)) return &JUDGES[i];
    return NULL;
}
