/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of elementwise.def, which name the loop for each operator and type, and the functions that
 * read an operator's parameters. */
#include "kernels/elementwise_rows.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "tensor/convert.h"

typedef elementwise_params params;

/* ---- Parameters ----------------------------------------------------------------------------- */

static bool args_none(params *p, const kernel_problem *u)
{
    (void)p;
    (void)u;
    return true;
}

static bool args_alpha(params *p, const kernel_problem *u)
{
    p->args[0] = (float)op_attr_float(u->node, "alpha", 1);
    return true;
}

static bool args_swish(params *p, const kernel_problem *u)
{
    return args_alpha(p, u);
}

static bool args_alpha_beta(params *p, const kernel_problem *u)
{
    p->args[1] = (float)op_attr_float(u->node, "beta", 0.5);
    return args_alpha(p, u);
}

static bool args_selu(params *p, const kernel_problem *u)
{
    p->args[1] = (float)op_attr_float(u->node, "gamma", 1);
    return args_alpha(p, u);
}

static bool args_shrink(params *p, const kernel_problem *u)
{
    p->args[0] = (float)op_attr_float(u->node, "lambd", 0.5);
    p->args[1] = (float)op_attr_float(u->node, "bias", 0);
    return true;
}

static bool args_gelu_exact(params *p, const kernel_problem *u)
{
    (void)p;
    return *u->node->def->domain || op_attr_is(u->node, "approximate", "none", "none");
}

static bool args_is_inf(params *p, const kernel_problem *u)
{
    p->args[0] = op_attr_int(u->node, "detect_positive", 1) != 0;
    p->args[1] = op_attr_int(u->node, "detect_negative", 1) != 0;
    return true;
}

static bool args_fmod(params *p, const kernel_problem *u)
{
    (void)p;
    return op_attr_int(u->node, "fmod", 0) != 0;
}

static bool args_floored(params *p, const kernel_problem *u)
{
    return !args_fmod(p, u);
}

static bool args_fold(params *p, const kernel_problem *u)
{
    p->fold = u->input_count != 2;
    p->last = strcmp(u->node->def->name, "Mean") ? 1 : (float)u->input_count;
    if (p->last != 1) p->fold = 1;
    return true;
}

/* Reads a tensor that is one constant number. */
static bool constant(double *out, const kernel_tensor *t)
{
    if (!t->data || kernel_count(t) != 1) return false;
    if (!pgy_dtype_is_float(t->dtype) && !pgy_dtype_is_integer(t->dtype)) return false;
    *out = pgy_dtype_is_float(t->dtype) ? element_as_f64(t->dtype, t->data, 0)
                                        : (double)element_as_i64(t->dtype, t->data, 0);
    return true;
}

static bool args_clip(params *p, const kernel_problem *u)
{
    double limits[] = {-INFINITY, INFINITY};
    if (u->node->opset < 11) {
        limits[0] = op_attr_float(u->node, "min", -INFINITY);
        limits[1] = op_attr_float(u->node, "max", INFINITY);
    }
    for (size_t i = 1; i < u->input_count; i++)
        if (u->inputs[i].dtype && !constant(&limits[i - 1], &u->inputs[i])) return false;
    if (isnan(limits[0]) || isnan(limits[1])) return false;
    p->args[0] = (float)(limits[0] > limits[1] ? limits[1] : limits[0]);
    p->args[1] = (float)limits[1];
    p->w.operands = 1;
    return true;
}

/* Limits of integers that a float can hold exactly. */
static bool args_clip_whole(params *p, const kernel_problem *u)
{
    return u->node->opset >= 12 && args_clip(p, u);
}

/* Limits up to 2^24, which a float can hold exactly. */
static bool args_clip_small(params *p, const kernel_problem *u)
{
    if (!args_clip_whole(p, u)) return false;
    for (size_t i = 1; i < u->input_count; i++) {
        double limit;
        if (u->inputs[i].dtype && constant(&limit, &u->inputs[i]) && fabs(limit) > 0x1p24)
            return false;
    }
    return true;
}

