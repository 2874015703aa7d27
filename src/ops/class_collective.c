/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/class_collective.h"

#include <string.h>

#include "base/cancel.h"

enum { PIECE = 1 << 16 }; /* elements between two looks for a request to stop */

enum { REDUCES = 1, DIVIDES = 2, GROWS = 4, SHRINKS = 8, ROOTED = 16 };
static const struct {
    const char *name;
    uint32_t traits;
} OPERATIONS[COLLECTIVE_OPERATIONS] = {
    [COLLECTIVE_ALL_REDUCE] = {"all_reduce", REDUCES},
    [COLLECTIVE_ALL_GATHER] = {"all_gather", GROWS},
    [COLLECTIVE_REDUCE_SCATTER] = {"reduce_scatter", REDUCES | DIVIDES | SHRINKS},
    [COLLECTIVE_BROADCAST] = {"broadcast", ROOTED},
    [COLLECTIVE_REDUCE] = {"reduce", REDUCES | ROOTED},
    [COLLECTIVE_GATHER] = {"gather", GROWS | ROOTED},
    [COLLECTIVE_SCATTER] = {"scatter", DIVIDES | SHRINKS | ROOTED},
    [COLLECTIVE_ALL_TO_ALL] = {"all_to_all", DIVIDES},
};
static const char *const REDUCTIONS[COLLECTIVE_REDUCTIONS] = {
    [COLLECTIVE_SUM] = "sum", [COLLECTIVE_PROD] = "prod", [COLLECTIVE_MIN] = "min",
    [COLLECTIVE_MAX] = "max", [COLLECTIVE_AVG] = "avg",   [COLLECTIVE_NONE] = "none"};

static bool has(uint32_t operation, uint32_t trait)
{
    return OPERATIONS[operation].traits & trait;
}

const char *collective_name(uint32_t operation)
{
    return OPERATIONS[operation].name;
}

bool collective_reduces(uint32_t operation)
{
    return has(operation, REDUCES);
}

bool collective_divides(uint32_t operation)
{
    return has(operation, DIVIDES);
}

bool collective_multiplies(uint32_t operation)
{
    return has(operation, GROWS);
}

bool collective_shrinks(uint32_t operation)
{
    return has(operation, SHRINKS);
}

uint64_t collective_out_count(const collective *c)
{
    if (has(c->operation, GROWS)) return c->count * c->ranks;
    return has(c->operation, SHRINKS) ? c->count / c->ranks : c->count;
}

/* ---- Attributes ----------------------------------------------------------------------------- */

static uint32_t word_of(const op_node *n, const char *attribute, const char *const *word,
                        size_t stride, uint32_t count, uint32_t otherwise)
{
    const op_attr *a = op_attr_find(n, attribute);
    if (!a) return otherwise;
    for (uint32_t i = 0; i < count; i++, word = (const void *)((const char *)word + stride))
        if (span_equals(a->s, *word)) return i;
    return count;
}

/* The ranks of `groups`, each once. */
static pgy_status read_group(collective *c, const op_node *n, pgy_error *err)
{
    size_t count;
    const int64_t *groups = op_attr_ints(n, "groups", &count);
    for (size_t i = 0; i < count; i++) {
        if (c->members >> groups[i] & 1)
            return op_error(n, err, PGY_E_FORMAT, "groups has rank %lld twice",
                            (long long)groups[i]);
        c->members |= UINT64_C(1) << groups[i];
    }
    c->ranks = (uint32_t)count;
    return PGY_OK;
}

/* Without groups, all ranks of the run are one group, of a size that group_size or nb_rank tells.
 */
