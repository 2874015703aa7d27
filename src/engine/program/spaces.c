/* SPDX-License-Identifier: Apache-2.0 */
/* The memories of a program. Constants are kept on the host, where a plan maps them; each device
 * gets its own copy when the first context needs it. */
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/str.h"
#include "engine/program/program.h"

static pthread_mutex_t uploading = PTHREAD_MUTEX_INITIALIZER;

static pgy_status unknown_device(const char *name, pgy_error *err)
{
    str names = {0};
    device *d;
    for (size_t i = 0; (d = device_at(i)); i++) str_printf(&names, "%s%s", i ? ", " : "", d->name);
    pgy_error_set(err, PGY_E_NOT_FOUND, "there is no device '%s'; this process has: %s", name,
                  str_text(&names));
    str_deinit(&names);
    return PGY_E_NOT_FOUND;
}

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
        device *d = device_find(names->items[i]);
        if (!d) return unknown_device(names->items[i], err);
        for (uint32_t k = 0; k < p->space_count; k++)
            if (p->spaces[k].device == d)
                return pgy_error_set(err, PGY_E_ARGUMENT,
                                     k ? "the configuration names device '%s' twice"
                                       : "'%s' is always there: a configuration names what else "
                                         "nodes may run on",
                                     d->name);
        const pgy_status st = describe_space(&p->spaces[p->space_count++], p, d, err);
        if (st) return st;
    }
    return PGY_OK;
}

pgy_status program_check_devices(const pgy_build_config *config, pgy_error *err)
{
    program p = {0};
    const pgy_status st = program_find_spaces(&p, config, err);
    arena_deinit(&p.memory);
    return st;
}

double program_copy_ns(const program *p, uint32_t space, double size_bytes)
{
    const program_space *s = &p->spaces[space];
    return s->copy_ns + (s->copy_rate > 0 ? size_bytes / s->copy_rate : 0);
}

static pgy_status upload(program_space *s, pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (s->resident || !s->constant_bytes || !s->constants) return PGY_OK;
    if (!s->stream) st = device_stream_create(&s->stream, s->device, err);
    if (!st) st = device_allocate(&s->resident, s->stream, s->constant_bytes, err);
    if (!st)
        st = device_copy(s->stream, s->resident, s->constants, s->constant_bytes, DEVICE_FROM_HOST,
                         err);
    if (!st) st = device_stream_synchronize(s->stream, err);
    if (st && s->stream) {
        device_release(s->stream, s->resident);
        s->resident = NULL;
    }
    return st ? pgy_error_prefix(err, st, "weights for device '%s': ", s->name) : PGY_OK;
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
        if (!p->mapped) mem_free(s->constants);
    }
}
