/* SPDX-License-Identifier: Apache-2.0 */
/* Memory grows by doubling and never moves while the loop runs, because a value may be collected
 * and carried at once: the next iteration reads it where it was collected. */
#include "engine/program/flow_collect.h"

#include <string.h>

#include "base/alloc.h"
#include "base/memory.h"
#include "ops/move.h"
#include "tensor/tensor.h"

enum { FIRST_BYTES = 16 << 20 }; /* reserved for a loop of known length */

typedef struct flow_old {
    char *data;
    struct flow_old *next;
} flow_old;

static size_t position(const flow_collected *c)
{
    return c->backwards ? (size_t)c->most - 1 - c->count : c->count;
}

flow_place flow_collect_place(const flow_collected *c)
{
    if (!c->item_bytes || c->count >= c->room) return (flow_place){0};
    return (flow_place){c->data + position(c) * c->item_bytes, c->item_bytes};
}

static bool same_kind(const flow_collected *c, const op_tensor *t)
{
    return t->dtype == c->dtype && pgy_tensor_rank(t->value) == c->rank &&
           (!c->rank ||
            memcmp(pgy_tensor_shape(t->value), c->shape, c->rank * sizeof *c->shape) == 0);
}

static pgy_status grow(flow_collected *c, const op_node *n, pgy_error *err)
{
    const uint64_t limit = memory_limit_bytes();
    uint64_t room = c->room ? 2 * (uint64_t)c->room : 8;
    if (!c->room && c->place.data && c->place.size_bytes / c->item_bytes == c->most) {
        c->data = c->place.data;
        c->given = true;
        c->room = (size_t)c->most;
        return PGY_OK;
    }
    if (!c->room && (c->backwards || c->most <= FIRST_BYTES / c->item_bytes)) room = c->most;
    if (room > c->most) room = c->most;
    if (room > (limit ? limit : SIZE_MAX) / c->item_bytes)
        return op_error(n, err, PGY_E_MEMORY, "%llu collected values of %zu bytes exceed %s",
                        (unsigned long long)room, c->item_bytes,
                        memory_limit_describe_other(limit).text);
    char *data = mem_alloc_aligned(64, (size_t)room * c->item_bytes);
    flow_old *old = c->room && !c->given ? mem_alloc(sizeof *old) : NULL;
    if (!data || (c->room && !c->given && !old)) {
        mem_free(data);
        mem_free(old);
        return op_error(n, err, PGY_E_MEMORY, "out of memory for collected values");
    }
    if (c->room) memcpy(data, c->data, c->count * c->item_bytes);
    if (old) {
        *old = (flow_old){c->data, c->old};
        c->old = old;
    }
    c->data = data;
    c->given = false;
    c->room = (size_t)room;
    return PGY_OK;
}

static void begin(flow_collected *c, const op_tensor *t)
{
    c->dtype = t->dtype;
    c->rank = pgy_tensor_rank(t->value);
    if (c->rank) memcpy(c->shape, pgy_tensor_shape(t->value), c->rank * sizeof *c->shape);
    c->item_bytes = pgy_tensor_size_bytes(t->value);
}

pgy_status flow_collect(flow_collected *c, const op_node *n, const op_tensor *item, pgy_error *err)
{
    op_tensor t = op_tensor_retain(item);
    if (!t.value) {
        op_tensor_release(&t);
        return op_error(n, err, PGY_E_TYPE,
                        "a value that is collected over iterations must be a tensor");
    }
    pgy_status st = flow_settle(&t, err);
    if (!st && !c->count) begin(c, &t);
    if (!st && !same_kind(c, &t))
        st = op_error(n, err, PGY_E_SHAPE,
                      "a value that is collected over iterations changes its shape or type");
    if (!st && c->item_bytes && c->count == c->room) st = grow(c, n, err);
    if (!st && c->item_bytes) {
        char *to = c->data + position(c) * c->item_bytes;
        if (to != pgy_tensor_data(t.value)) memcpy(to, pgy_tensor_data(t.value), c->item_bytes);
    }
    if (!st) c->count++;
    op_tensor_release(&t);
    return st;
}

/* ---- The result ----------------------------------------------------------------------------- */

static void free_data(void *data, void *user)
{
    (void)user;
    mem_free(data);
}

