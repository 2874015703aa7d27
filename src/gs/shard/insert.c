/* SPDX-License-Identifier: Apache-2.0 */
/* Adds nodes for sharding, numbered by one counter for node and tensor names. A collective is
 * inserted between a tensor and all its consumers. It works along axis 0, so any other axis needs a
 * Transpose before and after it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "gs/graph/gs.h"
#include "gs/shard/shard.h"

static const char LOG_PATH[] = "tools/multi_device/subtool/shard.py";
static const char PREFIX[] = "shard_";

int64_t shard_number(const char *name)
{
    size_t size = strlen(name), digits = 0;
    while (digits < size && name[size - 1 - digits] >= '0' && name[size - 1 - digits] <= '9')
        digits++;
    const size_t prefix = sizeof PREFIX - 1;
    if (!digits || digits > 15 || size < digits + prefix ||
        memcmp(name + size - digits - prefix, PREFIX, prefix) != 0)
        return -1;
    return strtoll(name + size - digits, NULL, 10);
}

static void count(int64_t *next, const char *name)
{
    const int64_t n = shard_number(name);
    if (n >= *next) *next = n + 1;
}

pgy_status shard_begin(shard_work *out, pgy_gs_graph *g, const pgy_shard_hints *hints,
                       pgy_error *err)
{
    pgy_gs_tensor_list all = {0};
    *out = (shard_work){.g = g, .hints = hints};
    pgy_status st = pgy_gs_tensors(&all, g, false, err);
    for (size_t i = 0; i < all.count; i++) count(&out->next, all.items[i]->name);
    for (size_t i = 0; i < g->node_count; i++) count(&out->next, g->nodes[i]->name);
    pgy_gs_tensor_list_free(&all);
    return st;
}

pgy_status pgy_shard_name_nodes(pgy_gs_graph *g, pgy_error *err)
{
    strmap seen = {0};
    shard_work s;
    pgy_status st = shard_begin(&s, g, NULL, err);
    for (size_t i = 0; !st && i < g->node_count; i++) {
        pgy_gs_node *n = g->nodes[i];
        if (strmap_has(&seen, n->name)) {
            str name = {0};
            str_printf(&name, "%s%s%s%lld", n->name, *n->name ? "_" : "", PREFIX,
                       (long long)s.next++);
            LOG(WARNING, "Duplicate node name '%s' renamed to '%s' (op=%s)", n->name,
                str_text(&name), n->op);
            st = name.failed ? gs_no_memory(err) : pgy_gs_set_node_name(n, str_text(&name), err);
            str_deinit(&name);
        }
        if (!st && !strmap_put(&seen, n->name, n)) st = gs_no_memory(err);
    }
    strmap_deinit(&seen);
    return st;
}

pgy_status shard_add(pgy_gs_tensor **out, shard_work *s, pgy_gs_node_spec spec, pgy_gs_tensor *in,
                     pgy_error *err)
{
    char tensor_name[32], node_name[32];
    pgy_gs_tensor *made = NULL;
    pgy_gs_node *n = NULL;
    snprintf(tensor_name, sizeof tensor_name, "%s%lld", PREFIX, (long long)s->next);
    snprintf(node_name, sizeof node_name, "%s%lld", PREFIX, (long long)s->next + 1);
    pgy_status st = pgy_gs_variable(&made, s->g, tensor_name, in->dtype, -1, NULL, err);
    spec.name = node_name;
    spec.inputs = &in;
    spec.input_count = 1;
    spec.outputs = &made;
    spec.output_count = 1;
    if (!st) st = pgy_gs_add_node(&n, s->g, &spec, err);
    if (st) return st;
    s->next += 2;
    *out = made;
    return PGY_OK;
}

pgy_status shard_transpose(pgy_gs_tensor **out, shard_work *s, pgy_gs_tensor *in,
                           const int64_t *perm, size_t rank, pgy_error *err)
{
    const pgy_gs_attr attr = pgy_gs_attr_ints("perm", perm, rank);
    LOG(INFO, "Inserting Transpose for tensor: %s", in->name);
    return shard_add(out, s, (pgy_gs_node_spec){.op = "Transpose", .attrs = &attr, .attr_count = 1},
                     in, err);
}

static pgy_status add_collective(pgy_gs_tensor **out, shard_work *s, pgy_gs_tensor *in,
                                 const shard_collective *c, pgy_error *err)
{
    const pgy_shard_hints *h = s->hints;
    const pgy_gs_attr attrs[] = {
        pgy_gs_attr_int("group_size", h->group_size),
        pgy_gs_attr_int("root", h->root),
        pgy_gs_attr_int("nb_rank", h->nb_rank),
        pgy_gs_attr_text("reduce_op", c->reduce_op),
        pgy_gs_attr_text("collective_operation", c->operation),
        pgy_gs_attr_ints("groups", h->groups, h->group_count),
    };
    LOG(INFO, "Inserting DistCollective for tensor: %s", in->name);
    return shard_add(out, s,
                     (pgy_gs_node_spec){.op = "DistCollective",
                                        .attrs = attrs,
                                        .attr_count = sizeof attrs / sizeof *attrs},
                     in, err);
}

/* Makes the permutation that swaps axis 0 with the axis of the collective. */
static pgy_status exchange(int64_t *perm, size_t *rank, const pgy_gs_tensor *t,
                           const shard_collective *c, pgy_error *err)
{
    const int64_t known = t->rank >= 0 ? t->rank : c->rank;
    if (known < 0)
        return pgy_error_set(err, PGY_E_SHAPE,
                             "tensor '%s' is to be split along axis %lld, but its rank is unknown: "
                             "infer shapes, or give a rank in the hints",
                             t->name, (long long)c->axis);
    if (known > PGY_MAX_RANK || c->axis < 0 || c->axis >= known)
        return pgy_error_set(err, PGY_E_SHAPE,
                             "tensor '%s' is to be split along axis %lld, but has rank %lld",
                             t->name, (long long)c->axis, (long long)known);
    for (int64_t i = 0; i < known; i++) perm[i] = i;
    perm[0] = c->axis;
    perm[c->axis] = 0;
    *rank = (size_t)known;
    return PGY_OK;
}

