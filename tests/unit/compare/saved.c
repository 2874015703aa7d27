/* SPDX-License-Identifier: Apache-2.0 */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <string.h>
#include <unistd.h>

#include <polygraphy/saved.h>

#include "base/file.h"

#define FOLDER TEST_BINARY_DIR "/pgy_saved_folder"
#define FILE_PATH TEST_BINARY_DIR "/pgy_saved.json"

static pgy_saved_kind kind_of(const char *text)
{
    pgy_saved_kind kind;
    pgy_error err = {0};
    assert_int_equal(file_write_all(FILE_PATH, text, strlen(text), NULL), PGY_OK);
    if (pgy_saved_kind_of(&kind, FILE_PATH, &err)) fail_msg("%s", err.text);
    unlink(FILE_PATH);
    return kind;
}

static void test_saved__class_of_the_object(void **state)
{
    (void)state;
    assert_int_equal(kind_of("{\"lst\": [], \"polygraphy_class\": \"RunResults\"}"),
                     PGY_SAVED_RESULTS);
    assert_int_equal(kind_of("{\"lst\": [], \"polygraphy_class\": \"AccuracyResults\"}"),
                     PGY_SAVED_ACCURACY);
    assert_int_equal(kind_of("{\"x\": 1}"), PGY_SAVED_INPUTS);
    assert_int_equal(kind_of("[]"), PGY_SAVED_INPUTS);
}

static void test_saved__older_marker(void **state)
{
    (void)state;
    pgy_saved_kind kind;
    assert_int_equal(
        pgy_saved_kind_of(&kind, TEST_SOURCE_DIR "/tests/data/golden/legacy_results.json", NULL),
        PGY_OK);
    assert_int_equal(kind, PGY_SAVED_RESULTS);
}

static void test_saved__other_formats_are_inputs(void **state)
{
    (void)state;
    pgy_saved_kind kind = PGY_SAVED_RESULTS;
    assert_int_equal(pgy_saved_kind_of(&kind, "there/is/none.npz", NULL), PGY_OK);
    assert_int_equal(kind, PGY_SAVED_INPUTS);
}

static void test_saved__errors_name_the_path(void **state)
{
    (void)state;
    pgy_saved_kind kind = PGY_SAVED_ACCURACY;
    pgy_error err = {0};
    assert_int_equal(file_write_all(FILE_PATH, "{", 1, NULL), PGY_OK);
    assert_int_equal(pgy_saved_kind_of(&kind, FILE_PATH, &err), PGY_E_FORMAT);
    assert_non_null(strstr(err.text, FILE_PATH));
    unlink(FILE_PATH);
    assert_int_equal(file_make_dirs(FOLDER, NULL), PGY_OK);
    assert_int_equal(pgy_saved_kind_of(&kind, FOLDER, &err), PGY_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "has no *.json file"));
    rmdir(FOLDER);
    assert_int_equal(kind, PGY_SAVED_ACCURACY);
}
