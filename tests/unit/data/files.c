/* SPDX-License-Identifier: Apache-2.0 */
/* Saved inputs of every format through one loader, in order and lazily; and the loaders over lists
 * and callbacks. */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <string.h>
#include <unistd.h>

#include <polygraphy/data.h>

#include "base/alloc.h"
#include "base/file.h"

#define GOLDEN TEST_SOURCE_DIR "/tests/data/golden/"
#define HERE TEST_BINARY_DIR "/pgy_files_"

static pgy_tensor *one_float(float value)
{
    pgy_tensor *t = NULL;
    int64_t shape[] = {1};
    assert_int_equal(pgy_tensor_create(&t, PGY_F32, 1, shape, NULL), PGY_OK);
    *(float *)pgy_tensor_data(t) = value;
    return t;
}

static pgy_tensor_map *one_map(const char *name, float value)
{
    pgy_tensor_map *m = NULL;
    assert_int_equal(pgy_tensor_map_create(&m, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_map_adopt(m, name, one_float(value), NULL), PGY_OK);
    return m;
}

static pgy_data_loader *open_files(const char *const *paths, size_t count)
{
    pgy_error err = {0};
    pgy_data_loader *l = NULL;
    if (pgy_file_loader_create(&l, paths, count, &err)) fail_msg("%s", err.text);
    return l;
}

static void assert_next(pgy_data_loader *l, const char *name, float value)
{
    pgy_error err = {0};
    pgy_tensor_map *m = NULL;
    if (pgy_data_loader_next(&m, l, &err)) fail_msg("%s", err.text);
    assert_non_null(m);
    const pgy_tensor *t = pgy_tensor_map_find(m, name);
    assert_non_null(t);
    assert_true(*(float *)pgy_tensor_data(t) == value);
    pgy_tensor_map_destroy(m);
}

static void assert_end(pgy_data_loader *l)
{
    pgy_tensor_map *m = NULL;
    assert_int_equal(pgy_data_loader_next(&m, l, NULL), PGY_OK);
    assert_null(m);
}

static void test_files__formats_follow_each_other(void **state)
{
    (void)state;
    static const char *const PATHS[] = {HERE "a.npz", HERE "b.npy", HERE "c.safetensors",
                                        HERE "d.json", HERE "set"};
    pgy_tensor_map *m = one_map("x", 1);
    pgy_tensor *t = one_float(2);
    assert_int_equal(pgy_npz_save(PATHS[0], m, NULL), PGY_OK);
    assert_int_equal(pgy_npy_save(PATHS[1], pgy_tensor_view(t), NULL), PGY_OK);
    assert_int_equal(pgy_safetensors_save(PATHS[2], m, NULL), PGY_OK);
    const pgy_tensor_map *const twice[] = {m, m};
    assert_int_equal(pgy_feeds_save(PATHS[3], twice, 2, NULL), PGY_OK);
    /* input_0 has a name of its own, input_1 takes that of the second input */
    assert_int_equal(file_make_dirs(HERE "set", NULL), PGY_OK);
    assert_int_equal(pgy_tensorproto_save(HERE "set/input_0.pb", "own", pgy_tensor_view(t), NULL),
                     PGY_OK);
    assert_int_equal(pgy_tensorproto_save(HERE "set/input_1.pb", "", pgy_tensor_view(t), NULL),
                     PGY_OK);

    pgy_metadata *inputs = NULL;
    assert_int_equal(pgy_metadata_create(&inputs, NULL), PGY_OK);
    for (int i = 0; i < 2; i++) {
        pgy_tensor_info info = {
            .name = i ? "second" : "first", .dtype = PGY_F32, .rank = 1, .shape = (int64_t[]){1}};
        assert_int_equal(pgy_metadata_set(inputs, &info, NULL), PGY_OK);
    }
    pgy_data_loader *l = open_files(PATHS, 5);
    assert_int_equal(pgy_data_loader_set_metadata(l, inputs, NULL), PGY_OK);
    for (int round = 0; round < 2; round++) {
        assert_next(l, "x", 1);
        assert_next(l, "pgy_files_b", 2);
        assert_next(l, "x", 1);
        assert_next(l, "x", 1);
        assert_next(l, "x", 1);
        if (!round)
            assert_next(l, "own", 2);
        else
            assert_next(l, "second", 2);
        assert_end(l);
        assert_int_equal(pgy_data_loader_rewind(l, NULL), PGY_OK);
    }
    assert_false(pgy_data_loader_can_regenerate(l));
    pgy_data_loader_destroy(l);
    pgy_metadata_destroy(inputs);
    pgy_tensor_map_destroy(m);
    pgy_tensor_release(t);
    for (size_t i = 0; i < 4; i++) unlink(PATHS[i]);
    unlink(HERE "set/input_0.pb");
    unlink(HERE "set/input_1.pb");
    rmdir(HERE "set");
}

static void test_files__test_data_sets_are_ordered_by_number(void **state)
{
    (void)state;
    static const char *const SETS[] = {HERE "sets/test_data_set_2", HERE "sets/test_data_set_10"};
    for (int i = 0; i < 2; i++) {
        pgy_tensor *t = one_float((float)i);
        char *path = path_join(SETS[i], "input_0.pb");
        assert_non_null(path);
        assert_int_equal(pgy_tensorproto_save(path, "x", pgy_tensor_view(t), NULL), PGY_OK);
        pgy_tensor_release(t);
        mem_free(path);
    }
    static const char *const PATHS[] = {HERE "sets"};
    pgy_data_loader *l = open_files(PATHS, 1);
    assert_next(l, "x", 0);
    assert_next(l, "x", 1);
    assert_end(l);
    pgy_data_loader_destroy(l);
    unlink(HERE "sets/test_data_set_2/input_0.pb");
    unlink(HERE "sets/test_data_set_10/input_0.pb");
    rmdir(SETS[0]);
    rmdir(SETS[1]);
    rmdir(HERE "sets");
}

static void test_files__missing_and_malformed(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_data_loader *l = NULL;
    pgy_tensor_map *m = NULL;
    static const char *const NONE[] = {HERE "none.json"};
    assert_int_equal(pgy_file_loader_create(&l, NONE, 1, &err), PGY_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "none.json"));
    static const char *const RESULTS[] = {GOLDEN "results.json"};
    l = open_files(RESULTS, 1);
    assert_int_equal(pgy_data_loader_next(&m, l, &err), PGY_E_FORMAT);
    assert_non_null(strstr(err.text, "data merge"));
    pgy_data_loader_destroy(l);
}

