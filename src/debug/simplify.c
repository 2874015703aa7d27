/* SPDX-License-Identifier: Apache-2.0 */
/* Simplifies attributes one by one. Removing one is tried first, because then its default applies.
 * If it must stay, its list gets shorter and its numbers become 0 or 1; a tensor becomes one of 0
 * or 1, or gets as many 0 as possible. */
#include <string.h>

#include "base/cancel.h"

#include "debug/minimise.h"

enum { MAX_TRIES = 96, MAX_NUMBERS = 64 };

/* The numbers of an attribute. */
typedef struct numbers {
    bool is_list, is_float;
    size_t count;
    int64_t ints[MAX_NUMBERS];
    float floats[MAX_NUMBERS];
} numbers;

/* An attribute that cannot be removed. */
typedef struct subject {
    minimisation *m;
    size_t node, index; /* in the best model */
    const char *name;   /* of the attribute */
    numbers value;
    size_t *tries;
} subject;

/* ---- Trials --------------------------------------------------------------------------------- */

/* Shapes behind the node follow from the attribute. */
static pgy_status forget_shapes(const pgy_gs_node *n, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t k = 0; !st && k < n->output_count; k++) {
        pgy_gs_tensor *t = n->outputs[k];
        if (!pgy_gs_is_omitted(t)) st = pgy_gs_set_type(t, t->dtype, -1, NULL, err);
    }
    return st;
}

static pgy_gs_attr attr_of(const char *name, const numbers *v)
{
    return v->is_list && v->is_float ? pgy_gs_attr_floats(name, v->floats, v->count)
           : v->is_list              ? pgy_gs_attr_ints(name, v->ints, v->count)
           : v->is_float             ? pgy_gs_attr_float(name, v->floats[0])
                                     : pgy_gs_attr_int(name, v->ints[0]);
}

/* Tries the best model with another value of an attribute; NULL: without it. */
static pgy_status try_value(bool *fails, minimisation *m, size_t node, const char *name,
                            const pgy_gs_attr *value, pgy_error *err)
{
    pgy_gs_graph *g = NULL;
    *fails = false;
    pgy_status st = pgy_gs_import(&g, m->best.model, err);
    if (!st && value) st = pgy_gs_set_attr(g->nodes[node], value, err);
    if (!st && (value || pgy_gs_remove_attr(g->nodes[node], name))) {
        const bool keeps_shape = value && value->type == PGY_ATTR_TENSOR;
        st = keeps_shape ? PGY_OK : forget_shapes(g->nodes[node], err);
        if (!st) st = minimise_try_graph(fails, m, g, m->best.feeds, "attributes", err);
    }
    pgy_gs_destroy(g);
    return st;
}

/* Tries a value, and takes it over if the model still fails. */
static pgy_status offer(bool *fails, subject *s, const numbers *value, pgy_error *err)
{
    *fails = false;
    if (*s->tries >= MAX_TRIES) return PGY_OK;
    ++*s->tries;
    const pgy_gs_attr attr = attr_of(s->name, value);
    const pgy_status st = try_value(fails, s->m, s->node, s->name, &attr, err);
    if (!st && *fails) s->value = *value;
    return st;
}

/* ---- Values --------------------------------------------------------------------------------- */

static bool is_number(const numbers *v, size_t i, int number)
{
    return v->is_float ? v->floats[i] == (float)number : v->ints[i] == number;
}

static void put_number(numbers *v, size_t i, int number)
{
    v->ints[i] = number;
    v->floats[i] = (float)number;
}

/* Offers 0 and then 1 for the numbers [begin, end). */
static pgy_status offer_simple(bool *fails, subject *s, size_t begin, size_t end, pgy_error *err)
{
    pgy_status st = PGY_OK;
    *fails = false;
    for (int number = 0; number < 2 && !st && !*fails; number++) {
        numbers v = s->value;
        bool same = true;
        for (size_t i = begin; i < end; i++) {
            same &= is_number(&v, i, number);
            put_number(&v, i, number);
        }
        if (same) return PGY_OK; /* it is simple, and 1 is not simpler than 0 */
        st = offer(fails, s, &v, err);
    }
    return st;
}

static pgy_status shorten(subject *s, pgy_error *err)
{
    bool fails = true;
    pgy_status st = PGY_OK;
    for (int by_half = 1; by_half >= 0; by_half--, fails = true)
        while (!st && fails && s->value.count > 1) {
            numbers v = s->value;
            v.count = by_half ? v.count / 2 : v.count - 1;
            st = offer(&fails, s, &v, err);
        }
    return st;
}

