/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"
#include "base/wire.h"
#include "trace/trace.h"

static void add_run(pgy_trace *t)
{
    static const pgy_trace_row ROWS[] = {{10, 0, "runner 0: cpu", "iterations"}, {10, 1, "runner 0: cpu", "layers"}};
    static const struct {
        pgy_trace_event e;
        const char *args;
    } EVENTS[] = {
        {{PGY_TRACE_SLICE, "run 0", "iteration", 0, 0, 61250, true, 0, false, 0, 0}, "{\"index\":0,\"warmup\":false}"},
        {{PGY_TRACE_SLICE, "a\"\\\n\xc3\xa9\xff", "layer", 1, 1000, 40125, true, 0, false, 64, 128}, "{\"layer_id\":0,\"nodes\":[\"x\",\"y\"]}"},
        {{PGY_TRACE_SLICE, "b", "layer", 1, 41125, 19500, true, 0, false, 0, 0}, NULL},
        {{PGY_TRACE_COUNTER, "memory", "", 0, 1000, 0, false, 0, false, 0, 0}, "{\"live_bytes\":49152}"},
        {{PGY_TRACE_INSTANT, "NaN", "check", 1, 60625, 0, true, 0, false, 0, 0}, "{\"tensor\":\"t\",\"count\":4}"},
    };
    pgy_error err = {0};
    for (size_t i = 0; i < 2; i++) {
        size_t row = 99;
        assert_int_equal(pgy_trace_add_row(&row, t, &ROWS[i], &err), PGY_OK);
        assert_int_equal(row, i);
    }
    for (size_t i = 0; i < sizeof EVENTS / sizeof *EVENTS; i++)
        assert_int_equal(pgy_trace_add(t, &EVENTS[i].e, EVENTS[i].args, &err), PGY_OK);
    pgy_trace_sort(t);
    assert_int_equal(pgy_trace_set_number(t, "trace_version", 1, &err), PGY_OK);
    assert_int_equal(pgy_trace_set_text(t, "tool", "test \"x\"", &err), PGY_OK);
}

static pgy_trace *make(void)
{
    pgy_trace *t = NULL;
    assert_int_equal(pgy_trace_create(&t, NULL), PGY_OK);
    add_run(t);
    return t;
}

static char *save(const pgy_trace *t, const char *ending)
{
    char *path = NULL;
    pgy_error err = {0};
    assert_int_equal(file_temp_path(&path, ending, &err), PGY_OK);
    assert_int_equal(pgy_trace_save(path, t, &err), PGY_OK);
    return path;
}

static void test_files__json_has_an_event_per_line(void **state)
{
    static const char EXPECTED[] =
        "{\"ph\":\"X\",\"pid\":10,\"tid\":0,\"ts\":0.000,\"dur\":61.250,\"cat\":\"iteration\",\"name\":\"run 0\","
        "\"args\":{\"index\":0,\"warmup\":false,\"run\":0}},\n"
        "{\"ph\":\"X\",\"pid\":10,\"tid\":1,\"ts\":1.000,\"dur\":40.125,\"cat\":\"layer\",\"name\":\"a\\\"\\\\\\u000a\xc3\xa9\xef\xbf\xbd\","
        "\"args\":{\"layer_id\":0,\"nodes\":[\"x\",\"y\"],\"run\":0}},\n"
        "{\"ph\":\"C\",\"pid\":10,\"tid\":0,\"ts\":1.000,\"name\":\"memory\",\"args\":{\"live_bytes\":49152}},\n"
        "{\"ph\":\"X\",\"pid\":10,\"tid\":1,\"ts\":41.125,\"dur\":19.500,\"cat\":\"layer\",\"name\":\"b\",\"args\":{\"run\":0}},\n"
        "{\"ph\":\"i\",\"pid\":10,\"tid\":1,\"ts\":60.625,\"s\":\"t\",\"cat\":\"check\",\"name\":\"NaN\","
        "\"args\":{\"tensor\":\"t\",\"count\":4,\"run\":0}}\n"
        "],\"otherData\":{\n\"trace_version\":1,\n\"tool\":\"test \\\"x\\\"\"}}\n";
    pgy_trace *t = make();
    char *path = save(t, ".json");
    str text = {0};
    arena memory = {0};
    json_value *root = NULL;
    pgy_error err = {0};
    (void)state;
    assert_int_equal(file_read(&text, path, &err), PGY_OK);
    assert_int_equal(json_parse(&root, text.data, text.size, &memory, &err), PGY_OK);
    assert_non_null(strstr(text.data, "{\"ph\":\"M\",\"pid\":10,\"tid\":1,\"name\":\"thread_name\",\"args\":{\"name\":\"layers\"}}"));
    const char *events = strstr(text.data, "{\"ph\":\"X\"");
    assert_non_null(events);
    assert_string_equal(events, EXPECTED);
    arena_deinit(&memory);
    str_deinit(&text);
    file_temp_release(path);
    pgy_trace_destroy(t);
}

