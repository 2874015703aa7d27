/* SPDX-License-Identifier: Apache-2.0 */
/* Live ranges: a tensor lives from the step that writes it to the last step that reads it or a view
 * of it, a workspace only during its step. An output takes over the memory of an input whose last
 * reader is this step, if the kernel can work in place. */
#include <string.h>

#include "base/alloc.h"
#include "engine/program/range_parts.h"

static size_t read_count(const program_step *s)
{
    return (size_t)s->input_count + s->captured_count;
}

/* The last step during which step i may read its operand k: a copy goes on reading host memory
 * while later steps run. */
static uint32_t last_read(const builder *b, uint32_t i, size_t k)
{
    const program_step *s = &b->p->steps[i];
    const bool later = s->act == PROGRAM_COPY && k == 0 && !b->tensors[s->tensors[k]].t.space;
    return later ? build_last_use(b, i) : i;
}

void build_find_lives(const builder *b, build_life *lives)
{
    const program *p = b->p;
    for (uint32_t i = 0; i < p->step_count; i++) {
        const program_step *s = &p->steps[i];
        const size_t reads = read_count(s);
        for (size_t k = 0; k < reads + s->output_count; k++) {
            if (s->tensors[k] == PROGRAM_NO_TENSOR) continue;
            build_life *l = &lives[build_root(b, s->tensors[k])];
            if (k >= reads && !l->written) l->first = i;
            if (k >= reads) l->written = true;
            const uint32_t last = last_read(b, i, k);
            if (last > l->last) l->last = last;
        }
    }
}

/* Does the step read this tensor as one operand only? Else writing in place would overwrite the
 * other operand. */
static bool is_read_once(const builder *b, const program_step *s, uint32_t root)
{
    size_t reads = 0;
    for (size_t i = 0; i < read_count(s); i++)
        reads += s->tensors[i] != PROGRAM_NO_TENSOR && build_root(b, s->tensors[i]) == root;
    return reads == 1;
}

static void share(builder *b, build_life *lives, uint32_t index)
{
    const program_step *s = &b->p->steps[index];
    if (!s->kernel || s->plan.in_place < 0 || (uint32_t)s->plan.in_place >= s->input_count ||
        !s->output_count)
        return;
    const uint32_t from = s->tensors[s->plan.in_place], to = s->tensors[read_count(s)];
    if (from == PROGRAM_NO_TENSOR || to == PROGRAM_NO_TENSOR) return;
    const uint32_t source = build_root(b, from);
    const build_tensor *x = &b->tensors[source], *y = &b->tensors[to];
    if (x->t.place != PROGRAM_ARENA || y->t.place != PROGRAM_ARENA || y->root != to ||
        lives[source].last != index || x->t.size_bytes != y->t.size_bytes ||
        build_within(b, from) || b->tensors[from].t.size_bytes != x->t.size_bytes ||
        x->t.space != y->t.space || !is_read_once(b, s, source))
        return;
    b->tensors[to].root = source;
    lives[source].last = lives[to].last;
}

static uint64_t round_up(uint64_t size_bytes, uint64_t unit)
{
    return (size_bytes + unit - 1) / unit * unit;
}

/* Collects what needs an offset in the arena of a space: tensors that own memory, and workspaces,
 * which live for one step. An owner is a tensor, or the number of tensors + a step. */
static size_t gather(const builder *b, uint32_t space, const build_life *lives,
                     program_interval *items, uint32_t *owners)
{
    const program *p = b->p;
    const uint64_t unit = space ? PROGRAM_DEVICE_ALIGNMENT : 1;
    size_t count = 0;
    for (uint32_t i = 0; i < b->tensor_count; i++) {
        const build_tensor *t = &b->tensors[i];
        if (build_root(b, i) != i || t->t.place != PROGRAM_ARENA || t->t.space != space ||
            !lives[i].written)
            continue;
        owners[count] = i;
        items[count++] = (program_interval){.first = lives[i].first,
                                            .last = lives[i].last,
                                            .size_bytes = round_up(t->t.size_bytes, unit)};
    }
    for (uint32_t i = 0; i < p->step_count; i++) {
        const program_step *s = &p->steps[i];
        if (!s->kernel || s->space != space || !s->plan.workspace_bytes) continue;
        owners[count] = (uint32_t)b->tensor_count + i;
        items[count++] = (program_interval){
            .first = i, .last = i, .size_bytes = round_up(s->plan.workspace_bytes, unit)};
    }
    return count;
}

static pgy_status place_space(builder *b, uint32_t space, const build_life *lives, pgy_error *err)
{
    program *p = b->p;
    program_space *to = &p->spaces[space];
    const size_t most = b->tensor_count + p->step_count + 1;
    program_interval *items = mem_calloc(most, sizeof *items);
    uint32_t *owners = mem_calloc(most, sizeof *owners);
    pgy_status st = items && owners ? PGY_OK
                                    : pgy_error_set(err, PGY_E_MEMORY,
                                                    "out of memory while planning the arena");
    const size_t count = st ? 0 : gather(b, space, lives, items, owners);
    if (!st) st = program_place_intervals(items, count, &to->arena_bytes, &to->arena_bound, err);
    for (size_t i = 0; !st && i < count; i++) {
        if (owners[i] < b->tensor_count)
            b->tensors[owners[i]].t.offset = items[i].offset;
        else
            p->steps[owners[i] - b->tensor_count].workspace_offset = items[i].offset;
    }
    if (!st && b->options->range && !space) st = range_note_slots(b, items, owners, count, err);
    mem_free(items);
    mem_free(owners);
    return st;
}

pgy_status build_arena(builder *b, pgy_error *err)
{
    build_life *lives = mem_calloc(b->tensor_count + 1, sizeof *lives);
    if (!lives) return pgy_error_set(err, PGY_E_MEMORY, "out of memory while planning the arena");
    build_find_lives(b, lives);
    for (uint32_t i = 0; i < b->p->step_count; i++) share(b, lives, i);
    pgy_status st = PGY_OK;
    for (uint32_t i = 0; !st && i < b->p->space_count; i++) st = place_space(b, i, lives, err);
    for (uint32_t i = 0; i < b->tensor_count; i++) {
        const program_tensor *root = &b->tensors[build_root(b, i)].t;
        b->tensors[i].t.place = root->place;
        b->tensors[i].t.offset = root->offset + build_within(b, i);
        b->tensors[i].t.data = root->data;
    }
    mem_free(lives);
    return st;
}
