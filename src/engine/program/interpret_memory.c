/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors and memory of single nodes. */
#include <string.h>

#include "base/alloc.h"
#include "base/memory.h"
#include "engine/program/interpret_parts.h"
#include "tensor/tensor.h"

pgy_status interpret_no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while interpreting");
}

pgy_status interpret_align(pgy_tensor **t, pgy_error *err)
{
    pgy_tensor *from = *t, *moved = NULL;
    if (pgy_tensor_dtype(from) == PGY_STRING || (uintptr_t)pgy_tensor_data(from) % 16 == 0)
        return PGY_OK;
    const pgy_status st = tensor_create_raw(&moved, pgy_tensor_dtype(from), pgy_tensor_rank(from),
                                            pgy_tensor_shape(from), err);
    if (st) return st;
    memcpy(pgy_tensor_data(moved), pgy_tensor_data(from), pgy_tensor_size_bytes(from));
    pgy_tensor_release(from);
    *t = moved;
    return PGY_OK;
}

const char *interpret_domain_of(const pgy_node *n)
{
    return domain_is_default(n->domain) ? "" : n->domain;
}

pgy_status interpret_declared(call *c, size_t i, pgy_error *err)
{
    const op_tensor *t = &c->inputs[i];
    pgy_tensor *made = NULL;
    if (c->declared[i] || !t->value) return PGY_OK;
    pgy_status st = op_from_storage(&made, t->value, t->dtype, err);
    if (!st) st = interpret_align(&made, err);
    if (st)
        pgy_tensor_release(made);
    else
        c->declared[i] = made;
    return st;
}

pgy_status interpret_hold_memory(interpreter *it, size_t wanted, pgy_error *err)
{
    if (wanted <= it->memory_bytes) return PGY_OK;
    mem_free(it->memory);
    it->memory = mem_alloc_aligned(64, wanted);
    it->memory_bytes = it->memory ? wanted : 0;
    return it->memory ? PGY_OK : interpret_no_memory(err);
}

static void keep(void *data, void *user)
{
    (void)data, (void)user;
}

pgy_status interpret_create_output(op_tensor *outputs, size_t i, const call *c,
                                   const kernel_tensor *t, pgy_error *err)
{
    const interpreter *it = c->it;
    op_tensor *out = &outputs[i];
    const uint64_t limit = c->host->max_bytes;
    size_t count = 0, bytes = 0;
    pgy_status st = pgy_shape_count(&count, (size_t)t->rank, t->shape, err);
    if (!st) st = pgy_dtype_size_bytes(&bytes, t->dtype, count, err);
    if (!st && limit && bytes > limit)
        st = pgy_error_set(err, PGY_E_MEMORY, "an output of %zu bytes exceeds %s", bytes,
                           memory_limit_describe_other(limit).text);
    void *room = !st && it->room ? it->room(it->room_user, c->n->outputs[i], t->dtype,
                                            (size_t)t->rank, t->shape)
                                 : NULL;
    if (room)
        st = pgy_tensor_wrap(&out->value, room, t->dtype, (size_t)t->rank, t->shape, keep, NULL,
                             err);
    else if (!st)
        st = tensor_create_raw(&out->value, t->dtype, (size_t)t->rank, t->shape, err);
    if (st) return pgy_error_prefix(err, st, "%s '%s': ", c->n->op_type, c->node->name);
    out->dtype = t->dtype;
    return PGY_OK;
}

/* ---- What operators keep -------------------------------------------------------------------- */

typedef struct kept_data {
    const pgy_node *n;
    op_kept kept;
    struct kept_data *next;
} kept_data;

void interpret_forget_kept(interpreter *it)
{
    for (kept_data *k = it->data, *next; k; k = next) {
        next = k->next;
        if (k->kept.data) k->kept.destroy(k->kept.data);
        mem_free(k);
    }
    it->data = NULL;
}

/* Not within functions with attributes of the caller, which may change from call to call. */
op_kept *interpret_kept(call *c)
{
    if (!(c->node->def->flags & OP_KEEPS) || node_box_of(c->n)->has_refs) return NULL;
    kept_data *k = c->it->data;
    while (k && k->n != c->n) k = k->next;
    if (!k) {
        k = mem_calloc(1, sizeof *k);
        if (!k) return NULL; /* keeping is no duty */
        k->n = c->n;
        k->next = c->it->data;
        c->it->data = k;
    }
    return &k->kept;
}

bool interpret_shape_of(int64_t *shape, const op_value *v)
{
    if (!v->dtype || v->rank < 0 || v->rank > PGY_MAX_RANK) return false;
    for (int32_t i = 0; i < v->rank; i++) {
        if (!dim_is_const(v->dims[i])) return false;
        shape[i] = v->dims[i].value;
    }
    return true;
}
