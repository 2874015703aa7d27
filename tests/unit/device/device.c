/* SPDX-License-Identifier: Apache-2.0 */
/* The host as a device, and the list of devices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "device/host.h"

static void test_device__host_does_work_at_once(void **state)
{
    (void)state;
    pgy_error err = {0};
    device_stream *s = NULL;
    void *memory = NULL, *shared = NULL;
    char back[4] = "";
    assert_int_equal(device_stream_create(&s, device_host(), &err), PGY_OK);
    assert_int_equal(device_allocate(&memory, s, 64, &err), PGY_OK);
    assert_int_equal(device_allocate_shared(&shared, device_host(), 64, &err), PGY_OK);
    assert_int_equal((uintptr_t)memory % 64, 0);
    assert_int_equal(device_fill(s, memory, 'x', 64, &err), PGY_OK);
    assert_int_equal(device_copy(s, memory, "ab", 2, DEVICE_FROM_HOST, &err), PGY_OK);
    assert_int_equal(device_copy(s, shared, memory, 64, DEVICE_WITHIN, &err), PGY_OK);
    assert_int_equal(device_copy(s, back, shared, 3, DEVICE_TO_HOST, &err), PGY_OK);
    assert_string_equal(back, "abx");
    assert_int_equal(device_stream_synchronize(s, &err), PGY_OK);
    device_release(s, memory);
    device_release_shared(device_host(), shared);
    device_stream_destroy(s);
}

static void test_device__events_of_the_host_tell_time(void **state)
{
    (void)state;
    pgy_error err = {0};
    device_stream *s = NULL;
    device_event *first = NULL, *second = NULL;
    double ns = -1;
    assert_int_equal(device_stream_create(&s, device_host(), &err), PGY_OK);
    assert_int_equal(device_event_create(&first, device_host(), &err), PGY_OK);
    assert_int_equal(device_event_create(&second, device_host(), &err), PGY_OK);
    assert_int_equal(device_event_record(first, s, &err), PGY_OK);
    assert_int_equal(device_event_elapsed(&ns, first, second, &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "never recorded"));
    assert_int_equal(device_event_record(second, s, &err), PGY_OK);
    assert_int_equal(device_event_wait(s, second, &err), PGY_OK);
    assert_int_equal(device_event_synchronize(second, &err), PGY_OK);
    assert_int_equal(device_event_elapsed(&ns, first, second, &err), PGY_OK);
    assert_true(ns >= 0);
    device_event_destroy(first);
    device_event_destroy(second);
    device_stream_destroy(s);
}

static void test_device__properties_of_the_host(void **state)
{
    (void)state;
    device_properties p = {0};
    pgy_error err = {0};
    assert_int_equal(device_describe(&p, device_host(), &err), PGY_OK);
    assert_non_null(strstr(p.description, "processors"));
    assert_string_equal(p.fingerprint, "host");
    assert_true(p.memory_bytes > 0);
}

static void test_device__list_has_the_host_first(void **state)
{
    (void)state;
    pgy_error err = {0};
    device other = {.name = "second:0", .kind = "second", .does = &DEVICE_HOST_FUNCTIONS};
    device twin = {.name = "second:0", .kind = "second", .does = &DEVICE_HOST_FUNCTIONS};
    assert_ptr_equal(device_at(0), device_host());
    assert_null(device_at(1));
    assert_null(device_find("second:0"));
    assert_int_equal(device_register(&other, &err), PGY_OK);
    assert_ptr_equal(device_at(1), &other);
    assert_ptr_equal(device_find("second:0"), &other);
    assert_int_equal(device_register(&twin, &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text, "a device named 'second:0' is already registered");
    device_withdraw(&other);
    assert_null(device_find("second:0"));
    assert_ptr_equal(device_find("host"), device_host());
}
