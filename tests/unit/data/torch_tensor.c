/* SPDX-License-Identifier: Apache-2.0 */
/* The pickle of one tensor: what torch.save emits is understood, and nothing that would reach
 * beyond its storage or run code is. */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <string.h>

#include "base/str.h"
#include "data/pickle.h"
#include "data/torch_tensor.h"

/* ('storage', <class>, '0', 'cpu', <count>) as a persistent id */
#define STORAGE(class, count)             \
    "((X\x07\0\0\0storageq\x01"           \
    "ctorch\n" class "\nq\x02X\x01\0\0\0" \
                     "0X\x03\0\0\0cpuK" count "tQ"
#define BEGIN  \
    "\x80\x02" \
    "ctorch._utils\n_rebuild_tensor_v2\nq\x00"
#define HOOKS \
    "\x89"    \
    "ccollections\nOrderedDict\n)R"
#define END "tR."

static pgy_status read(pickle_tensor *out, const char *bytes, size_t size, pgy_error *err)
{
    return pickle_tensor_read(out, bytes, size, err);
}
#define READ(out, literal, err) read(out, literal, sizeof(literal) - 1, err)

static void test_torch_tensor__pickle_of_a_transposed_tensor(void **state)
{
    (void)state;
    pickle_tensor p;
    pgy_error err = {0};
    if (READ(&p,
             BEGIN STORAGE("BFloat16Storage", "\x06") "K\x00K\x03K\x02\x86K\x01K\x03\x86" HOOKS END,
             &err))
        fail_msg("%s", err.text);
    assert_int_equal(p.dtype, PGY_BF16);
    assert_int_equal(p.rank, 2);
    assert_int_equal(p.shape[0], 3);
    assert_int_equal(p.strides[1], 3);
    assert_int_equal(p.storage_bytes, 12);
    assert_true(span_equals(p.key, "0"));
}

static void test_torch_tensor__every_cut_is_refused(void **state)
{
    (void)state;
    static const char WHOLE[] =
        BEGIN STORAGE("FloatStorage", "\x06") "K\x00K\x03\x85K\x01\x85" HOOKS END;
    pickle_tensor p;
    for (size_t size = 0; size < sizeof WHOLE - 2; size++) {
        char copy[sizeof WHOLE];
        memcpy(copy, WHOLE, size);
        assert_int_equal(read(&p, copy, size, NULL), PGY_E_FORMAT);
    }
    assert_int_equal(
        READ(&p, BEGIN STORAGE("FloatStorage", "\x06") "K\x00K\x03\x85K\x01\x85" HOOKS END, NULL),
        PGY_OK);
}

static void assert_pickle_refused(const char *bytes, size_t size, const char *expected)
{
    pickle_tensor p;
    pgy_error err = {0};
    assert_int_equal(read(&p, bytes, size, &err), PGY_E_FORMAT);
    if (!strstr(err.text, expected)) fail_msg("'%s' lacks '%s'", err.text, expected);
}
#define REFUSED(literal, expected) assert_pickle_refused(literal, sizeof(literal) - 1, expected)

static void test_torch_tensor__other_pickles_are_refused(void **state)
{
    (void)state;
    REFUSED("\x80\x02"
            "cos\nsystem\nX\x02\0\0\0ls\x85R.",
            "calls another function");
    REFUSED("\x80\x02]q\x00.", "an instruction that a plain tensor does not need");
    REFUSED("\x80\x02K\x01.", "a value other than a tensor");
    REFUSED("\x80\x09N.", "unknown protocol");
    REFUSED("\x80\x02R.", "empty stack");
    REFUSED("\x80\x02t.", "empty stack");
    REFUSED("\x80\x02\x87.", "empty stack");
    REFUSED("\x80\x02K\x01K\x02.", "more than one object");
    REFUSED(BEGIN STORAGE("QInt8Storage", "\x06") "K\x00K\x03\x85K\x01\x85" HOOKS END,
            "type is unknown");
    REFUSED(BEGIN STORAGE("FloatStorage", "\x06") "K\x00K\x03\x85)" HOOKS END,
            "other arguments than that of a plain tensor");
    REFUSED(BEGIN STORAGE("FloatStorage", "\x06") "K\x00J\xff\xff\xff\xff\x85K\x01\x85" HOOKS END,
            "not lists of sizes");
    char deep[1000];
    memset(deep, '(', sizeof deep);
    assert_pickle_refused(deep, sizeof deep, "too deep");
}

/* ---- Whole archives, base64 of what torch.save wrote ---- */

static pgy_status read_text(pgy_tensor **out, const char *text, pgy_error *err)
{
    json_value v = {.type = JSON_STRING, .raw = span_of(text)};
    return torch_tensor_read(out, &v, "here", err);
}

static void test_torch_tensor__not_an_archive(void **state)
{
    (void)state;
    pgy_tensor *t = NULL;
    pgy_error err = {0};
    json_value number = {.type = JSON_INT};
    assert_int_equal(torch_tensor_read(&t, NULL, "here", &err), PGY_E_FORMAT);
    assert_int_equal(torch_tensor_read(&t, &number, "here", &err), PGY_E_FORMAT);
    assert_int_equal(read_text(&t, "abc", &err), PGY_E_FORMAT);
    assert_int_equal(read_text(&t, "ab!d", &err), PGY_E_FORMAT);
    assert_int_equal(read_text(&t, "", &err), PGY_E_FORMAT);
    assert_int_equal(read_text(&t, "UEsDBAAA", &err), PGY_E_FORMAT); /* the magic alone */
    assert_non_null(strstr(err.text, "here: "));
}