static pgy_status simplify(subject *s, pgy_error *err)
{
    bool fails = false;
    pgy_status st = s->value.is_list ? shorten(s, err) : PGY_OK;
    if (!st) st = offer_simple(&fails, s, 0, s->value.count, err);
    if (st || fails || s->value.count == 1) return st;
    for (size_t i = 0; !st && i < s->value.count; i++) st = offer_simple(&fails, s, i, i + 1, err);
    return st;
}

/* False: the attribute has no numbers, or too many to try. */
static bool read_numbers(numbers *out, const pgy_onnx_attribute *a)
{
    const pgy_onnx_attribute_type type = pgy_onnx_attribute_kind(a);
    *out = (numbers){.is_float = type == PGY_ATTR_FLOAT || type == PGY_ATTR_FLOATS,
                     .is_list = type == PGY_ATTR_INTS || type == PGY_ATTR_FLOATS};
    const size_t listed = out->is_float ? a->float_count : a->int_count;
    out->count = out->is_list ? listed : 1;
    if (a->ref_attr_name && *a->ref_attr_name) return false;
    if (!out->is_list && type != PGY_ATTR_INT && type != PGY_ATTR_FLOAT) return false;
    if (!out->count || out->count > MAX_NUMBERS) return false;
    for (size_t i = 0; i < out->count; i++) {
        if (out->is_float) out->floats[i] = out->is_list ? a->floats[i] : a->f;
        if (!out->is_float) out->ints[i] = out->is_list ? a->ints[i] : a->i;
    }
    return true;
}

/* ---- Tensors --------------------------------------------------------------------------------- */

static bool is_numeric(pgy_dtype type)
{
    return pgy_dtype_is_float(type) || pgy_dtype_is_integer(type) || type == PGY_BOOL;
}

/* A tensor like t whose elements are all 0 or 1. */
static pgy_status fill_like(pgy_tensor **out, const pgy_tensor *t, int number, pgy_error *err)
{
    const pgy_view like = pgy_tensor_view(t);
    pgy_tensor *bytes = NULL;
    pgy_status st = pgy_tensor_create(&bytes, PGY_U8, like.rank, like.shape, err);
    if (st) return st;
    memset(pgy_tensor_data(bytes), number, pgy_tensor_size_bytes(bytes));
    st = pgy_tensor_cast(out, pgy_tensor_view(bytes), pgy_tensor_dtype(t), err);
    pgy_tensor_release(bytes);
    return st;
}

/* Offers `simple`, and takes it over as *now if the model still fails. */
static pgy_status offer_tensor(bool *fails, subject *s, pgy_tensor **now, pgy_tensor *simple,
                               pgy_error *err)
{
    const pgy_gs_attr attr = pgy_gs_attr_tensor(s->name, simple);
    *fails = false;
    if (*s->tries >= MAX_TRIES) return PGY_OK;
    ++*s->tries;
    const pgy_status st = try_value(fails, s->m, s->node, s->name, &attr, err);
    if (!st && *fails) {
        pgy_tensor_release(*now);
        *now = pgy_tensor_retain(simple);
    }
    return st;
}

/* Offers 0 for the elements [begin, end), and if they must stay, for each half. */
static pgy_status offer_zeros(subject *s, pgy_tensor **now, const pgy_tensor *zeros, size_t begin,
                              size_t end, pgy_error *err)
{
    const size_t size = pgy_tensor_size_bytes(zeros) / pgy_tensor_count(zeros),
                 middle = (begin + end) / 2;
    const size_t offset = begin * size, bytes = (end - begin) * size;
    const char *zero = (const char *)pgy_tensor_data(zeros) + offset;
    pgy_tensor *simple = NULL;
    bool fails = false;
    if (*s->tries >= MAX_TRIES || !memcmp((char *)pgy_tensor_data(*now) + offset, zero, bytes))
        return PGY_OK;
    pgy_status st = pgy_tensor_copy(&simple, pgy_tensor_view(*now), err);
    if (!st) memcpy((char *)pgy_tensor_data(simple) + offset, zero, bytes);
    if (!st) st = offer_tensor(&fails, s, now, simple, err);
    pgy_tensor_release(simple);
    if (st || fails || end - begin == 1) return st;
    st = offer_zeros(s, now, zeros, begin, middle, err);
    return st ? st : offer_zeros(s, now, zeros, middle, end, err);
}

