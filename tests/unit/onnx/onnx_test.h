/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of this layer share: the small models of tests/data/onnx, a scratch folder, and
 * wire bytes by hand. */
#ifndef ONNX_TEST_H
#define ONNX_TEST_H

#include <polygraphy/onnx.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/str.h"
#include "base/wire.h"
#include "harness/test_folder.h"

#define DATA_PATH TEST_SOURCE_DIR "/tests/data/onnx/"

static pgy_error test_err;

/* Fails the test with the error's text. */
#define OK(call) check_ok((call), #call, __LINE__)
__attribute__((unused)) static void check_ok(pgy_status st, const char *call, int line)
{
    if (st) fail_msg("line %d: %s: %s: %s", line, call, pgy_status_name(st), test_err.text);
}

/* The call must fail with this status and a text that holds `part`. */
#define FAILS(call, status, part) check_fails((call), status, part, __LINE__)
__attribute__((unused)) static void check_fails(pgy_status st, pgy_status wanted, const char *part,
                                                int line)
{
    if (st != wanted || !strstr(test_err.text, part))
        fail_msg("line %d: %s: '%s', wanted %s: '%s'", line, pgy_status_name(st), test_err.text,
                 pgy_status_name(wanted), part);
}

__attribute__((unused)) static pgy_model *load(const char *name)
{
    pgy_model *m = NULL;
    str path = {0};
    str_printf(&path, "%s%s", DATA_PATH, name);
    OK(pgy_model_load(&m, str_text(&path), NULL, &test_err));
    str_deinit(&path);
    return m;
}

/* A path in a folder of this process, which must be removed with scratch_remove. */
static char scratch_folder[TEST_PATH_SIZE];
__attribute__((unused)) static const char *scratch(const char *name)
{
    static char paths[8][256];
    static unsigned next;
    if (!*scratch_folder) {
        test_path(scratch_folder, "onnx_XXXXXX");
        assert_non_null(mkdtemp(scratch_folder));
    }
    char *path = paths[next++ % 8];
    snprintf(path, sizeof(paths[0]), "%s/%s", scratch_folder, name);
    return path;
}

__attribute__((unused)) static void scratch_remove(void)
{
    char command[TEST_PATH_SIZE + 16];
    if (!*scratch_folder) return;
    snprintf(command, sizeof(command), "rm -rf '%s'", scratch_folder);
    assert_int_equal(system(command), 0);
    *scratch_folder = '\0';
}

__attribute__((unused)) static str contents(const char *path)
{
    str s = {0};
    OK(file_read(&s, path, &test_err));
    return s;
}

__attribute__((unused)) static void assert_same_file(const char *a, const char *b)
{
    str x = contents(a), y = contents(b);
    assert_int_equal(x.size, y.size);
    assert_memory_equal(x.data, y.data, x.size);
    str_deinit(&x);
    str_deinit(&y);
}

__attribute__((unused)) static const pgy_onnx_tensor *initializer(const pgy_model *m,
                                                                  const char *name)
{
    const pgy_onnx_graph *g = pgy_model_proto(m)->graph;
    for (size_t i = 0; i < g->initializer_count; i++)
        if (strcmp(g->initializers[i]->name, name) == 0) return g->initializers[i];
    fail_msg("no initializer '%s'", name);
    return NULL;
}

/* ---- Wire by hand --------------------------------------------------------------------------- */

__attribute__((unused)) static void put_int(str *s, uint32_t field, uint64_t v)
{
    wire_put_tag(s, field, WIRE_VARINT);
    wire_put_varint(s, v);
}

__attribute__((unused)) static void put_block(str *s, uint32_t field, const void *data, size_t size)
{
    wire_put_tag(s, field, WIRE_LEN);
    wire_put_varint(s, size);
    str_append_n(s, data, size);
}

__attribute__((unused)) static void put_text(str *s, uint32_t field, const char *text)
{
    put_block(s, field, text, strlen(text));
}

/* Puts `inner` into a field and empties it. */
__attribute__((unused)) static void put_message(str *s, uint32_t field, str *inner)
{
    put_block(s, field, str_text(inner), inner->size);
    str_deinit(inner);
}

/* ir_version and a graph around these graph fields, which are freed. */
__attribute__((unused)) static str model_of(str *graph)
{
    str s = {0};
    put_int(&s, 1, 8);
    put_message(&s, 7, graph);
    return s;
}

/* A model whose only initializer has these TensorProto fields, which are freed. */
__attribute__((unused)) static str model_of_tensor(str *tensor)
{
    str graph = {0};
    put_message(&graph, 5, tensor);
    return model_of(&graph);
}

__attribute__((unused)) static pgy_model *parse(str *bytes)
{
    pgy_model *m = NULL;
    OK(pgy_model_parse(&m, bytes->data, bytes->size, false, NULL, &test_err));
    str_deinit(bytes);
    return m;
}

__attribute__((unused)) static pgy_status try_parse(str *bytes)
{
    pgy_model *m = NULL;
    const pgy_status st = pgy_model_parse(&m, str_text(bytes), bytes->size, false, NULL, &test_err);
    str_deinit(bytes);
    pgy_model_destroy(m);
    return st;
}

#endif
