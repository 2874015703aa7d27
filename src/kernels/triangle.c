/* SPDX-License-Identifier: Apache-2.0 */
/* Trilu of both domains and EyeLike: rows of which a part is copied, or one element set, and the
 * rest is cleared. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/kernel.h"

/* Diagonals further away are those at this distance. */
static const int64_t FURTHEST = INT64_C(1) << 48;
enum { SMALLEST_PART = 16384 };

typedef struct params {
    uint64_t lines, rows, columns; /* lines: rows of all matrices */
    int64_t diagonal;              /* of EyeLike */
    uint64_t one;                  /* the element that EyeLike sets */
    uint32_t item, upper, eye, inputs;
} params;

/* The bits of the number 1; false: the type has none. */
static bool triangle_one(uint64_t *out, pgy_dtype dtype)
{
    const float single = 1;
    const double wide = 1;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    *out = 1;
    if (dtype == PGY_F32)
        *out = bits;
    else if (dtype == PGY_BF16)
        *out = bits >> 16;
    else if (dtype == PGY_F16)
        *out = 0x3c00;
    else if (dtype == PGY_F64)
        memcpy(out, &wide, sizeof wide);
    else if (pgy_dtype_is_float(dtype))
        return false;
    return true;
}

static bool triangle_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *y = &u->outputs[0];
    const unsigned bits = pgy_dtype_describe(y->dtype)->bits;
    *p = (params){.eye = u->node->def->name[0] == 'E', .inputs = (uint32_t)u->input_count};
    if (y->dtype == PGY_STRING || bits % 8 || y->rank < 2 || !kernel_count(y)) return false;
    p->item = bits / 8;
    p->rows = (uint64_t)y->shape[y->rank - 2];
    p->columns = (uint64_t)y->shape[y->rank - 1];
    p->lines = kernel_count(y) / p->columns;
    if (p->eye) {
        const int64_t k = op_attr_int(u->node, "k", 0);
        p->diagonal = k < -FURTHEST ? -FURTHEST : k > FURTHEST ? FURTHEST : k;
        return p->item <= sizeof p->one && triangle_one(&p->one, y->dtype);
    }
    p->upper = op_attr_int(u->node, "upper", 1) != 0;
    const kernel_tensor *k = u->input_count > 1 ? &u->inputs[1] : NULL;
    return u->inputs[0].dtype == y->dtype &&
           (!k || !k->dtype || (k->dtype == PGY_I64 && k->rank <= 1 && kernel_count(k) == 1));
}

static bool triangle_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!triangle_describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    u->outputs[0].layout = KERNEL_LINEAR;
    *cost_ns = 100 + (double)p.lines * (10 + (double)(p.columns * p.item) / 20);
    return true;
}

static pgy_status triangle_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)triangle_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    if (!p->eye) out->in_place = 0;
    const uint64_t worth = p->lines * p->columns * p->item / SMALLEST_PART + 1;
    out->parts = (uint32_t)(worth < p->lines ? worth : p->lines);
    if (out->parts > 256) out->parts = 256;
    return PGY_OK;
}

static bool triangle_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p) return false;
    if (p->inputs != q->input_count || p->inputs < 1 || p->inputs > 2)
        return extent_refuse(e, "number of inputs");
    if (!p->item || p->item > 16 || !p->rows || !p->columns || p->rows > INT32_MAX ||
        p->columns > (uint64_t)FURTHEST || p->diagonal < -FURTHEST || p->diagonal > FURTHEST ||
        (p->eye && p->item > sizeof p->one))
        return extent_refuse(e, "sizes");
    const uint64_t count = extent_mul(p->lines, p->columns);
    if (!p->eye) extent_tensor(e, 0, count, p->item);
    if (!p->eye && extent_has(q, 1) && p->inputs == 2) extent_tensor(e, 1, 1, sizeof(int64_t));
    extent_tensor(e, p->inputs, count, p->item);
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

static uint64_t triangle_clamp(int64_t v, uint64_t most)
{
    return v < 0 ? 0 : (uint64_t)v > most ? most : (uint64_t)v;
}

static void triangle_line(const params *p, char *y, const char *x, int64_t diagonal)
{
    const uint64_t begin = p->upper ? triangle_clamp(diagonal, p->columns) : 0;
    const uint64_t end = p->upper ? p->columns : triangle_clamp(diagonal + 1, p->columns);
    memset(y, 0, begin * p->item);
    if (x != y) memcpy(y + begin * p->item, x + begin * p->item, (end - begin) * p->item);
    memset(y + end * p->item, 0, (p->columns - end) * p->item);
}

static void triangle_run(const kernel_run *r)
{
    const params *p = r->params;
    const size_t bytes = p->columns * p->item;
    const int64_t *given = p->inputs == 2 && !p->eye ? r->tensors[1] : NULL;
    int64_t k = given ? *given : p->diagonal;
    k = k < -FURTHEST ? -FURTHEST : k > FURTHEST ? FURTHEST : k;
    char *y = r->tensors[p->inputs];
    size_t from, to;
    kernel_share(&from, &to, p->lines, r->part, r->parts);
    if (p->eye && to > from) memset(y + from * bytes, 0, (to - from) * bytes);
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        const int64_t diagonal = (int64_t)(i % p->rows) + k;
        if (!p->eye)
            triangle_line(p, y + i * bytes, (const char *)r->tensors[0] + i * bytes, diagonal);
        else if (diagonal >= 0 && (uint64_t)diagonal < p->columns)
            memcpy(y + i * bytes + (uint64_t)diagonal * p->item, &p->one, p->item);
    }
}

const kernel KERNELS_triangle[] = {
    {.name = "triangle",
     .version = 1,
     .ops = "Trilu com.microsoft:Trilu EyeLike",
     .flags = KERNEL_TAKES_HALF,
     .accept = triangle_accept,
     .prepare = triangle_prepare,
     .run = triangle_run,
     .extent = triangle_extent},
    {0},
};
