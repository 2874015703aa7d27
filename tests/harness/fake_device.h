/* SPDX-License-Identifier: Apache-2.0 */
/* An accelerator without hardware, for tests of code that uses devices. It is as strict as the
 * rules of device.h allow, so that mistakes which real hardware often hides crash here.
 *
 *     device *d = fake_device_create("fake:0", FAKE_LATE, 0);
 *     assert_int_equal(device_register(d, NULL), PGY_OK);
 *     ...
 *     device_withdraw(d);
 *     fake_device_destroy(d);
 *
 * - The host cannot access the pages of device memory; the device uses a second mapping of them.
 * New memory is full of signalling NaNs. Released memory is poisoned again and becomes inaccessible
 * to both.
 * - Work runs only when a caller waits for it, and only as much as the wait needs, so a missing
 * wait shows. The order among several streams is random.
 * - A copy reads its source when it runs. The target of a copy to the host is poisoned from the
 * time it is enqueued until it has run.
 *
 * Calls that are always wrong, such as work on released memory, print a sentence and abort. Any
 * number of threads may use it; one runs at a time. */
#ifndef HARNESS_FAKE_DEVICE_H
#define HARNESS_FAKE_DEVICE_H

#include "device/device.h"

#define FAKE_KIND "fake"
#define FAKE_POISON UINT32_C(0x7fb7b7b7) /* a signalling NaN; as an integer, far out of range */

typedef enum fake_schedule {
    FAKE_LATE, /* nothing runs before a caller waits for it */
    FAKE_MIXED /* some work on randomly chosen streams runs earlier, but never copies to the host */
} fake_schedule;

/* The name is borrowed. Running out of memory aborts. */
device *fake_device_create(const char *name, fake_schedule schedule, uint64_t seed);
/* Aborts if a stream or memory was not given back. NULL is fine. */
void fake_device_destroy(device *d);
/* Sets the schedule from now on. The seed applies to all fake devices. */
void fake_device_set_schedule(device *d, fake_schedule schedule, uint64_t seed);
/* Sets the fingerprint that a plan's must equal; borrowed. */
void fake_device_set_fingerprint(device *d, const char *fingerprint);

/* Work that a kernel enqueues: the stream calls `run` when its turn comes, then `drop`. */
typedef struct fake_work {
    void (*run)(device *d, void *user);
    void (*drop)(void *user);
    void *user;
} fake_work;
void fake_device_enqueue(device_stream *s, fake_work work);
/* For running work: the accessible pointer for an address of its device. Aborts unless `size_bytes`
 * bytes are allocated there, the allocation ordered before this work and the release after it.
 */
void *fake_device_reach(device *d, const void *address, size_t size_bytes);

/* Fills memory with FAKE_POISON. */
void fake_poison(void *memory, size_t size_bytes);
/* Calls `f` in a child process. @return true: it returned; false: a signal, abort or the report of
 * a sanitizer ended it. What it prints is dropped. */
bool fake_survives(void (*f)(void *user), void *user);

#endif
