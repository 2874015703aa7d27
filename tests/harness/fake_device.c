/* SPDX-License-Identifier: Apache-2.0 */
/* Memory and copies of fake devices, and what they tell about themselves. */
#include "harness/fake_device.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "harness/fake_memory.h"
#include "harness/fake_stream.h"

/* ---- Memory --------------------------------------------------------------------------------- */

void *fake_device_reach(device *d, const void *address, size_t size_bytes)
{
    const fake_block *b = fake_block_find(address);
    if (!b || b->owner != d) fake_give_up("%p is not in the memory of '%s'", address, d->name);
    if (b->state == FAKE_RELEASED) fake_give_up("%p on '%s' was released before", address, d->name);
    if (b->state == FAKE_ENQUEUED)
        fake_give_up("%p on '%s' is used before the stream that allocates it has done so", address,
                     d->name);
    const size_t at = (size_t)((const char *)address - b->outside);
    if (at > b->size_bytes || size_bytes > b->size_bytes - at)
        fake_give_up("%zu bytes at %p on '%s' reach beyond the block", size_bytes, address,
                     d->name);
    return b->inside + at;
}

static void run_allocate(fake_task *t, fake_device *d)
{
    (void)d;
    t->block->state = FAKE_LIVE;
}

static void run_release(fake_task *t, fake_device *d)
{
    if (t->block->state != FAKE_LIVE)
        fake_give_up("%p on '%s' is released twice", (void *)t->block->outside, d->device.name);
    fake_block_close(t->block);
}

static pgy_status allocate(void **out, device_stream *s, size_t size_bytes, pgy_error *err)
{
    (void)err;
    fake_enter();
    fake_block *b = fake_block_create(s->device, size_bytes, false);
    fake_enqueue(s, (fake_task){.run = run_allocate, .block = b});
    fake_leave();
    *out = b->outside;
    return PGY_OK;
}

static void release(device_stream *s, void *memory)
{
    fake_enter();
    fake_block *b = fake_block_find(memory);
    if (!b || b->owner != s->device || b->outside != memory || b->inside == memory)
        fake_give_up("%p is released, which '%s' has not allocated", memory, s->device->name);
    fake_enqueue(s, (fake_task){.run = run_release, .block = b});
    fake_leave();
}

static pgy_status allocate_shared(void **out, device *d, size_t size_bytes, pgy_error *err)
{
    (void)err;
    fake_enter();
    fake_block *b = fake_block_create(d, size_bytes, true);
    b->state = FAKE_LIVE;
    fake_leave();
    *out = b->outside;
    return PGY_OK;
}

static void release_shared(device *d, void *memory)
{
    fake_enter();
    fake_block *b = fake_block_find(memory);
    if (!b || b->owner != d || b->outside != memory || b->inside != memory || b->state != FAKE_LIVE)
        fake_give_up("%p is released, which '%s' does not share", memory, d->name);
    fake_block_close(b);
    fake_leave();
}

/* ---- Copies --------------------------------------------------------------------------------- */

static void *reach_host(const void *address)
{
    const fake_block *b = fake_block_find(address);
    if (b && b->outside != b->inside)
        fake_give_up("%p is an address of a device, where one of the host is meant", address);
    return (void *)address;
}

static void run_copy(fake_task *t, fake_device *d)
{
    const bool to_host = t->direction == DEVICE_TO_HOST,
               from_host = t->direction == DEVICE_FROM_HOST;
    void *to = to_host ? reach_host(t->to) : fake_device_reach(&d->device, t->to, t->size_bytes);
    const void *from =
        from_host ? reach_host(t->from) : fake_device_reach(&d->device, t->from, t->size_bytes);
    memmove(to, from, t->size_bytes);
}

static pgy_status copy(device_stream *s, void *to, const void *from, size_t size_bytes,
                       device_direction direction, pgy_error *err)
{
    (void)err;
    if (!size_bytes) return PGY_OK;
    fake_enter();
    if (direction == DEVICE_TO_HOST && !fake_streams_read(reach_host(to), size_bytes))
        fake_poison(to, size_bytes);
    fake_enqueue(s, (fake_task){.run = run_copy,
                                .to = to,
                                .from = from,
                                .size_bytes = size_bytes,
                                .direction = direction,
                                .copies = true});
    fake_leave();
    return PGY_OK;
}

static void run_fill(fake_task *t, fake_device *d)
{
    memset(fake_device_reach(&d->device, t->to, t->size_bytes), t->byte, t->size_bytes);
}

static pgy_status fill(device_stream *s, void *to, uint8_t byte, size_t size_bytes, pgy_error *err)
{
    (void)err;
    if (!size_bytes) return PGY_OK;
    fake_enter();
    fake_enqueue(s, (fake_task){.run = run_fill, .to = to, .byte = byte, .size_bytes = size_bytes});
    fake_leave();
    return PGY_OK;
}

static void run_work(fake_task *t, fake_device *d)
{
    t->work.run(&d->device, t->work.user);
}

void fake_device_enqueue(device_stream *s, fake_work work)
{
    fake_enter();
    fake_enqueue(s, (fake_task){.run = run_work, .work = work});
    fake_leave();
}

/* ---- The device ----------------------------------------------------------------------------- */

static pgy_status describe(device_properties *out, device *d, pgy_error *err)
{
    (void)err;
    *out = (device_properties){
        .memory_bytes = UINT64_C(1) << 32, .clock_ghz = 1, .copy_ns = 100, .copy_rate = 10};
    snprintf(out->description, sizeof out->description, "fake accelerator '%s'", d->name);
    snprintf(out->fingerprint, sizeof out->fingerprint, "%s", ((fake_device *)d)->fingerprint);
    return PGY_OK;
}

static const device_functions FUNCTIONS = {
    .properties = describe,
    .allocate = allocate,
    .release = release,
    .allocate_shared = allocate_shared,
    .release_shared = release_shared,
    .copy = copy,
    .fill = fill,
    .stream_create = fake_stream_create,
    .stream_destroy = fake_stream_destroy,
    .stream_synchronize = fake_stream_synchronize,
    .event_create = fake_event_create,
    .event_destroy = fake_event_destroy,
    .event_record = fake_event_record,
    .event_wait = fake_event_wait,
    .event_synchronize = fake_event_synchronize,
    .event_elapsed = fake_event_elapsed,
};

device *fake_device_create(const char *name, fake_schedule schedule, uint64_t seed)
{
    fake_device *d = fake_need(mem_calloc(1, sizeof *d));
    *d = (fake_device){.device = {.name = name, .kind = FAKE_KIND, .does = &FUNCTIONS},
                       .schedule = schedule,
                       .fingerprint = "fake, driver 1"};
    fake_enter();
    fake_streams_seed(seed);
    fake_leave();
    return &d->device;
}

void fake_device_set_schedule(device *d, fake_schedule schedule, uint64_t seed)
{
    fake_enter();
    ((fake_device *)d)->schedule = schedule;
    fake_streams_seed(seed);
    fake_leave();
}

void fake_device_set_fingerprint(device *d, const char *fingerprint)
{
    ((fake_device *)d)->fingerprint = fingerprint;
}

void fake_device_destroy(device *d)
{
    if (!d) return;
    fake_enter();
    if (fake_streams_any(d)) fake_give_up("a stream of '%s' was not destroyed", d->name);
    if (!fake_block_forget(d)) fake_give_up("memory of '%s' was not released", d->name);
    fake_leave();
    mem_free(d);
}
