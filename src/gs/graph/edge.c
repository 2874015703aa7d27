/* SPDX-License-Identifier: Apache-2.0 */
/* Edges. Nodes list their inputs and outputs, tensors their consumers and producers; `join` and
 * `leave` change the tensors' lists so that both agree. These are in order of attachment; detaching
 * a node removes its first entry, like `list.remove` in onnx-graphsurgeon. */
#include <string.h>

#include "gs/graph/document.h"

/* Selects inputs or outputs: a node's input list with a tensor's consumers, or its output list with
 * a tensor's producers. */
typedef struct side {
    bool outputs;
} side;
static const side INPUTS = {false}, OUTPUTS = {true};

static pgy_gs_tensor ***slots_of(side s, pgy_gs_node *n)
{
    return s.outputs ? &n->outputs : &n->inputs;
}
static size_t *slot_count_of(side s, pgy_gs_node *n)
{
    return s.outputs ? &n->output_count : &n->input_count;
}
static size_t *slot_capacity_of(side s, pgy_gs_node *n)
{
    return s.outputs ? &gs_node_box(n)->output_capacity : &gs_node_box(n)->input_capacity;
}
static pgy_gs_node ***users_of(side s, pgy_gs_tensor *t)
{
    return s.outputs ? &t->producers : &t->consumers;
}
static size_t *user_count_of(side s, pgy_gs_tensor *t)
{
    return s.outputs ? &t->producer_count : &t->consumer_count;
}
static size_t *user_capacity_of(side s, pgy_gs_tensor *t)
{
    return s.outputs ? &tensor_box(t)->producer_capacity : &tensor_box(t)->consumer_capacity;
}

/* ---- Consumers and producers of a tensor ----------------------------------------------------- */

/* Appends n to the tensor's consumers or producers. */
static pgy_status join(side s, pgy_gs_tensor *t, pgy_gs_node *n, pgy_error *err)
{
    size_t *count = user_count_of(s, t);
    const pgy_status st =
        gs_grow(tensor_box(t)->document, users_of(s, t), *count, user_capacity_of(s, t), err);
    if (st) return st;
    (*users_of(s, t))[(*count)++] = n;
    return PGY_OK;
}

/* Moves the entries before the removed one or those after it, whichever are fewer, because entries
 * of long lists are mostly removed from the front. */
static void remove_user(side s, pgy_gs_tensor *t, size_t at)
{
    pgy_gs_node ***users = users_of(s, t);
    size_t *count = user_count_of(s, t);
    const size_t behind = *count - at - 1;
    --*count;
    if (behind <= at) {
        memmove(*users + at, *users + at + 1, behind * sizeof(**users));
        return;
    }
    memmove(*users + 1, *users, at * sizeof(**users));
    ++*users;
    --*user_capacity_of(s, t);
}

static void leave(side s, pgy_gs_tensor *t, const pgy_gs_node *n)
{
    pgy_gs_node *const *users = *users_of(s, t);
    size_t at = 0;
    while (users[at] != n) at++;
    remove_user(s, t, at);
}

static void leave_last(side s, pgy_gs_tensor *t)
{
    --*user_count_of(s, t);
}

/* ---- Inputs and outputs of a node ------------------------------------------------------------ */

static pgy_status attach(side s, pgy_gs_node *n, size_t i, pgy_gs_tensor *t, pgy_error *err)
{
    size_t *count = slot_count_of(s, n);
    pgy_gs_tensor ***slots = slots_of(s, n);
    pgy_status st = gs_grow(gs_node_box(n)->document, slots, *count, slot_capacity_of(s, n), err);
    if (!st) st = join(s, t, n, err);
    if (st) return st;
    memmove(*slots + i + 1, *slots + i, (*count - i) * sizeof(**slots));
    (*slots)[i] = t;
    ++*count;
    gs_touch(n->graph);
    return PGY_OK;
}

static void detach(side s, pgy_gs_node *n, size_t i)
{
    pgy_gs_tensor **slots = *slots_of(s, n);
    size_t *count = slot_count_of(s, n);
    leave(s, slots[i], n);
    memmove(slots + i, slots + i + 1, (*count - i - 1) * sizeof(*slots));
    --*count;
    gs_touch(n->graph);
}

pgy_status gs_attach_input(pgy_gs_node *n, size_t i, pgy_gs_tensor *t, pgy_error *err)
{
    return attach(INPUTS, n, i, t, err);
}

pgy_status gs_attach_output(pgy_gs_node *n, size_t i, pgy_gs_tensor *t, pgy_error *err)
{
    return attach(OUTPUTS, n, i, t, err);
}

