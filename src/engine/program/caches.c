/* SPDX-License-Identifier: Apache-2.0 */
/* Caches in buffers of the caller, which have room for more rows in each head than a run uses: no
 * row of the past is copied. A cache can be kept if one step alone reads the past, the same step
 * alone writes the result, nothing else looks at either, and its kernel can add rows in place. */
#include "base/alloc.h"
#include "engine/program/run_parts.h"

typedef context_user user;

static void note_user(user *users, const program *p, uint32_t tensor, uint32_t step,
                      uint32_t operand)
{
    if (tensor == PROGRAM_NO_TENSOR) return;
    const program_tensor *t = &p->tensors[tensor];
    if (t->place != PROGRAM_INPUT && t->place != PROGRAM_OUTPUT) return;
    user *u = &users[t->place == PROGRAM_INPUT ? t->offset : p->input_count + t->offset];
    *u = (user){.step = step, .operand = operand, .tensor = tensor, .count = u->count + 1};
}

static void find_users(user *users, const program *p)
{
    for (uint32_t i = 0; i < p->step_count; i++) {
        const program_step *s = &p->steps[i];
        const uint32_t count = s->input_count + s->captured_count + s->output_count;
        for (uint32_t k = 0; k < count; k++) note_user(users, p, s->tensors[k], i, k);
    }
    for (size_t i = 0; i < p->mark_count; i++)
        note_user(users, p, p->marks[i].tensor, p->marks[i].step, 0);
}

/* Is it [batch, heads, rows, size] with at most the buffer's rows? */
static bool fits_buffer(const program_tensor *t, const int64_t *shape)
{
    return t->rank == 4 && t->shape[0] == shape[0] && t->shape[1] == shape[1] &&
           t->shape[2] <= shape[2] && t->shape[3] == shape[3] && t->layout == KERNEL_LINEAR;
}

/* Can the kernel that reads x as input `in` add rows to it as output `out`? */
static bool can_add(const program_step *s, const program_tensor *x, const program_tensor *y,
                    uint32_t in, uint32_t out, int64_t rows)
{
    if (!s->kernel || s->act != PROGRAM_RUN || s->space || out < 1 || out > 2) return false;
    if (s->kernel->flags & KERNEL_JOINS_CACHES) return in == out + 3;
    if (in != out + 2) return false;
    return s->kernel->flags & KERNEL_GROWS_CACHES ||
           (s->kernel->flags & KERNEL_SHARES_CACHES && x->shape[2] == rows && y->shape[2] == rows);
}

static void keep(program_cache *cache, program_context *c, const user *users)
{
    const program *p = program_context_program(c);
    const user *read = &users[cache->input], *made = &users[p->input_count + cache->output];
    cache->kept = false;
    if (read->count != 1 || made->count != 1 || read->step != made->step ||
        read->step == PROGRAM_NO_STEP)
        return;
    const program_step *s = &p->steps[read->step];
    const program_tensor *x = &p->tensors[read->tensor], *y = &p->tensors[made->tensor];
    const uint32_t first = s->input_count + s->captured_count, out = made->operand - first;
    if (made->operand < first || read->operand >= s->input_count || x->dtype != y->dtype ||
        !fits_buffer(x, cache->shape) || !fits_buffer(y, cache->shape) ||
        !can_add(s, x, y, read->operand, out, cache->shape[2]))
        return;
    cache->kept = true;
    cache->length = y->shape[2];
    if (s->kernel->flags & (KERNEL_JOINS_CACHES | KERNEL_GROWS_CACHES))
        program_context_set_room(c, read->step, out - 1, cache->room);
}

/* The users are found once: the programs of a range, for which a context is renewed, have the same.
 * Looking at all steps before each run would take longer than all else here, as their memory is not
 * in the caches. */
static pgy_status need_users(program_context *c, pgy_error *err)
{
    if (c->users) return PGY_OK;
    c->users = mem_calloc(c->p->input_count + c->p->output_count + 1, sizeof *c->users);
    if (!c->users) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    find_users(c->users, c->p);
    return PGY_OK;
}

/* A step that has rooms makes an output. */
static void clear_rooms(program_context *c)
{
    const program *p = c->p;
    for (size_t i = p->input_count; c->users && i < p->input_count + p->output_count; i++)
        for (uint32_t which = 0; c->users[i].count && which < 2; which++)
            if (c->users[i].step != PROGRAM_NO_STEP)
                program_context_set_room(c, c->users[i].step, which, (kernel_room){0});
}

pgy_status program_context_keep(program_context *c, program_cache *caches, size_t count,
                                pgy_error *err)
{
    clear_rooms(c);
    const pgy_status st = count ? need_users(c, err) : PGY_OK;
    for (size_t i = 0; !st && i < count; i++) keep(&caches[i], c, c->users);
    return st;
}