static pgy_status read_size(collective *c, const op_node *n, pgy_error *err)
{
    const int64_t given = op_attr_int(n, "group_size", 0), nb_rank = op_attr_int(n, "nb_rank", 1);
    const int64_t size = given > 0 ? given : nb_rank;
    if (c->ranks && given && given != (int64_t)c->ranks)
        return op_error(n, err, PGY_E_FORMAT, "group_size is %lld, but groups has %u ranks",
                        (long long)given, c->ranks);
    if (c->ranks) return PGY_OK;
    if (given && nb_rank > 1 && given != nb_rank)
        return op_error(n, err, PGY_E_FORMAT,
                        "group_size is %lld, but nb_rank %lld: groups must name the ranks of a "
                        "group that is not all",
                        (long long)given, (long long)nb_rank);
    c->all = 1;
    c->ranks = (uint32_t)size;
    c->members = size == 64 ? UINT64_MAX : (UINT64_C(1) << size) - 1;
    return PGY_OK;
}

pgy_status collective_read(collective *out, const op_node *n, pgy_error *err)
{
    collective c = {.place = span_hash(span_of(n->name)), .root = -1};
    c.operation = word_of(n, "collective_operation", &OPERATIONS[0].name, sizeof OPERATIONS[0],
                          COLLECTIVE_OPERATIONS, COLLECTIVE_OPERATIONS);
    c.reduction = word_of(n, "reduce_op", REDUCTIONS, sizeof REDUCTIONS[0], COLLECTIVE_REDUCTIONS,
                          COLLECTIVE_NONE);
    if (c.operation == COLLECTIVE_OPERATIONS || c.reduction == COLLECTIVE_REDUCTIONS)
        return op_error(n, err, PGY_E_FORMAT,
                        "collective_operation or reduce_op is no known word"); /* checked before */
    pgy_status st = read_group(&c, n, err);
    if (!st) st = read_size(&c, n, err);
    if (st) return st;
    if (has(c.operation, REDUCES) && c.reduction == COLLECTIVE_NONE)
        return op_error(n, err, PGY_E_FORMAT, "%s needs a reduce_op: sum, prod, min, max or avg",
                        collective_name(c.operation));
    if (!has(c.operation, REDUCES)) c.reduction = COLLECTIVE_NONE;
    if (has(c.operation, ROOTED)) {
        const int64_t root = op_attr_int(n, "root", -1);
        if (root < 0 || root >= PGY_MAX_RANKS || !(c.members >> root & 1))
            return op_error(n, err, PGY_E_FORMAT, "root is %lld, which is no rank of the group",
                            (long long)root);
        c.root = (int32_t)root;
    }
    *out = c;
    return PGY_OK;
}

bool collective_is_valid(const collective *c)
{
    if (c->operation >= COLLECTIVE_OPERATIONS || c->reduction >= COLLECTIVE_REDUCTIONS ||
        (c->reduction == COLLECTIVE_NONE) == has(c->operation, REDUCES) || c->all > 1 ||
        !c->ranks || c->ranks != (uint32_t)__builtin_popcountll(c->members) ||
        (c->all && c->members & (c->members + 1)))
        return false;
    if (has(c->operation, DIVIDES) && c->count % c->ranks) return false;
    if (!has(c->operation, ROOTED)) return c->root == -1;
    return c->root >= 0 && c->root < PGY_MAX_RANKS && c->members >> c->root & 1;
}

/* ---- Meeting -------------------------------------------------------------------------------- */

pgy_status collective_find_self(const collective *c, uint32_t *self, pgy_error *err)
{
    int64_t rank;
    const pgy_communicator *com = communicator_current(&rank);
    *self = 0;
    if (!com && c->ranks == 1 && c->members == 1) return PGY_OK;
    if (!com)
        return pgy_error_set(err, PGY_E_DEVICE,
                             "it joins %u ranks, but the model runs alone; "
                             "pgy_runner_create_ranks runs it on several",
                             c->ranks);
    const int64_t ranks = pgy_communicator_ranks(com);
    if (c->all ? ranks != c->ranks : ranks < 64 && c->members >> ranks)
        return pgy_error_set(err, PGY_E_DEVICE,
                             "it joins %s%u ranks, but %lld run: run as many, or shard the model "
                             "for them",
                             c->all ? "all of " : "", c->ranks, (long long)ranks);
    if (!(c->members >> rank & 1))
        return pgy_error_set(err, PGY_E_DEVICE, "rank %lld is not in its groups", (long long)rank);
    *self = (uint32_t)__builtin_popcountll(c->members & ((UINT64_C(1) << rank) - 1));
    return PGY_OK;
}