static void test_files__empty_folder_is_no_iteration(void **state)
{
    (void)state;
    static const char *const PATHS[] = {HERE "empty"};
    assert_int_equal(file_make_dirs(PATHS[0], NULL), PGY_OK);
    pgy_data_loader *l = open_files(PATHS, 1);
    assert_end(l);
    pgy_data_loader_destroy(l);
    rmdir(PATHS[0]);
}

/* ---- Lists and callbacks ---- */

static void test_files__lists_share_their_maps(void **state)
{
    (void)state;
    pgy_tensor_map *a = one_map("x", 1), *b = one_map("x", 2);
    const pgy_tensor_map *const maps[] = {a, b};
    pgy_data_loader *l = NULL;
    assert_int_equal(pgy_list_loader_create(&l, maps, 2, NULL), PGY_OK);
    pgy_tensor_map_destroy(a);
    pgy_tensor_map_destroy(b);
    for (int round = 0; round < 2; round++) {
        assert_next(l, "x", 1);
        assert_next(l, "x", 2);
        assert_end(l);
        assert_int_equal(pgy_data_loader_rewind(l, NULL), PGY_OK);
    }
    assert_true(pgy_data_loader_can_regenerate(l));
    pgy_data_loader_destroy(l);
}

static pgy_status count_up(pgy_tensor_map **out, void *user, pgy_error *err)
{
    (void)err;
    int *count = user;
    *out = *count < 2 ? one_map("x", (float)(*count)++) : NULL;
    return PGY_OK;
}

static void test_files__callbacks(void **state)
{
    (void)state;
    int count = 0;
    pgy_data_loader *l = NULL;
    pgy_error err = {0};
    pgy_data_loader_functions functions = {.size = sizeof functions, .next = count_up};
    assert_int_equal(pgy_data_loader_create(&l, &functions, &count, NULL), PGY_OK);
    assert_next(l, "x", 0);
    assert_next(l, "x", 1);
    assert_end(l);
    assert_int_equal(pgy_data_loader_rewind(l, &err), PGY_E_UNSUPPORTED);
    pgy_data_loader_destroy(l);
    functions.next = NULL;
    assert_int_equal(pgy_data_loader_create(&l, &functions, &count, NULL), PGY_E_ARGUMENT);
    pgy_data_loader_destroy(NULL);
}
