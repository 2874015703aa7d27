/* SPDX-License-Identifier: Apache-2.0 */
/* An accelerator without hardware, for tests of code that uses devices. It is as unkind as the
 * rules of device.h allow, so that a mistake which hardware forgives now and then is a crash here.
 *
 *     device *d = fake_device_create("fake:0", FAKE_LATE, 0);
 *     assert_int_equal(device_register(d, NULL), PGY_OK);
 *     ...
 *     device_withdraw(d);
 *     fake_device_destroy(d);
 *
 * - The host has no access to the pages of its memory; the device reaches them by a second mapping.
 *   Memory is full of signalling NaNs at first. Released memory is poisoned again, and then nobody
 *   has access to it.
 * - Work runs when somebody waits for it, and then no more than the wait needs: work that the wait
 *   is not ordered behind has not run yet. Among several streams the order is drawn at random.
 * - A copy reads its source when it runs. Where a copy to the host is going to write, there is
 *   poison from when it is enqueued until it has run.
 *
 * What is a mistake of the caller in any case, such as work on memory that was released, prints a
 * sentence and aborts. Any number of threads may use it, one at a time. */
#ifndef HARNESS_FAKE_DEVICE_H
#define HARNESS_FAKE_DEVICE_H

#include "device/device.h"

#define FAKE_KIND "fake"
#define FAKE_POISON UINT32_C(0x7fb7b7b7) /* a signalling NaN; as an integer, far out of range */

typedef enum fake_schedule {
    FAKE_LATE, /* nothing runs before it is waited for */
    FAKE_MIXED /* some work runs ahead, on streams that are drawn; copies to the host never do */
} fake_schedule;

/* The name is borrowed. Running out of memory aborts. */
device *fake_device_create(const char *name, fake_schedule schedule, uint64_t seed);
/* Aborts if a stream or memory was not given back. NULL is fine. */
void fake_device_destroy(device *d);
/* From now on; the seed is for all fake devices. */
void fake_device_set_schedule(device *d, fake_schedule schedule, uint64_t seed);
/* What plans are held against; borrowed. */
void fake_device_set_fingerprint(device *d, const char *fingerprint);

/* What a kernel enqueues: `run` is called when the stream gets there, then `drop`. */
typedef struct fake_work {
    void (*run)(device *d, void *user);
    void (*drop)(void *user);
    void *user;
} fake_work;
void fake_device_enqueue(device_stream *s, fake_work work);
/* For work that runs: where it reaches an address of its device. Aborts if there is no memory of
 * `size_bytes` there, or if its allocation or release are not ordered so that it is there now. */
void *fake_device_reach(device *d, const void *address, size_t size_bytes);

/* Fills with FAKE_POISON. */
void fake_poison(void *memory, size_t size_bytes);
/* Calls `f` in a child process. @return true: it returned; false: a signal, abort or the report of
 * a sanitizer ended it. What it prints is dropped. */
bool fake_survives(void (*f)(void *user), void *user);

#endif
