/* SPDX-License-Identifier: Apache-2.0 */
/* Input lists: files of the original come back byte for byte, its older and rarer forms are read,
 * malformed ones are refused. */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <polygraphy/data.h>

#include "base/alloc.h"
#include "base/file.h"

#define GOLDEN TEST_SOURCE_DIR "/tests/data/golden/"
#define WRITTEN TEST_BINARY_DIR "/pgy_feeds_written.json"

static void load(pgy_tensor_map ***maps, size_t *count, const char *path)
{
    pgy_error err = {0};
    if (pgy_feeds_load(maps, count, path, &err)) fail_msg("%s", err.text);
}

static void assert_same_bytes(const char *a, const char *b)
{
    str x = {0}, y = {0};
    assert_int_equal(file_read(&x, a, NULL), PGY_OK);
    assert_int_equal(file_read(&y, b, NULL), PGY_OK);
    assert_int_equal(x.size, y.size);
    assert_memory_equal(x.data, y.data, x.size);
    str_deinit(&x);
    str_deinit(&y);
}

static const void *data_of(const pgy_tensor_map *m, const char *name, pgy_dtype dtype, size_t count)
{
    const pgy_tensor *t = pgy_tensor_map_find(m, name);
    if (!t) fail_msg("no tensor '%s'", name);
    assert_int_equal(pgy_tensor_dtype(t), dtype);
    assert_int_equal(pgy_tensor_count(t), count);
    return pgy_tensor_data(t);
}

static void write_text(const char *path, const char *text)
{
    assert_int_equal(file_write_all(path, text, strlen(text), NULL), PGY_OK);
}

static void test_feeds__same_bytes_as_the_original(void **state)
{
    (void)state;
    pgy_tensor_map **maps;
    size_t count;
    pgy_error err = {0};
    load(&maps, &count, GOLDEN "feeds.json");
    assert_int_equal(count, 3);
    assert_int_equal(pgy_feeds_save(WRITTEN, (const pgy_tensor_map *const *)maps, count, &err),
                     PGY_OK);
    assert_same_bytes(WRITTEN, GOLDEN "feeds.json");

    pgy_feed_writer *w = NULL;
    assert_int_equal(pgy_feed_writer_create(&w, WRITTEN, &err), PGY_OK);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(pgy_feed_writer_add(w, maps[i], &err), PGY_OK);
    assert_int_equal(pgy_feed_writer_finish(w, &err), PGY_OK);
    pgy_feed_writer_destroy(w);
    assert_same_bytes(WRITTEN, GOLDEN "feeds.json");
    pgy_feeds_free(maps, count);
    unlink(WRITTEN);
}

static void test_feeds__unfinished_writer_leaves_nothing(void **state)
{
    (void)state;
    pgy_feed_writer *w = NULL;
    unlink(WRITTEN);
    assert_int_equal(pgy_feed_writer_create(&w, WRITTEN, NULL), PGY_OK);
    pgy_feed_writer_destroy(w);
    assert_false(file_exists(WRITTEN));
}

static void test_feeds__folder_of_numbered_files(void **state)
{
    (void)state;
    static const char FOLDER[] = TEST_BINARY_DIR "/pgy_feeds_folder";
    pgy_tensor_map **maps;
    size_t count;
    pgy_error err = {0};
    pgy_feed_writer *w = NULL;
    /* what a failed run left */
    assert_int_equal(system("rm -rf '" TEST_BINARY_DIR "/pgy_feeds_folder'"), 0);
    load(&maps, &count, GOLDEN "feeds.json");
    assert_int_equal(pgy_feed_writer_create(&w, FOLDER, &err), PGY_OK);
    for (size_t i = 0; i < 2; i++) assert_int_equal(pgy_feed_writer_add(w, maps[i], &err), PGY_OK);
    assert_int_equal(pgy_feed_writer_finish(w, &err), PGY_OK);
    pgy_feed_writer_destroy(w);
    pgy_feeds_free(maps, count);

    load(&maps, &count, TEST_BINARY_DIR "/pgy_feeds_folder/0000000001.json");
    assert_int_equal(count, 1);
    assert_int_equal(pgy_tensor_rank(pgy_tensor_map_find(maps[0], "x")), 3);
    pgy_feeds_free(maps, count);
    assert_int_equal(pgy_feed_writer_create(&w, FOLDER, &err), PGY_E_ARGUMENT); /* not empty */
    assert_non_null(strstr(err.text, "not empty"));

    pgy_data_loader *l = NULL;
    const char *paths[] = {FOLDER};
    assert_int_equal(pgy_file_loader_create(&l, paths, 1, &err), PGY_OK);
    pgy_tensor_map *m = NULL;
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pgy_data_loader_next(&m, l, &err), PGY_OK);
        assert_non_null(m);
        assert_int_equal(pgy_tensor_rank(pgy_tensor_map_find(m, "x")), i ? 3 : 1);
        pgy_tensor_map_destroy(m);
    }
    assert_int_equal(pgy_data_loader_next(&m, l, &err), PGY_OK);
    assert_null(m);
    pgy_data_loader_destroy(l);
    unlink(TEST_BINARY_DIR "/pgy_feeds_folder/0000000000.json");
    unlink(TEST_BINARY_DIR "/pgy_feeds_folder/0000000001.json");
    rmdir(FOLDER);
}