static pgy_status offer_tensors(subject *s, pgy_tensor **now, pgy_error *err)
{
    const size_t count = pgy_tensor_count(*now), bytes = pgy_tensor_size_bytes(*now);
    pgy_tensor *simple[2] = {NULL, NULL};
    bool fails = false;
    pgy_error why = {0};
    pgy_status st = PGY_OK;
    for (int number = 0; number < 2 && !st; number++)
        st = fill_like(&simple[number], *now, number, &why);
    if (st) {
        st = status_ends_all(st) ? pgy_error_set(err, st, "%s", why.text) : PGY_OK;
        goto done; /* some narrow floats have no 0 */
    }
    for (int number = 0; number < 2 && !st && !fails; number++) {
        fails = !memcmp(pgy_tensor_data(simple[number]), pgy_tensor_data(*now), bytes);
        /* 1 is not simpler than 0 */
        if (!fails) st = offer_tensor(&fails, s, now, simple[number], err);
    }
    const bool parts = count > 1 && bytes % count == 0; /* elements of 4 bits share bytes */
    if (!st && !fails && parts) st = offer_zeros(s, now, simple[0], 0, count / 2, err);
    if (!st && !fails && parts) st = offer_zeros(s, now, simple[0], count / 2, count, err);
done:
    pgy_tensor_release(simple[0]);
    pgy_tensor_release(simple[1]);
    return st;
}

/* Texts stay as they are, and tensors that cannot be read. */
static pgy_status simplify_tensor(subject *s, pgy_error *err)
{
    pgy_model *model = pgy_model_retain(s->m->best.model); /* the elements may be its */
    const pgy_onnx_node *n = pgy_model_proto(model)->graph->nodes[s->node];
    pgy_tensor *now = NULL;
    pgy_error why = {0};
    pgy_status st = pgy_onnx_tensor_load(&now, model, n->attributes[s->index]->t, &why);
    if (st)
        st = status_ends_all(st) ? pgy_error_set(err, st, "%s", why.text) : PGY_OK;
    else if (pgy_tensor_count(now) && is_numeric(pgy_tensor_dtype(now)))
        st = offer_tensors(s, &now, err);
    pgy_tensor_release(now);
    pgy_model_destroy(model);
    return st;
}

/* ---- All attributes ------------------------------------------------------------------------- */

static size_t count_attributes(const minimisation *m, size_t node, size_t index)
{
    const pgy_onnx_graph *g = pgy_model_proto(m->best.model)->graph;
    size_t count = 0;
    for (size_t i = node; i < g->node_count; i++) count += g->nodes[i]->attribute_count;
    return count - index;
}

/* *removed: the next attribute has the same index. */
static pgy_status minimise_attribute(bool *removed, subject *s, pgy_error *err)
{
    const pgy_onnx_graph *g = pgy_model_proto(s->m->best.model)->graph;
    const pgy_onnx_attribute *a = g->nodes[s->node]->attributes[s->index];
    char name[256];
    *removed = false;
    if (a->g || a->graph_count || strlen(a->name) >= sizeof name) return PGY_OK;
    memcpy(name, a->name, strlen(a->name) + 1); /* the model is replaced when a trial fails */
    s->name = name;
    const bool has_numbers = read_numbers(&s->value, a);
    const bool has_tensor = pgy_onnx_attribute_kind(a) == PGY_ATTR_TENSOR && a->t;
    s->m->remaining = (int64_t)count_attributes(s->m, s->node, s->index);
    ++*s->tries;
    pgy_status st = try_value(removed, s->m, s->node, name, NULL, err);
    if (st || *removed) return st;
    return has_numbers ? simplify(s, err) : has_tensor ? simplify_tensor(s, err) : PGY_OK;
}

pgy_status minimise_attributes(minimisation *m, pgy_error *err)
{
    size_t tries = 0;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < m->nodes; i++)
        for (size_t k = 0; !st && tries < MAX_TRIES;) {
            bool removed;
            subject s = {.m = m, .node = i, .index = k, .tries = &tries};
            if (k >= pgy_model_proto(m->best.model)->graph->nodes[i]->attribute_count) break;
            st = minimise_attribute(&removed, &s, err);
            if (!removed) k++;
        }
    return st;
}
