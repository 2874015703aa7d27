/* SPDX-License-Identifier: Apache-2.0 */
/* The list of the process's devices: the host, then the registered ones. */
#include <pthread.h>
#include <string.h>

#include "device/host.h"

enum { MAX_DEVICES = 64 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static device *registered[MAX_DEVICES];
static size_t count;

device *device_host(void)
{
    return &DEVICE_HOST;
}

device *device_at(size_t i)
{
    if (i == 0) return &DEVICE_HOST;
    pthread_mutex_lock(&lock);
    device *d = i <= count ? registered[i - 1] : NULL;
    pthread_mutex_unlock(&lock);
    return d;
}

device *device_find(const char *name)
{
    device *d;
    for (size_t i = 0; (d = device_at(i)); i++)
        if (strcmp(d->name, name) == 0) return d;
    return NULL;
}

pgy_status device_register(device *d, pgy_error *err)
{
    pthread_mutex_lock(&lock);
    bool known = strcmp(d->name, DEVICE_HOST.name) == 0;
    for (size_t i = 0; i < count; i++) known |= strcmp(d->name, registered[i]->name) == 0;
    const bool room = count < MAX_DEVICES;
    if (room && !known) registered[count++] = d;
    pthread_mutex_unlock(&lock);
    if (known)
        return pgy_error_set(err, PGY_E_ARGUMENT, "a device named '%s' is already registered",
                             d->name);
    if (!room)
        return pgy_error_set(err, PGY_E_MEMORY,
                             "cannot register device '%s': a process has at most %d devices",
                             d->name, MAX_DEVICES + 1);
    return PGY_OK;
}

void device_withdraw(device *d)
{
    pthread_mutex_lock(&lock);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (registered[i] != d) registered[kept++] = registered[i];
    count = kept;
    pthread_mutex_unlock(&lock);
}