static pgy_status meet(const collective *c, bool on_device, uint64_t bytes, const void *data,
                       communicator_read read, void *user, pgy_error *err)
{
    const communicator_call call = {.on_device = on_device,
                                    .members = c->members,
                                    .place = c->place,
                                    .bytes = bytes,
                                    .operation = c->operation,
                                    .reduction = c->reduction,
                                    .type = c->type,
                                    .root = c->root,
                                    .name = collective_name(c->operation)};
    return communicator_meet(&call, data, read, user, err);
}

pgy_status collective_meet(const collective *c, uint64_t bytes, const void *data,
                           communicator_read read, void *user, pgy_error *err)
{
    return meet(c, true, bytes, data, read, user, err);
}

/* ---- Computing ------------------------------------------------------------------------------ */

typedef struct computation {
    const collective *c;
    char *out;
    size_t item;
    collective_reducer reduce;
} computation;

static void copy(void *to, const void *from, size_t bytes)
{
    for (size_t done = 0; done < bytes && !cancel_requested();) {
        const size_t size = bytes - done < 8 * PIECE ? bytes - done : 8 * PIECE;
        memcpy((char *)to + done, (const char *)from + done, size);
        done += size;
    }
}

static void reduce(const computation *w, const void *const *data, uint64_t from, uint64_t count)
{
    for (uint64_t i = 0; i < count && !cancel_requested(); i += PIECE)
        w->reduce(w->out + i * w->item, data, w->c, from + i,
                  count - i < PIECE ? count - i : PIECE);
}

static size_t root_index(const collective *c)
{
    return (size_t)__builtin_popcountll(c->members & ((UINT64_C(1) << c->root) - 1));
}

/* What only the root has is zero elsewhere. */
static void compute(const void *const *data, size_t count, size_t self, void *user)
{
    const computation *w = user;
    const collective *c = w->c;
    const uint64_t part = c->count / c->ranks;
    const size_t bytes = c->count * w->item, part_bytes = part * w->item;
    const size_t root = c->root < 0 ? 0 : root_index(c);
    const bool gives = c->root < 0 || root == self;
    switch (c->operation) {
    case COLLECTIVE_ALL_REDUCE: reduce(w, data, 0, c->count); break;
    case COLLECTIVE_REDUCE_SCATTER: reduce(w, data, self * part, part); break;
    case COLLECTIVE_BROADCAST: copy(w->out, data[root], bytes); break;
    case COLLECTIVE_SCATTER:
        copy(w->out, (const char *)data[root] + self * part_bytes, part_bytes);
        break;
    case COLLECTIVE_ALL_TO_ALL:
        for (size_t i = 0; i < count; i++)
            copy(w->out + i * part_bytes, (const char *)data[i] + self * part_bytes, part_bytes);
        break;
    case COLLECTIVE_REDUCE:
        if (gives)
            reduce(w, data, 0, c->count);
        else
            memset(w->out, 0, bytes);
        break;
    default: /* gathers */
        for (size_t i = 0; i < count && gives; i++) copy(w->out + i * bytes, data[i], bytes);
        if (!gives) memset(w->out, 0, bytes * count);
        break;
    }
}

pgy_status collective_run(const collective *c, void *out, const void *in, size_t item,
                          collective_reducer reduce_elements, pgy_error *err)
{
    uint32_t self;
    computation w = {c, out, item, reduce_elements};
    const pgy_status st = collective_find_self(c, &self, err);
    if (st) return st;
    if (c->ranks > 1) return meet(c, false, c->count * item, in, compute, &w, err);
    copy(out, in, c->count * item);
    return PGY_OK;
}
