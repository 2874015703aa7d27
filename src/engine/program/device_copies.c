/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/program/device_copies.h"

#include <string.h>

#include "base/alloc.h"

/* MOST: of all copies of a graph. More is left to the device's copy engine, which copies one piece
 * while the host brings the next. */
enum { MOST = 1 << 20, ALIGNMENT = 256 };

typedef struct device_copy_step {
    uint32_t step;
    device_copy_way way;
    size_t offset, size_bytes; /* in the room */
    void *const *addresses;    /* of its tensors, in a run */
} device_copy_step;

/* ---- Which ---------------------------------------------------------------------------------- */

static bool is_copied_from(const program *p, uint32_t tensor)
{
    for (size_t i = 0; i < p->step_count; i++)
        if (p->steps[i].act == PROGRAM_COPY && p->steps[i].tensors[0] == tensor) return true;
    return false;
}

/* With several devices another one could read what the host has not taken from the room. */
device_copy_way device_copy_way_of(const program *p, uint32_t step)
{
    const program_step *s = &p->steps[step];
    if (s->act != PROGRAM_COPY || p->space_count != 2 || !device_carries(p->spaces[1].device))
        return COPY_OTHER;
    const program_tensor *from = &p->tensors[s->tensors[0]], *to = &p->tensors[s->tensors[1]];
    if (!from->size_bytes || from->size_bytes > MOST) return COPY_OTHER;
    if (!from->space && from->place == PROGRAM_INPUT && to->space) return COPY_IN;
    if (from->space && !to->space && to->place == PROGRAM_OUTPUT &&
        !is_copied_from(p, s->tensors[1]))
        return COPY_OUT;
    return COPY_OTHER;
}

static size_t room_of(const program *p, uint32_t step)
{
    const size_t size = p->tensors[p->steps[step].tensors[0]].size_bytes;
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

bool device_copies_fit(size_t *room_bytes, const program *p, uint32_t step)
{
    if (*room_bytes + room_of(p, step) > MOST) return false;
    *room_bytes += room_of(p, step);
    return true;
}

bool device_copies_add(device_copies *c, const program *p, uint32_t step)
{
    const program_step *s = &p->steps[step];
    if (!mem_grow((void **)&c->items, &c->capacity, c->count + 1, sizeof *c->items)) return false;
    const device_copy_step made = {.step = step,
                                   .way = device_copy_way_of(p, step),
                                   .offset = c->room_bytes,
                                   .size_bytes = p->tensors[s->tensors[0]].size_bytes};
    c->items[c->count++] = made;
    c->room_bytes += room_of(p, step);
    c->device = p->spaces[s->space].device;
    c->goes_out |= made.way == COPY_OUT;
    return true;
}

void device_copies_deinit(device_copies *c)
{
    if (c->room) device_release_shared(c->device, c->room);
    mem_free(c->items);
    *c = (device_copies){0};
}

/* ---- Enqueuing ------------------------------------------------------------------------------ */

static device_copy_step *find(const device_copies *c, uint32_t step)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->items[i].step == step) return &c->items[i];
    return NULL;
}

void device_copies_place(device_copies *c, uint32_t step, void *const *addresses)
{
    device_copy_step *s = find(c, step);
    if (s) s->addresses = addresses;
}

pgy_status device_copies_open(device_copies *c, device_stream *s, pgy_error *err)
{
    void *made = NULL;
    if (!c->count || c->room) return PGY_OK;
    pgy_status st = device_carry(s, NULL, NULL, 0, err);
    if (!st) st = device_allocate_shared(&made, c->device, c->room_bytes, err);
    c->room = made;
    return st;
}

pgy_status device_copies_enqueue(const device_copies *c, uint32_t step, device_stream *s,
                                 pgy_error *err)
{
    const device_copy_step *own = find(c, step);
    char *room = c->room + own->offset;
    return own->way == COPY_IN ? device_carry(s, own->addresses[1], room, own->size_bytes, err)
                               : device_carry(s, room, own->addresses[0], own->size_bytes, err);
}

/* ---- On the host ---------------------------------------------------------------------------- */

void device_copies_bring(const device_copies *c)
{
    for (const device_copy_step *s = c->items; s < c->items + c->count; s++)
        if (s->way == COPY_IN) memcpy(c->room + s->offset, s->addresses[0], s->size_bytes);
}

void device_copies_ready(const device_copies *c)
{
    for (const device_copy_step *s = c->items; s < c->items + c->count; s++)
        if (s->way == COPY_OUT) mem_ready(s->addresses[1], s->size_bytes);
}

void device_copies_take(const device_copies *c)
{
    for (const device_copy_step *s = c->items; s < c->items + c->count; s++)
        if (s->way == COPY_OUT) memcpy(s->addresses[1], c->room + s->offset, s->size_bytes);
}