void gs_detach_input(pgy_gs_node *n, size_t i)
{
    detach(INPUTS, n, i);
}

void gs_detach_output(pgy_gs_node *n, size_t i)
{
    detach(OUTPUTS, n, i);
}

static void detach_side(side s, pgy_gs_node *n)
{
    pgy_gs_tensor *const *slots = *slots_of(s, n);
    size_t *count = slot_count_of(s, n);
    for (size_t i = 0; i < *count; i++) leave(s, slots[i], n);
    *count = 0;
    gs_touch(n->graph);
}

void gs_detach_all(pgy_gs_node *n)
{
    detach_side(INPUTS, n);
    detach_side(OUTPUTS, n);
}

/* ---- Checked changes ------------------------------------------------------------------------- */

static pgy_status check(side s, const pgy_gs_node *n, const pgy_gs_tensor *t, pgy_error *err)
{
    if (!n || !t)
        return pgy_error_set(err, PGY_E_ARGUMENT, "the node and the tensor must not be NULL");
    if (tensor_box(t)->document == gs_node_box(n)->document) return PGY_OK;
    return gs_node_error(n, err, PGY_E_ARGUMENT, "tensor '%.200s' belongs to another graph%s",
                         t->name, s.outputs ? " (for an output)" : "");
}

static pgy_status check_slot(side s, pgy_gs_node *n, size_t i, size_t end, pgy_error *err)
{
    if (!n) return pgy_error_set(err, PGY_E_ARGUMENT, "the node must not be NULL");
    if (i < end) return PGY_OK;
    return gs_node_error(n, err, PGY_E_NOT_FOUND, "%s %zu does not exist; the node has %zu",
                         s.outputs ? "output" : "input", i, *slot_count_of(s, n));
}

static pgy_status set_slot(side s, pgy_gs_node *n, size_t i, pgy_gs_tensor *t, pgy_error *err)
{
    pgy_status st = check(s, n, t, err);
    if (!st) st = check_slot(s, n, i, *slot_count_of(s, n) + 1, err);
    if (st) return st;
    if (i == *slot_count_of(s, n)) return attach(s, n, i, t, err);
    st = join(s, t, n, err);
    if (st) return st;
    pgy_gs_tensor **slot = *slots_of(s, n) + i;
    leave(s, *slot, n);
    *slot = t;
    gs_touch(n->graph);
    return PGY_OK;
}

pgy_status pgy_gs_set_input(pgy_gs_node *n, size_t i, pgy_gs_tensor *t, pgy_error *err)
{
    return set_slot(INPUTS, n, i, t, err);
}

pgy_status pgy_gs_set_output(pgy_gs_node *n, size_t i, pgy_gs_tensor *t, pgy_error *err)
{
    return set_slot(OUTPUTS, n, i, t, err);
}

static pgy_status insert_slot(side s, pgy_gs_node *n, size_t i, pgy_gs_tensor *t, pgy_error *err)
{
    pgy_status st = check(s, n, t, err);
    if (!st) st = check_slot(s, n, i, *slot_count_of(s, n) + 1, err);
    return st ? st : attach(s, n, i, t, err);
}

pgy_status pgy_gs_insert_input(pgy_gs_node *n, size_t i, pgy_gs_tensor *t, pgy_error *err)
{
    return insert_slot(INPUTS, n, i, t, err);
}

pgy_status pgy_gs_insert_output(pgy_gs_node *n, size_t i, pgy_gs_tensor *t, pgy_error *err)
{
    return insert_slot(OUTPUTS, n, i, t, err);
}

static pgy_status remove_slot(side s, pgy_gs_node *n, size_t i, pgy_error *err)
{
    const pgy_status st = check_slot(s, n, i, n ? *slot_count_of(s, n) : 0, err);
    if (!st) detach(s, n, i);
    return st;
}

pgy_status pgy_gs_remove_input(pgy_gs_node *n, size_t i, pgy_error *err)
{
    return remove_slot(INPUTS, n, i, err);
}

pgy_status pgy_gs_remove_output(pgy_gs_node *n, size_t i, pgy_error *err)
{
    return remove_slot(OUTPUTS, n, i, err);
}

/* Attaches the new tensors before it detaches the old ones, so that a failure can be undone. The
 * order of consumers and producers is the same either way, because detaching removes a node's first
 * entry. */
