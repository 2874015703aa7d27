/* SPDX-License-Identifier: Apache-2.0 */
/* The memories of a program. Constants are kept on the host, where a plan maps them; each device
 * gets its own copy when the first context needs it. */
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "engine/program/program.h"

static const char LOG_PATH[] = "engine/program/spaces.c";

static pthread_mutex_t uploading = PTHREAD_MUTEX_INITIALIZER;

static pgy_status describe_space(program_space *s, program *p, device *d, pgy_error *err)
{
    device_properties properties;
    const pgy_status st = device_describe(&properties, d, err);
    if (st) return pgy_error_prefix(err, st, "device '%s': ", d->name);
    s->device = d;
    s->copy_ns = properties.copy_ns;
    s->copy_rate = properties.copy_rate;
    s->name = arena_strdup(&p->memory, d->name);
    s->fingerprint = arena_strdup(&p->memory, properties.fingerprint);
    return s->name && s->fingerprint ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

pgy_status program_find_spaces(program *p, const pgy_build_config *config, pgy_error *err)
{
    const pgy_name_list *names = &config->devices;
    p->spaces[0] = (program_space){.device = device_host(), .name = device_host()->name};
    p->space_count = 1;
    if (names->count >= PROGRAM_MAX_SPACES)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "the configuration names %zu devices; an engine has at most %d",
                             names->count, PROGRAM_MAX_SPACES - 1);
    for (size_t i = 0; i < names->count; i++) {
        device *d = NULL;
        const pgy_status found = device_open(&d, names->items[i], err);
        if (found) return found;
        for (uint32_t k = 0; k < p->space_count; k++)
            if (p->spaces[k].device == d)
                return pgy_error_set(err, PGY_E_ARGUMENT,
                                     k ? "the configuration names device '%s' twice"
                                       : "device '%s' is always used: name only additional devices "
                                         "in the configuration",
                                     d->name);
        const pgy_status st = describe_space(&p->spaces[p->space_count++], p, d, err);
        if (st) return st;
    }
    return PGY_OK;
}

/* Only a stream shows that a device can be used: its memory may be full, or its owner another
 * process. */
static pgy_status try_device(device *d, pgy_error *err)
{
    device_stream *s = NULL;
    const pgy_status st = device_stream_create(&s, d, err);
    device_stream_destroy(s);
    return st;
}

pgy_status program_check_devices(const pgy_build_config *config, pgy_error *err)
{
    program p = {0};
    pgy_status st = program_find_spaces(&p, config, err);
    for (uint32_t i = 1; !st && i < p.space_count; i++) st = try_device(p.spaces[i].device, err);
    arena_deinit(&p.memory);
    return st;
}

void program_drop_devices(pgy_build_config *config, const char *kept[PROGRAM_MAX_SPACES])
{
    const pgy_name_list all = config->devices;
    if (!config->gpu_fallback || all.count >= PROGRAM_MAX_SPACES) return;
    config->devices = (pgy_name_list){.items = kept};
    for (size_t i = 0; i < all.count; i++) {
        pgy_error why = {0};
        const pgy_build_config one = {.devices = {.items = all.items + i, .count = 1}};
        if (!program_check_devices(&one, &why))
            kept[config->devices.count++] = all.items[i];
        else
            LOG(WARNING, "The engine is built without device '%s': %s", all.items[i], why.text);
    }
}

double program_copy_ns(const program *p, uint32_t space, double size_bytes)
{
    const program_space *s = &p->spaces[space];
    return s->copy_ns + (s->copy_rate > 0 ? size_bytes / s->copy_rate : 0);
}

pgy_status program_add_piece(uint64_t *offset, program *p, uint32_t space, packed_piece *piece,
                             pgy_error *err)
{
    enum { ALIGNMENT = 64 };
    program_space *s = &p->spaces[space];
    const uint64_t size_bytes = packed_piece_bytes(piece);
    const uint64_t start = (s->constant_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (!mem_grow((void **)&s->pieces, &s->piece_capacity, s->piece_count + 1, sizeof *s->pieces)) {
        packed_piece_release(piece);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory while building the program");
    }
    s->pieces[s->piece_count++] = (program_piece){.data = packed_piece_data(piece),
                                                  .offset = start,
                                                  .size_bytes = size_bytes,
                                                  .piece = piece};
    s->constant_bytes = start + size_bytes;
    *offset = start;
    return PGY_OK;
}

static pgy_status upload_piece(const program_space *s, const program_piece *from, pgy_error *err)
{
    if (!from->size_bytes) return PGY_OK;
    return device_copy(s->stream, (char *)s->resident + from->offset, from->data, from->size_bytes,
                       DEVICE_FROM_HOST, err);
}

static pgy_status upload(program_space *s, pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (s->resident || !s->constant_bytes || !s->piece_count) return PGY_OK;
    if (!s->stream) st = device_stream_create(&s->stream, s->device, err);
    if (!st) st = device_allocate(&s->resident, s->stream, s->constant_bytes, err);
    for (size_t i = 0; !st && i < s->piece_count; i++) st = upload_piece(s, &s->pieces[i], err);
    if (!st) st = device_stream_synchronize(s->stream, err);
    if (st && s->stream) {
        device_release(s->stream, s->resident);
        s->resident = NULL;
    }
    return st ? pgy_error_prefix(err, st, "copying weights to device '%s': ", s->name) : PGY_OK;
}

pgy_status program_make_resident(program *p, pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (p->space_count == 1) return PGY_OK;
    pthread_mutex_lock(&uploading);
    for (uint32_t i = 1; !st && i < p->space_count; i++) st = upload(&p->spaces[i], err);
    pthread_mutex_unlock(&uploading);
    return st;
}

void program_release_spaces(program *p)
{
    for (uint32_t i = 0; i < PROGRAM_MAX_SPACES; i++) {
        program_space *s = &p->spaces[i];
        if (s->stream) device_release(s->stream, s->resident);
        device_stream_destroy(s->stream);
        for (size_t k = 0; k < s->piece_count; k++) packed_piece_release(s->pieces[k].piece);
        mem_free(s->pieces);
    }
}