/* Accepts exponents that need only a few multiplications, a quotient or a root. */
static bool args_power(params *p, const kernel_problem *u)
{
    double exponent;
    if (!constant(&exponent, &u->inputs[1])) return false;
    if (exponent != 1 && exponent != 2 && exponent != 3 && exponent != -1 && exponent != 0.5)
        return false;
    if (kernel_count(&u->inputs[0]) != kernel_count(&u->outputs[0])) return false;
    p->args[0] = (float)exponent;
    p->w.operands = 1;
    return true;
}

static bool args_two(params *p, const kernel_problem *u)
{
    (void)p;
    return u->inputs[1].dtype == u->inputs[0].dtype;
}

static bool is_wide(const kernel_problem *u, unsigned bits)
{
    return u->inputs[1].dtype == u->outputs[0].dtype && u->inputs[2].dtype == u->outputs[0].dtype &&
           u->outputs[0].dtype != PGY_STRING &&
           pgy_dtype_describe(u->outputs[0].dtype)->bits == bits;
}

/* Do all operands have the result's type, and is it an integer of `bits` bits? */
static bool is_bits(const kernel_problem *u, unsigned bits)
{
    const pgy_dtype dtype = u->outputs[0].dtype;
    for (size_t i = 0; i < u->input_count; i++)
        if (u->inputs[i].dtype != dtype) return false;
    return pgy_dtype_is_integer(dtype) && pgy_dtype_describe(dtype)->bits == bits;
}

static bool shifts(const kernel_problem *u, const char *direction, bool with_sign)
{
    static const pgy_dtype SIGNED[] = {PGY_I8, PGY_I16, PGY_I32, PGY_I64};
    bool has_sign = false;
    for (size_t i = 0; i < sizeof SIGNED / sizeof *SIGNED; i++)
        has_sign |= u->outputs[0].dtype == SIGNED[i];
    return has_sign == with_sign && op_attr_is(u->node, "direction", direction, NULL);
}

/* For operators that depend on the size of the elements only. */
#define WIDTH(name, bytes, condition)                                     \
    static bool args_##name##_##bytes(params *p, const kernel_problem *u) \
    {                                                                     \
        (void)p;                                                          \
        return condition;                                                 \
    }
#define WIDTHS(bytes)                                                                     \
    WIDTH(width, bytes, is_wide(u, 8 * bytes))                                            \
    WIDTH(bits, bytes, is_bits(u, 8 * bytes))                                             \
    WIDTH(left, bytes,                                                                    \
          is_bits(u, 8 * bytes) && (shifts(u, "LEFT", false) || shifts(u, "LEFT", true))) \
    WIDTH(right, bytes, is_bits(u, 8 * bytes) && shifts(u, "RIGHT", false))               \
    WIDTH(signed, bytes, is_bits(u, 8 * bytes) && shifts(u, "RIGHT", true))
WIDTHS(1)
WIDTHS(2)
WIDTHS(4)
WIDTHS(8)
#undef WIDTHS
#undef WIDTH

/* ---- Rows ----------------------------------------------------------------------------------- */

const elementwise_row elementwise_rows[] = {
#define ROW(op, in, out, loop, count, args, ns) {op, in, out, count, args, ns},
#include "kernels/elementwise.def"
#undef ROW
};

/* Is the operator in `ops`, a list separated by spaces? */
static bool names(const char *ops, const op_def *def)
{
    const size_t domain_size = strlen(def->domain), name_size = strlen(def->name);
    for (const char *word = ops; *word; word += strspn(word, " ")) {
        const size_t size = strcspn(word, " ");
        const char *colon = memchr(word, ':', size);
        const size_t prefix = colon ? (size_t)(colon - word) : 0, skip = colon ? prefix + 1 : 0;
        if (prefix == domain_size && size - skip == name_size &&
            !memcmp(word, def->domain, prefix) && !memcmp(word + skip, def->name, name_size))
            return true;
        word += size;
    }
    return false;
}