static pgy_status set_slots(side s, pgy_gs_node *n, pgy_gs_tensor *const *tensors, size_t count,
                            pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (!n || (count && !tensors))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "the node and the list of tensors must not be NULL");
    for (size_t i = 0; i < count && !st; i++) st = check(s, n, tensors[i], err);
    if (st) return st;
    pgy_gs_tensor **slots = gs_alloc(gs_node_box(n)->document, count, sizeof(*slots));
    if (!slots) return gs_no_memory(err);
    if (count) memcpy(slots, tensors, count * sizeof(*slots));
    size_t joined = 0;
    for (; joined < count && !st; joined++) st = join(s, slots[joined], n, err);
    if (st) {
        for (size_t i = 0; i + 1 < joined; i++) leave_last(s, slots[i]);
        return st;
    }
    detach_side(s, n);
    *slots_of(s, n) = slots;
    *slot_count_of(s, n) = *slot_capacity_of(s, n) = count;
    return PGY_OK;
}

pgy_status pgy_gs_set_inputs(pgy_gs_node *n, pgy_gs_tensor *const *tensors, size_t count,
                             pgy_error *err)
{
    return set_slots(INPUTS, n, tensors, count, err);
}

pgy_status pgy_gs_set_outputs(pgy_gs_node *n, pgy_gs_tensor *const *tensors, size_t count,
                              pgy_error *err)
{
    return set_slots(OUTPUTS, n, tensors, count, err);
}

/* ---- All consumers or producers at once ------------------------------------------------------ */

static size_t slot_of(side s, pgy_gs_node *n, const pgy_gs_tensor *t)
{
    pgy_gs_tensor *const *slots = *slots_of(s, n);
    size_t i = 0;
    while (slots[i] != t) i++;
    return i;
}

static void clear_users(side s, pgy_gs_tensor *t)
{
    while (*user_count_of(s, t)) {
        pgy_gs_node *n = (*users_of(s, t))[0];
        detach(s, n, slot_of(s, n, t));
    }
}

void pgy_gs_clear_consumers(pgy_gs_tensor *t)
{
    if (t) clear_users(INPUTS, t);
}

void pgy_gs_clear_producers(pgy_gs_tensor *t)
{
    if (t) clear_users(OUTPUTS, t);
}

pgy_status pgy_gs_replace_uses(pgy_gs_tensor *from, pgy_gs_tensor *to, pgy_error *err)
{
    if (!from || !to) return pgy_error_set(err, PGY_E_ARGUMENT, "the tensor must not be NULL");
    if (tensor_box(from)->document != tensor_box(to)->document)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "tensors '%.200s' and '%.200s' belong to different graphs", from->name,
                             to->name);
    if (from == to) return PGY_OK;
    size_t joined = 0;
    pgy_status st = PGY_OK;
    for (; joined < from->consumer_count && !st; joined++)
        st = join(INPUTS, to, from->consumers[joined], err);
    if (st) {
        to->consumer_count -= joined - 1;
        return st;
    }
    for (size_t i = 0; i < from->consumer_count; i++) {
        pgy_gs_node *n = from->consumers[i];
        n->inputs[slot_of(INPUTS, n, from)] = to;
        gs_touch(n->graph);
    }
    from->consumer_count = 0;
    return PGY_OK;
}

/* ---- Neighbours ------------------------------------------------------------------------------ */

pgy_gs_node *pgy_gs_node_i(const pgy_gs_node *n, size_t tensor, size_t producer)
{
    if (!n || tensor >= n->input_count) return NULL;
    const pgy_gs_tensor *t = n->inputs[tensor];
    return producer < t->producer_count ? t->producers[producer] : NULL;
}

pgy_gs_node *pgy_gs_node_o(const pgy_gs_node *n, size_t consumer, size_t tensor)
{
    if (!n || tensor >= n->output_count) return NULL;
    const pgy_gs_tensor *t = n->outputs[tensor];
    return consumer < t->consumer_count ? t->consumers[consumer] : NULL;
}

pgy_gs_tensor *pgy_gs_tensor_i(const pgy_gs_tensor *t, size_t tensor, size_t producer)
{
    if (!t || producer >= t->producer_count) return NULL;
    const pgy_gs_node *n = t->producers[producer];
    return tensor < n->input_count ? n->inputs[tensor] : NULL;
}

pgy_gs_tensor *pgy_gs_tensor_o(const pgy_gs_tensor *t, size_t consumer, size_t tensor)
{
    if (!t || consumer >= t->consumer_count) return NULL;
    const pgy_gs_node *n = t->consumers[consumer];
    return tensor < n->output_count ? n->outputs[tensor] : NULL;
}