static void test_feeds__column_major_and_big_endian(void **state)
{
    (void)state;
    pgy_tensor_map **maps;
    size_t count;
    load(&maps, &count, GOLDEN "fortran_feeds.json");
    assert_memory_equal(data_of(maps[0], "x", PGY_I32, 6), ((int32_t[]){0, 1, 2, 3, 4, 5}), 24);
    assert_int_equal(pgy_tensor_shape(pgy_tensor_map_find(maps[0], "x"))[0], 2);
    assert_memory_equal(data_of(maps[0], "big", PGY_I32, 2), ((int32_t[]){1, 2}), 8);
    pgy_feeds_free(maps, count);
}

static void test_feeds__bytes_as_latin1_text(void **state)
{
    (void)state;
    pgy_tensor_map **maps;
    size_t count;
    load(&maps, &count, GOLDEN "latin1_feeds.json");
    assert_memory_equal(data_of(maps[0], "npy", PGY_F32, 2), ((float[]){1.5f, -2}), 8);
    assert_memory_equal(data_of(maps[0], "npz", PGY_F32, 2), ((float[]){5, 6}),
                        8); /* the first member */
    pgy_feeds_free(maps, count);
}

static void test_feeds__torch_tensors(void **state)
{
    (void)state;
    pgy_tensor_map **maps;
    size_t count;
    load(&maps, &count, GOLDEN "torch_feeds.json");
    assert_memory_equal(data_of(maps[0], "bfloat16", PGY_BF16, 6),
                        ((uint16_t[]){0, 0x4040, 0x3f80, 0x4080, 0x4000, 0x40a0}), 12);
    assert_memory_equal(data_of(maps[0], "float32", PGY_F32, 2), ((float[]){1, 2}), 8);
    assert_memory_equal(data_of(maps[0], "expanded", PGY_I16, 3), ((int16_t[]){7, 7, 7}), 6);
    assert_int_equal(*(const int64_t *)data_of(maps[0], "scalar", PGY_I64, 1), 9);
    assert_int_equal(*(const uint8_t *)data_of(maps[0], "float8", PGY_F8E4M3FN, 1), 0x3c);
    data_of(maps[0], "empty", PGY_F32, 0);
    pgy_feeds_free(maps, count);
}

static void test_feeds__one_map_is_one_iteration(void **state)
{
    (void)state;
    pgy_tensor_map **maps;
    size_t count;
    write_text(WRITTEN, "{}");
    load(&maps, &count, WRITTEN);
    assert_int_equal(count, 1);
    assert_int_equal(pgy_tensor_map_count(maps[0]), 0);
    pgy_feeds_free(maps, count);
    unlink(WRITTEN);
}

static void assert_refused(const char *text, const char *expected)
{
    pgy_error err = {0};
    pgy_tensor_map **maps;
    size_t count;
    write_text(WRITTEN, text);
    assert_int_not_equal(pgy_feeds_load(&maps, &count, WRITTEN, &err), PGY_OK);
    if (!strstr(err.text, expected))
        fail_msg("'%s' lacks '%s' for %.60s", err.text, expected, text);
    if (!strstr(err.text, WRITTEN)) fail_msg("'%s' does not name the file", err.text);
    unlink(WRITTEN);
}

/* {'descr': '<f4', 'fortran_order': False, 'shape': (2,), } and its padding, as NumPy writes it */
#define HEADER                                                                                     \
    "k05VTVBZAQB2AHsnZGVzY3InOiAnPGY0JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDIsKSwgfSAg" \
    "ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAo"
#define FEED(array) "[{\"x\": {\"array\": \"" array "\", \"polygraphy_class\": \"ndarray\"}}]"