static void test_files__gzip_holds_the_same_text(void **state)
{
    pgy_trace *t = make();
    char *plain = save(t, ".json"), *packed = save(t, ".json.gz");
    char unpacked[8192] = "";
    str text = {0};
    (void)state;
    assert_int_equal(file_read(&text, plain, NULL), PGY_OK);
    gzFile z = gzopen(packed, "rb");
    assert_non_null(z);
    assert_int_equal(gzread(z, unpacked, sizeof unpacked - 1), text.size);
    assert_false(gzdirect(z));
    gzclose(z);
    assert_string_equal(unpacked, text.data);
    str_deinit(&text);
    file_temp_release(plain);
    file_temp_release(packed);
    pgy_trace_destroy(t);
}

/* ---- Perfetto ------------------------------------------------------------------------------- */

typedef struct packets {
    size_t tracks, begins, ends, instants, counters, names;
    uint64_t last_ns;
} packets;

static wire_reader inside(const wire_field *f)
{
    return (wire_reader){f->data, f->data + f->size, f->data};
}

static void read_event(packets *p, wire_reader r)
{
    wire_field f;
    bool more = true;
    while (wire_next(&r, &f, &more, NULL) == PGY_OK && more) {
        p->names += f.number == 23;
        if (f.number != 9) continue;
        p->begins += f.value == 1;
        p->ends += f.value == 2;
        p->instants += f.value == 3;
        p->counters += f.value == 4;
    }
}

static void read_packet(packets *p, wire_reader r)
{
    wire_field f;
    bool more = true;
    while (wire_next(&r, &f, &more, NULL) == PGY_OK && more) {
        if (f.number == 8 && f.value > p->last_ns) p->last_ns = f.value;
        if (f.number == 60) p->tracks++;
        if (f.number == 11) read_event(p, inside(&f));
    }
}

static void test_files__perfetto_has_the_same_slices(void **state)
{
    pgy_trace *t = make();
    char *path = save(t, ".pftrace");
    str text = {0};
    packets p = {0};
    wire_field f;
    bool more = true;
    (void)state;
    assert_int_equal(file_read(&text, path, NULL), PGY_OK);
    wire_reader r = {(const uint8_t *)text.data, (const uint8_t *)text.data + text.size, (const uint8_t *)text.data};
    while (wire_next(&r, &f, &more, NULL) == PGY_OK && more) {
        assert_int_equal(f.number, 1);
        read_packet(&p, inside(&f));
    }
    assert_int_equal(p.tracks, 4); /* a process, two rows, one series */
    assert_int_equal(p.begins, 3);
    assert_int_equal(p.ends, 3);
    assert_int_equal(p.instants, 2); /* with that of the facts */
    assert_int_equal(p.counters, 1);
    assert_int_equal(p.names, 5);
    assert_int_equal(p.last_ns, 61250);
    str_deinit(&text);
    file_temp_release(path);
    pgy_trace_destroy(t);
}

/* ---- The document --------------------------------------------------------------------------- */

static void test_files__events_can_be_read_back(void **state)
{
    pgy_trace *t = make();
    char *args = NULL;
    (void)state;
    const pgy_trace_event e = pgy_trace_event_at(t, 1);
    assert_string_equal(e.category, "layer");
    assert_int_equal(e.start_ns, 1000);
    assert_int_equal(e.duration_ns, 40125);
    assert_true(e.has_run);
    assert_int_equal(e.bytes, 64);
    assert_true(e.flops == 128);
    assert_int_equal(pgy_trace_args(&args, t, 1, NULL), PGY_OK);
    assert_string_equal(args, "{\"layer_id\":0,\"nodes\":[\"x\",\"y\"],\"run\":0}");
    mem_free(args);
    assert_string_equal(pgy_trace_fact(t, "trace_version"), "1");
    assert_null(pgy_trace_fact(t, "absent"));
    pgy_trace_destroy(t);
}

static void test_files__wrong_events_are_refused(void **state)
{
    pgy_trace *t = make();
    pgy_trace_event e = {PGY_TRACE_SLICE, "x", "", 7, 0, 1, false, 0, false, 0, 0};
    pgy_error err = {0};
    (void)state;
    assert_int_equal(pgy_trace_add(t, &e, NULL, &err), PGY_E_ARGUMENT);
    e.row = 0;
    assert_int_equal(pgy_trace_add(t, &e, "[1]", &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "JSON object"));
    e.duration_ns = -1;
    assert_int_equal(pgy_trace_add(t, &e, NULL, &err), PGY_E_ARGUMENT);
    assert_int_equal(pgy_trace_event_count(t), 5);
    pgy_trace_destroy(t);
}

static void test_files__a_path_that_cannot_be_written_fails_at_once(void **state)
{
    pgy_trace_file *f = NULL;
    pgy_error err = {0};
    (void)state;
    assert_int_equal(pgy_trace_file_open(&f, "/dev/null/x.json", &err), PGY_E_IO);
    assert_non_null(strstr(err.text, "/dev/null"));
}

/* Writing to a full disk fails, and is no success for a compressed file either. */
static void test_files__a_full_disk_is_an_error(void **state)
{
    pgy_trace *t = make();
    pgy_error err = {0};
    (void)state;
    if (access("/dev/full", W_OK)) {
        pgy_trace_destroy(t);
        skip();
    }
    assert_int_equal(pgy_trace_save("/dev/full", t, &err), PGY_E_IO);
    assert_non_null(strstr(err.text, "/dev/full"));
    pgy_trace_destroy(t);
}