static void keep(void *data, void *user)
{
    (void)data, (void)user;
}

static pgy_status join_nothing(op_tensor *out, const op_node *n, const flow_nothing *about,
                               size_t output, int64_t axis, pgy_error *err)
{
    const op_value *known = &box_of(about->item)->known;
    const bool can = describe_can(about->item->graph) && known->rank >= 0;
    int64_t shape[PGY_MAX_RANK + 1] = {0};
    size_t at = 0, rank = can ? (size_t)known->rank + 1 : 1;
    if (!about->dtype)
        return op_error(n, err, PGY_E_UNSUPPORTED,
                        "the type of output %zu is unknown, because there are no iterations",
                        output);
    pgy_status st = rank > PGY_MAX_RANK
                        ? op_error(n, err, PGY_E_SHAPE, "output %zu has more than %d dimensions",
                                   output, PGY_MAX_RANK)
                        : op_axis(&at, n, can ? axis : 0, (int32_t)rank, err);
    if (st) return st;
    for (size_t d = 0, from = 0; can && d < rank; d++)
        if (d != at) shape[d] = describe_size(about->sizes, known->dims[from++]);
    out->dtype = about->dtype;
    return pgy_tensor_create(&out->value, about->dtype, rank, shape, err);
}

/* Moves the axis of the items from the front to `at`. */
static pgy_status move_axis(op_tensor *t, size_t at, pgy_error *err)
{
    const size_t rank = pgy_tensor_rank(t->value);
    const int64_t *from = pgy_tensor_shape(t->value);
    int64_t shape[PGY_MAX_RANK];
    ptrdiff_t strides[PGY_MAX_RANK];
    pgy_tensor *moved = NULL;
    move_box box;
    for (size_t d = 0, k = 1; d < rank; d++) shape[d] = d == at ? from[0] : from[k++];
    pgy_status st = pgy_tensor_create(&moved, t->dtype, rank, shape, err);
    if (st) return st;
    move_strides(strides, rank, from);
    move_box_init(&box, rank, shape);
    for (size_t d = 0, k = 1; d < rank; d++) box.from[d] = d == at ? strides[0] : strides[k++];
    move_copy(pgy_tensor_data(moved), pgy_tensor_data(t->value),
              pgy_dtype_describe(t->dtype)->bits / 8, &box);
    pgy_tensor_release(t->value);
    t->value = moved;
    return PGY_OK;
}

pgy_status flow_collect_join(op_tensor *out, flow_collected *c, const op_node *n,
                             const flow_nothing *about, size_t output, int64_t axis, pgy_error *err)
{
    int64_t shape[PGY_MAX_RANK + 1];
    static char empty[64];
    size_t at;
    if (!c->count) return join_nothing(out, n, about, output, axis, err);
    const size_t rank = c->rank + 1;
    if (rank > PGY_MAX_RANK)
        return op_error(n, err, PGY_E_SHAPE, "output %zu has more than %d dimensions", output,
                        PGY_MAX_RANK);
    pgy_status st = op_axis(&at, n, axis, (int32_t)rank, err);
    if (st) return st;
    shape[0] = (int64_t)c->count;
    for (size_t d = 1; d < rank; d++) shape[d] = c->shape[d - 1];
    void *data = c->item_bytes ? c->data : empty;
    st = pgy_tensor_wrap(&out->value, data, c->dtype, rank, shape,
                         c->item_bytes && !c->given ? free_data : keep, NULL, err);
    if (st) return st;
    out->dtype = c->dtype;
    c->data = NULL;
    c->room = 0;
    return at ? move_axis(out, at, err) : PGY_OK;
}

void flow_collect_deinit(flow_collected *c)
{
    if (!c->given) mem_free(c->data);
    for (flow_old *o = c->old, *next; o; o = next) {
        next = o->next;
        mem_free(o->data);
        mem_free(o);
    }
    *c = (flow_collected){0};
}

pgy_status flow_collect_own(op_tensor *t, pgy_error *err)
{
    pgy_tensor *copy = NULL;
    if (!t->value || !tensor_is_borrowed(t->value)) return PGY_OK;
    const pgy_status st = pgy_tensor_copy(&copy, pgy_tensor_view(t->value), err);
    if (st) return st;
    pgy_tensor_release(t->value);
    t->value = copy;
    return PGY_OK;
}