static void test_feeds__malformed_files_are_refused(void **state)
{
    (void)state;
    assert_refused("", "line 1");
    assert_refused("[", "line 1");
    assert_refused("[{\"x\": ", "line 1");
    assert_refused("[1]", "cannot be recognized as a feed_dict");
    assert_refused("3", "cannot be recognized as a feed_dict");
    assert_refused("[{\"x\": 3}]", "iteration 0: input 'x'");
    assert_refused("[{\"x\": {\"polygraphy_class\": \"ndarray\"}}]", "lacks the key 'array'");
    assert_refused("[{\"x\": {\"array\": 3, \"polygraphy_class\": \"ndarray\"}}]",
                   "lacks the key 'array'");
    assert_refused("[{\"x\": {\"polygraphy_class\": \"Unheard\"}}]",
                   "Could not decode serialized type: Unheard");
    assert_refused("[{\"x\": {\"tensor\": \"AAAA\", \"polygraphy_class\": \"Tensor\"}}]",
                   "not an archive written by torch.save");
    assert_refused("[{\"x\": {\"values\": 3, \"polygraphy_class\": \"LazyArray\"}}]", "input 'x'");
    assert_refused(FEED(""), "input 'x'");
    assert_refused(FEED("k05VTVBZ"), "input 'x'");
    assert_refused(FEED(HEADER "AAAAAAA="), "input 'x'");   /* 5 of 8 bytes */
    assert_refused(FEED(HEADER "AAAAAACAPw"), "input 'x'"); /* no padding */
    assert_refused(FEED(HEADER "AAAA!ACAPw=="), "input 'x'");
    assert_refused("{\"lst\": [], \"polygraphy_class\": \"RunResults\"}", "data merge");
}

static void test_feeds__huge_shapes_need_their_bytes(void **state)
{
    (void)state;
    /* (999999999999,) */
    assert_refused(FEED("k05VTVBZAQA2AHsnZGVzY3InOiAnPGY0JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYX"
                        "BlJzogKDk5OTk5OTk5OTk5OSwpLCB9CgAA"),
                   "input 'x'");
}

static void test_feeds__deep_nesting_is_refused(void **state)
{
    (void)state;
    str text = {0};
    str_append_fill(&text, '[', 100000);
    assert_refused(str_text(&text), "line 1");
    str_deinit(&text);
}

static void test_feeds__raw_elements(void **state)
{
    (void)state;
    static const char FOLDER[] = TEST_BINARY_DIR "/pgy_feeds_blob";
    pgy_tensor_map *m = NULL;
    pgy_tensor *t = NULL;
    pgy_error err = {0};
    str bytes = {0};
    int64_t shape[] = {2};
    assert_int_equal(pgy_tensor_map_create(&m, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_create(&t, PGY_I16, 1, shape, NULL), PGY_OK);
    ((int16_t *)pgy_tensor_data(t))[1] = 258;
    assert_int_equal(pgy_tensor_map_set(m, "x", t, NULL), PGY_OK);
    assert_int_equal(pgy_feed_save_blob(FOLDER, 3, m, &err), PGY_OK);
    assert_int_equal(file_read(&bytes, TEST_BINARY_DIR "/pgy_feeds_blob/0000000003/x.bin", NULL),
                     PGY_OK);
    assert_int_equal(bytes.size, 4);
    assert_memory_equal(bytes.data, "\0\0\2\1", 4);
    str_deinit(&bytes);
    static const char *const OUTSIDE[] = {"../x", "a/../../x", "/x", ".."};
    for (size_t i = 0; i < 4; i++) {
        pgy_tensor_map_clear(m);
        assert_int_equal(pgy_tensor_map_set(m, OUTSIDE[i], t, NULL), PGY_OK);
        assert_int_equal(pgy_feed_save_blob(FOLDER, 3, m, &err), PGY_E_ARGUMENT);
    }
    pgy_tensor_map_destroy(m);
    pgy_tensor_release(t);
    unlink(TEST_BINARY_DIR "/pgy_feeds_blob/0000000003/x.bin");
    rmdir(TEST_BINARY_DIR "/pgy_feeds_blob/0000000003");
    rmdir(FOLDER);
}

/* ---- Memory ---- */

/* Loads and saves, with the n-th allocation refused; true when nothing was refused any more. */
static bool survives(const char *path, uint64_t n)
{
    pgy_tensor_map **maps = NULL;
    size_t count = 0;
    pgy_error err = {0};
    mem_fail_nth(n);
    pgy_status st = pgy_feeds_load(&maps, &count, path, &err);
    if (!st) st = pgy_feeds_save(WRITTEN, (const pgy_tensor_map *const *)maps, count, &err);
    bool used = mem_fail_nth(0);
    assert_true(used);
    pgy_feeds_free(maps, count);
    if (st == PGY_E_MEMORY || st == PGY_E_TYPE || st == PGY_OK) return st != PGY_E_MEMORY;
    fail_msg("allocation %d of %s: %s", (int)n, path, err.text);
    return false;
}

static void test_feeds__refused_memory_is_an_error(void **state)
{
    (void)state;
    static const char *const PATHS[] = {GOLDEN "feeds.json", GOLDEN "latin1_feeds.json",
                                        GOLDEN "torch_feeds.json", GOLDEN "fortran_feeds.json"};
    if (!mem_fail_nth(0)) skip();
    for (size_t i = 0; i < sizeof PATHS / sizeof *PATHS; i++) {
        size_t in_a_row = 0;
        for (uint64_t n = 1; in_a_row < 20; n++) {
            assert_true(n < 20000);
            in_a_row = survives(PATHS[i], n) ? in_a_row + 1 : 0;
        }
    }
    unlink(WRITTEN);
}