/* Rows by a hash of the operators that they name: a look-up reads few rows, for it may find none of
 * them in the caches. The chain of each hash has its rows in order, and one that names two
 * operators of a hash twice. */
enum { BUCKETS = 64, OPERATORS = 4 /* of a row, at most */ };
typedef struct link {
    uint16_t row, next; /* `next`: index + 1 of the next link; 0: none */
} link;
static link links[ELEMENTWISE_COUNT * OPERATORS];
static uint16_t buckets[BUCKETS]; /* index + 1 of the first link */
static pthread_once_t linked = PTHREAD_ONCE_INIT;

static size_t bucket_of(span domain, span name)
{
    return (span_hash(domain) * 31 + span_hash(name)) % BUCKETS;
}

static void link_rows(void)
{
    uint16_t *ends[BUCKETS], count = 0;
    for (size_t i = 0; i < BUCKETS; i++) ends[i] = &buckets[i];
    for (uint16_t i = 0; i < ELEMENTWISE_COUNT; i++)
        for (const char *word = elementwise_rows[i].ops; *word; word += strspn(word, " ")) {
            const size_t size = strcspn(word, " ");
            const char *colon = memchr(word, ':', size);
            const size_t prefix = colon ? (size_t)(colon - word) : 0, skip = colon ? prefix + 1 : 0;
            const size_t at = bucket_of((span){word, prefix}, (span){word + skip, size - skip});
            assert(count < ELEMENTWISE_COUNT * OPERATORS);
            links[count] = (link){.row = i};
            *ends[at] = (uint16_t)(count + 1);
            ends[at] = &links[count++].next;
            word += size;
        }
}

static bool has_types(const elementwise_row *r, const kernel_problem *u, uint32_t operands)
{
    if (r->out && (int)u->outputs[0].dtype != r->out) return false;
    for (uint32_t i = 1; i < operands && r->out; i++)
        if (u->inputs[i].dtype && u->inputs[i].dtype != u->inputs[0].dtype) return false;
    return true;
}

const elementwise_row *elementwise_find_row(params *p, const kernel_problem *u)
{
    const op_def *def = u->node->def;
    pthread_once(&linked, link_rows);
    uint16_t next = buckets[bucket_of(span_of(def->domain), span_of(def->name))];
    for (uint16_t i; next; next = links[next - 1].next) {
        i = links[next - 1].row;
        const elementwise_row *r = &elementwise_rows[i];
        if ((r->in && (int)u->inputs[0].dtype != r->in) || !names(r->ops, def)) continue;
        *p = (params){.loop = i, .inputs = (uint32_t)u->input_count, .last = 1};
        p->w.operands = p->inputs;
        if (r->read(p, u) && has_types(r, u, p->w.operands)) return r;
    }
    return NULL;
}

uint32_t elementwise_item_of(const elementwise_row *r, uint32_t i)
{
#define WIDTHS(n)                                                                     \
    {args_width_##n, n}, {args_bits_##n, n}, {args_left_##n, n}, {args_right_##n, n}, \
    {                                                                                 \
        args_signed_##n, n                                                            \
    }
    static const struct {
        elementwise_read read;
        uint32_t bytes;
    } ALL[] = {WIDTHS(1), WIDTHS(2), WIDTHS(4), WIDTHS(8)};
#undef WIDTHS
    if (r->in && !i) return pgy_dtype_describe((pgy_dtype)r->in)->bits / 8;
    for (size_t k = 0; !r->out && k < sizeof ALL / sizeof *ALL; k++)
        if (r->read == ALL[k].read) return ALL[k].bytes;
    return pgy_dtype_describe((pgy_dtype)r->in)->bits / 8;
}