static pgy_status replace_output(pgy_gs_graph *g, const pgy_gs_tensor *from, pgy_gs_tensor *to,
                                 pgy_error *err)
{
    if (!gs_is_graph_output(g, from)) return PGY_OK;
    pgy_gs_tensor **outputs = mem_calloc(g->output_count, sizeof *outputs);
    if (!outputs) return gs_no_memory(err);
    for (size_t i = 0; i < g->output_count; i++)
        outputs[i] = g->outputs[i] == from ? to : g->outputs[i];
    const pgy_status st = pgy_gs_set_graph_outputs(g, outputs, g->output_count, err);
    mem_free(outputs);
    return st;
}

pgy_status shard_insert(pgy_gs_tensor **out, shard_work *s, pgy_gs_tensor *t, shard_collective c,
                        pgy_error *err)
{
    int64_t perm[PGY_MAX_RANK];
    size_t rank = 0;
    pgy_gs_tensor *last = t;
    pgy_status st = c.axis ? exchange(perm, &rank, t, &c, err) : PGY_OK;
    if (!st && rank) st = shard_transpose(&last, s, last, perm, rank, err);
    if (!st) st = add_collective(&last, s, last, &c, err);
    if (!st && rank) st = shard_transpose(&last, s, last, perm, rank, err);
    if (st) return st;
    /* The first new node is t's last consumer. All consumers move to the new tensor, then this node
     * back to t. */
    pgy_gs_node *first = t->consumers[t->consumer_count - 1];
    st = pgy_gs_replace_uses(t, last, err);
    if (!st) st = pgy_gs_set_input(first, 0, t, err);
    if (!st) st = replace_output(s->g, t, last, err);
    if (!st) *out = last;
    return st;
}
