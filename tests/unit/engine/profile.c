/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles: how ranges find their inputs, and what they let through. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "engine/build/profile.h"

enum { MAX = 4 };

static pgy_metadata *make_inputs(void)
{
    pgy_metadata *m = NULL;
    const int64_t image[] = {-1, 3, -1}, size[] = {2};
    const pgy_tensor_info infos[] = {
        {.name = "image", .dtype = PGY_F32, .rank = 3, .shape = image},
        {.name = "size", .dtype = PGY_I64, .rank = 1, .shape = size},
        {.name = "anything", .dtype = PGY_F32, .rank = -1},
    };
    assert_int_equal(pgy_metadata_create(&m, NULL), PGY_OK);
    for (size_t i = 0; i < 3; i++) assert_int_equal(pgy_metadata_set(m, &infos[i], NULL), PGY_OK);
    return m;
}

static pgy_status create(profile_set **out, const pgy_profile *profiles, size_t count,
                         pgy_error *err)
{
    const pgy_build_config c = {.size = sizeof c, .profiles = profiles, .profile_count = count};
    pgy_metadata *inputs = make_inputs();
    const pgy_status st = profiles_create(out, &c, inputs, err);
    pgy_metadata_destroy(inputs);
    return st;
}

static pgy_tensor_map *make_feed(int64_t batch, int64_t width, int64_t a, int64_t b)
{
    pgy_tensor_map *feed = NULL;
    pgy_tensor *image = NULL, *size = NULL;
    const int64_t shape[] = {batch, 3, width}, two[] = {2};
    assert_int_equal(pgy_tensor_map_create(&feed, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_create(&image, PGY_F32, 3, shape, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_create(&size, PGY_I64, 1, two, NULL), PGY_OK);
    ((int64_t *)pgy_tensor_data(size))[0] = a;
    ((int64_t *)pgy_tensor_data(size))[1] = b;
    assert_int_equal(pgy_tensor_map_adopt(feed, "image", image, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_map_adopt(feed, "size", size, NULL), PGY_OK);
    return feed;
}

static pgy_status check(const profile_set *s, size_t index, pgy_tensor_map *feed, pgy_error *err)
{
    const pgy_status st = profiles_check(s, index, feed, err);
    pgy_tensor_map_destroy(feed);
    return st;
}

static const int64_t SMALL[] = {1, 3, 8}, USUAL[] = {2, 3, 8}, LARGE[] = {4, 3, 16};
static const int64_t SIZES[][2] = {{1, 1}, {5, 5}, {9, 9}};

static void test_profile__shapes_and_elements(void **state)
{
    (void)state;
    const pgy_profile_range ranges[] = {{"image", 3, SMALL, USUAL, LARGE},
                                        {"size", 2, SIZES[0], SIZES[1], SIZES[2]}};
    const pgy_profile p = {ranges, 2};
    profile_set *s = NULL;
    pgy_error err = {0};
    assert_int_equal(create(&s, &p, 1, &err), PGY_OK);
    assert_int_equal(check(s, 0, make_feed(1, 8, 1, 9), &err), PGY_OK);
    assert_int_equal(check(s, 0, make_feed(4, 16, 9, 1), &err), PGY_OK);
    assert_int_equal(check(s, 0, make_feed(5, 16, 9, 1), &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text,
                        "input 'image' has shape (5, 3, 16), outside the range of profile "
                        "0: [1, 3, 8] to [4, 3, 16]");
    assert_int_equal(check(s, PROFILE_ANY, make_feed(4, 16, 9, 10), &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text, "input 'size' has elements [9, 10], outside the range of profile "
                                  "0: [1, 1] to [9, 9]");
    profiles_destroy(s);
}

/* Negative entries are the model's dimensions, or 1. */
static void test_profile__open_dimensions(void **state)
{
    (void)state;
    const int64_t low[] = {-1, -1, 8}, high[] = {4, -1, 16}, first[] = {1, -1},
                  wrong[] = {-1, 3, 4};
    const pgy_profile_range ranges[] = {{"image", 3, low, low, high},
                                        {"size", 2, first, first, first}},
                            falling[] = {{"image", 3, high, low, high}},
                            other[] = {{"image", 3, wrong, wrong, low}};
    const pgy_profile p = {ranges, 2}, bad[] = {{falling, 1}, {other, 1}};
    profile_set *s = NULL;
    pgy_error err = {0};
    if (create(&s, &p, 1, &err)) fail_msg("%s", err.text);
    assert_int_equal(check(s, 0, make_feed(1, 8, 1, 1), &err), PGY_OK);
    assert_int_equal(check(s, 0, make_feed(4, 16, 1, 1), &err), PGY_OK);
    assert_int_equal(check(s, 0, make_feed(5, 16, 1, 1), &err), PGY_E_ARGUMENT);
    assert_int_equal(check(s, 0, make_feed(1, 8, 1, 2), &err), PGY_E_ARGUMENT);
    profiles_destroy(s);
    assert_int_equal(create(&s, &bad[0], 1, &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text,
                        "profile 0, input 'image': entry 0 of the shapes is min 4, opt 1, "
                        "max 4; expected min <= opt <= max");
    assert_int_equal(create(&s, &bad[1], 1, &err), PGY_OK);
    profiles_destroy(s);
}

static void test_profile__text(void **state)
{
    (void)state;
    const pgy_profile_range range = {"im*", 3, SMALL, USUAL, LARGE};
    const pgy_profile p[] = {{&range, 1}, {NULL, 0}};
    profile_set *s = NULL;
    str text = {0};
    assert_int_equal(create(&s, p, 2, NULL), PGY_OK);
    assert_int_equal(profiles_count(s), 2);
    profiles_text(&text, s);
    assert_string_equal(str_text(&text),
                        "    Profile 0:\n"
                        "        {image [min=[1, 3, 8], opt=[2, 3, 8], max=[4, 3, 16]],\n"
                        "         size [min=[2], opt=[2], max=[2]]},\n"
                        "    Profile 1:\n"
                        "        {image [min=[1, 3, 1], opt=[1, 3, 1], max=[1, 3, 1]],\n"
                        "         size [min=[2], opt=[2], max=[2]]}");
    str_deinit(&text);
    profiles_destroy(s);
}

/* What is filled in from the model restricts nothing. */
static void test_profile__filled(void **state)
{
    (void)state;
    profile_set *s = NULL;
    assert_int_equal(create(&s, NULL, 0, NULL), PGY_OK);
    assert_int_equal(profiles_count(s), 1);
    assert_int_equal(check(s, PROFILE_ANY, make_feed(7, 70, 0, 0), NULL), PGY_OK);
    profiles_destroy(s);
}

static void test_profile__any_of_two(void **state)
{
    (void)state;
    const int64_t far[] = {8, 3, 8};
    const pgy_profile_range first = {"image", 3, SMALL, USUAL, LARGE};
    const pgy_profile_range second = {"image", 3, far, far, far};
    const pgy_profile p[] = {{&first, 1}, {&second, 1}};
    profile_set *s = NULL;
    pgy_error err = {0};
    assert_int_equal(create(&s, p, 2, NULL), PGY_OK);
    assert_int_equal(check(s, PROFILE_ANY, make_feed(8, 8, 0, 0), &err), PGY_OK);
    assert_int_equal(check(s, 0, make_feed(8, 8, 0, 0), &err), PGY_E_ARGUMENT);
    assert_int_equal(check(s, 1, make_feed(8, 8, 0, 0), &err), PGY_OK);
    assert_int_equal(check(s, PROFILE_ANY, make_feed(6, 8, 0, 0), &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "profile 0: [1, 3, 8] to [4, 3, 16]; input 'image'"));
    assert_non_null(strstr(err.text, "profile 1: [8, 3, 8] to [8, 3, 8]"));
    profiles_destroy(s);
}

static void test_profile__does_not_fit_the_model(void **state)
{
    (void)state;
    const int64_t wrong[] = {1, 4, 8}, three[] = {1, 2, 3};
    const pgy_profile_range bad[] = {{"image", 3, wrong, wrong, wrong},
                                     {"image", 2, SMALL, SMALL, SMALL},
                                     {"size", 3, three, three, three},
                                     {"imag", 3, SMALL, SMALL, SMALL}};
    const char *const texts[] = {
        "profile 0, input 'image': the range [1, 4, 8] to [1, 4, 8] does not fit the model's shape "
        "(-1, "
        "3, -1)",
        "profile 0, input 'image': the range [1, 3] to [1, 3] does not fit the model's shape (-1, "
        "3, "
        "-1)",
        "profile 0, input 'size': the range [1, 2, 3] to [1, 2, 3] does not fit the model's shape "
        "(2,)",
        "profile 0: 'imag' is not an input of the model; its inputs are: 'image', 'size', "
        "'anything'"};
    for (size_t i = 0; i < MAX; i++) {
        const pgy_profile p = {&bad[i], 1};
        profile_set *s = NULL;
        pgy_error err = {0};
        assert_int_equal(create(&s, &p, 1, &err), PGY_E_ARGUMENT);
        assert_string_equal(err.text, texts[i]);
        assert_null(s);
    }
}

static void test_profile__usual_shapes(void **state)
{
    (void)state;
    const pgy_profile_range range = {"image", 3, SMALL, USUAL, LARGE};
    const pgy_profile p = {&range, 1};
    profile_set *s = NULL;
    pgy_metadata *m = NULL;
    assert_int_equal(create(&s, &p, 1, NULL), PGY_OK);
    assert_int_equal(profiles_shapes(&m, s, 0, PROFILE_USUAL, NULL), PGY_OK);
    assert_memory_equal(pgy_metadata_find(m, "image")->shape, USUAL, sizeof USUAL);
    assert_int_equal(pgy_metadata_find(m, "size")->shape[0], 2);
    assert_int_equal(pgy_metadata_find(m, "anything")->rank, -1);
    pgy_metadata_destroy(m);
    profiles_destroy(s);
}
