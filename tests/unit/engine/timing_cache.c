/* SPDX-License-Identifier: Apache-2.0 */
/* Timing caches: entries, forms, files. */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <polygraphy/tensor.h>

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "engine/tactics/timing_cache.h"

#define OK(call)                                    \
    do {                                            \
        pgy_error ok_error = {0}, *err = &ok_error; \
        if (call) fail_msg("%s", ok_error.text);    \
    } while (0)

static pgy_timing_key key_of(uint8_t first, uint8_t last)
{
    pgy_timing_key k = {{0}};
    k.bytes[0] = first;
    k.bytes[15] = last;
    return k;
}

static pgy_timing_cache *create(void)
{
    pgy_timing_cache *c = NULL;
    OK(pgy_timing_cache_create(&c, err));
    return c;
}

static void put(pgy_timing_cache *c, uint8_t first, uint64_t tactic, float milliseconds)
{
    const pgy_timing_key key = key_of(first, 1);
    const pgy_timing_entry entry = {tactic, milliseconds};
    OK(pgy_timing_cache_update(c, &key, &entry, err));
}

static uint64_t tactic_at(const pgy_timing_cache *c, uint8_t first)
{
    const pgy_timing_key key = key_of(first, 1);
    pgy_timing_entry entry = {0};
    return pgy_timing_cache_query(&entry, c, &key) ? entry.tactic : 0;
}

static pgy_timing_cache *again(const pgy_timing_cache *c, pgy_timing_form form)
{
    pgy_timing_cache *made = NULL;
    void *data = NULL;
    size_t size = 0;
    OK(pgy_timing_cache_serialize(&data, &size, c, form, err));
    OK(pgy_timing_cache_parse(&made, data, size, err));
    pgy_text_free(data);
    return made;
}

static void assert_same(const pgy_timing_cache *a, const pgy_timing_cache *b)
{
    void *x = NULL, *y = NULL;
    size_t x_size = 0, y_size = 0;
    OK(pgy_timing_cache_serialize(&x, &x_size, a, PGY_TIMING_BINARY, err));
    OK(pgy_timing_cache_serialize(&y, &y_size, b, PGY_TIMING_BINARY, err));
    assert_int_equal(x_size, y_size);
    assert_memory_equal(x, y, x_size);
    pgy_text_free(x);
    pgy_text_free(y);
}

static void test_timing_cache__entries_are_added_and_overwritten(void **state)
{
    pgy_timing_cache *c = create();
    pgy_timing_key keys[3];
    pgy_timing_entry entry;
    (void)state;
    put(c, 9, 1, 1);
    put(c, 3, 2, 2);
    put(c, 9, 3, 0.5f);
    assert_int_equal(pgy_timing_cache_count(c), 2);
    assert_int_equal(pgy_timing_cache_keys(c, keys, 1), 2);
    assert_int_equal(pgy_timing_cache_keys(c, keys, 3), 2);
    assert_int_equal(keys[0].bytes[0], 3);
    assert_int_equal(keys[1].bytes[0], 9);
    assert_true(pgy_timing_cache_query(&entry, c, &keys[1]));
    assert_int_equal(entry.tactic, 3);
    assert_true(entry.milliseconds == 0.5f);
    const pgy_timing_key other = key_of(9, 2);
    assert_false(pgy_timing_cache_query(&entry, c, &other));
    pgy_timing_cache_reset(c);
    assert_int_equal(pgy_timing_cache_count(c), 0);
    pgy_timing_cache_destroy(c);
}

static void test_timing_cache__refuses_what_is_no_time(void **state)
{
    pgy_timing_cache *c = create();
    const pgy_timing_key key = key_of(1, 1);
    const float times[] = {-1, NAN, INFINITY};
    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        pgy_error why = {0};
        const pgy_timing_entry entry = {1, times[i]};
        assert_int_equal(pgy_timing_cache_update(c, &key, &entry, &why), PGY_E_ARGUMENT);
    }
    assert_int_equal(pgy_timing_cache_count(c), 0);
    pgy_timing_cache_destroy(c);
}

static void test_timing_cache__both_forms_hold_everything(void **state)
{
    pgy_timing_cache *c = create();
    (void)state;
    for (int i = 0; i < 40; i++)
        put(c, (uint8_t)(i * 37), (uint64_t)i << 40 | 5, 1.0f / (float)(i + 3));
    pgy_timing_cache *binary = again(c, PGY_TIMING_BINARY);
    pgy_timing_cache *text = again(binary, PGY_TIMING_TEXT);
    assert_string_equal(pgy_timing_cache_device(text), pgy_timing_cache_device(c));
    assert_same(c, binary);
    assert_same(c, text);
    pgy_timing_cache_destroy(c);
    pgy_timing_cache_destroy(binary);
    pgy_timing_cache_destroy(text);
}

/* People may put entries in any order, and write what they like behind a '#'. */
static void test_timing_cache__text_can_be_edited(void **state)
{
    static const char TEXT[] = "polygraphy timing cache, version 1\n"
                               "device: mine\n"
                               "\n"
                               "# the slow one\n"
                               "09000000000000000000000000000001 00000000000000ff 0.25 # name\r\n"
                               "03000000000000000000000000000001   0123456789abcdef  2";
    pgy_timing_cache *c = NULL;
    (void)state;
    OK(pgy_timing_cache_parse(&c, TEXT, sizeof TEXT - 1, err));
    assert_string_equal(pgy_timing_cache_device(c), "mine");
    assert_int_equal(pgy_timing_cache_count(c), 2);
    assert_int_equal(tactic_at(c, 9), 0xff);
    assert_true(tactic_at(c, 3) == 0x0123456789abcdef);
    pgy_timing_cache_destroy(c);
}

static void assert_bad(const void *data, size_t size, pgy_status status, const char *text)
{
    pgy_timing_cache *c = NULL;
    pgy_error why = {0};
    assert_int_equal(pgy_timing_cache_parse(&c, data, size, &why), status);
    assert_null(c);
    if (!strstr(why.text, text)) fail_msg("'%s' has not '%s'", why.text, text);
}

#define BAD_TEXT(data, status, text) assert_bad(data, strlen(data), status, text)
#define START "polygraphy timing cache, version 1\ndevice: x\n"

static void test_timing_cache__wrong_text_is_told_by_line(void **state)
{
    (void)state;
    BAD_TEXT("polygraphy timing cache, version 2\n", PGY_E_UNSUPPORTED, "has version 2");
    BAD_TEXT("polygraphy timing cache, version 1\n", PGY_E_FORMAT, "line 2");
    BAD_TEXT("polygraphy timing cache, version 1\nx\n", PGY_E_FORMAT, "line 2");
    BAD_TEXT(START "\n0900\n", PGY_E_FORMAT, "line 4");
    BAD_TEXT(START "09000000000000000000000000000001 00000000000000ff fast\n", PGY_E_FORMAT,
             "line 3");
    BAD_TEXT(START "09000000000000000000000000000001 00000000000000ff -2\n", PGY_E_ARGUMENT,
             "line 3: the time of a timing cache entry is -2 milliseconds; expected a finite "
             "number of at least 0");
    BAD_TEXT(START "09000000000000000000000000000001 00000000000000ff 1\n"
                   "09000000000000000000000000000001 00000000000000fe 1\n",
             PGY_E_FORMAT, "line 4: the key occurs twice");
}

/* Every cut and every changed byte is noticed. */
static void test_timing_cache__damage_is_noticed(void **state)
{
    pgy_timing_cache *c = create();
    void *data = NULL;
    size_t size = 0;
    (void)state;
    for (uint8_t i = 0; i < 5; i++) put(c, i, i, i);
    OK(pgy_timing_cache_serialize(&data, &size, c, PGY_TIMING_BINARY, err));
    char *bytes = data;
    for (size_t i = 0; i < size; i++) {
        pgy_timing_cache *none = NULL;
        pgy_error why = {0};
        bytes[i] ^= 0x10;
        assert_int_not_equal(pgy_timing_cache_parse(&none, bytes, size, &why), PGY_OK);
        bytes[i] ^= 0x10;
        assert_bad(bytes, i, PGY_E_FORMAT, "timing cache");
    }
    bytes[8] = 2; /* the version */
    assert_bad(bytes, size, PGY_E_UNSUPPORTED,
               "has version 2, but this library reads versions up to 1");
    assert_bad("GDEF model", 10, PGY_E_FORMAT, "not a timing cache of this engine");
    pgy_text_free(data);
    pgy_timing_cache_destroy(c);
}

static void test_timing_cache__combining_keeps_own_entries(void **state)
{
    pgy_timing_cache *a = create(), *b = create(), *foreign = NULL;
    pgy_error why = {0};
    (void)state;
    put(a, 1, 11, 1);
    put(a, 2, 12, 1);
    put(b, 2, 22, 1);
    put(b, 3, 23, 1);
    OK(pgy_timing_cache_combine(a, b, false, err));
    assert_int_equal(pgy_timing_cache_count(a), 3);
    assert_int_equal(tactic_at(a, 2), 12);
    assert_int_equal(tactic_at(a, 3), 23);
    OK(timing_cache_make(&foreign, "another", 7, err));
    put(foreign, 4, 44, 1);
    assert_int_equal(pgy_timing_cache_combine(a, foreign, false, &why), PGY_E_UNSUPPORTED);
    assert_non_null(strstr(why.text, "'another'"));
    assert_int_equal(pgy_timing_cache_count(a), 3);
    OK(pgy_timing_cache_combine(a, foreign, true, err));
    assert_int_equal(tactic_at(a, 4), 44);
    pgy_timing_cache_destroy(a);
    pgy_timing_cache_destroy(b);
    pgy_timing_cache_destroy(foreign);
}

/* ---- Files ---------------------------------------------------------------------------------- */

static void test_timing_cache__saving_merges_and_keeps_the_form(void **state)
{
    pgy_timing_cache *a = create(), *b = create(), *loaded = NULL;
    char *path = NULL;
    str text = {0};
    (void)state;
    OK(file_temp_path(&path, ".cache", err));
    put(a, 1, 11, 1);
    OK(pgy_timing_cache_save(a, path, PGY_TIMING_TEXT, err));
    put(b, 2, 22, 1);
    OK(pgy_timing_cache_save_merged(b, path, err));
    OK(file_read(&text, path, err));
    assert_true(str_starts_with(str_text(&text), "polygraphy timing cache"));
    OK(pgy_timing_cache_load(&loaded, path, err));
    assert_int_equal(tactic_at(loaded, 1), 11);
    assert_int_equal(tactic_at(loaded, 2), 22);
    str_deinit(&text);
    str_printf(&text, "%s.lock", path);
    assert_true(file_exists(str_text(&text)));
    unlink(str_text(&text));
    str_deinit(&text);
    file_temp_release(path);
    pgy_timing_cache_destroy(a);
    pgy_timing_cache_destroy(b);
    pgy_timing_cache_destroy(loaded);
}

static void test_timing_cache__a_file_that_is_not_there(void **state)
{
    pgy_timing_cache *c = NULL;
    pgy_error why = {0};
    (void)state;
    assert_int_equal(pgy_timing_cache_load(&c, "no/such/cache", &why), PGY_E_NOT_FOUND);
}

/* Saves the same entries for ever. */
static void save_for_ever(const char *path)
{
    pgy_timing_cache *c = NULL;
    if (pgy_timing_cache_create(&c, NULL)) _exit(1);
    for (int i = 0; i < 256; i++) {
        const pgy_timing_key key = key_of((uint8_t)i, 7);
        const pgy_timing_entry entry = {5, 1};
        if (pgy_timing_cache_update(c, &key, &entry, NULL)) _exit(1);
    }
    for (;;)
        if (pgy_timing_cache_save_merged(c, path, NULL)) _exit(1);
}

/* Whoever is killed while it writes leaves a whole cache, and no lock that holds. */
static void test_timing_cache__a_killed_writer_leaves_what_was_there(void **state)
{
    pgy_timing_cache *mine = create();
    char *folder = NULL;
    str path = {0};
    (void)state;
    OK(file_temp_path(&folder, "", err));
    unlink(folder);
    str_printf(&path, "%s.folder/t.cache", folder);
    put(mine, 1, 11, 1);
    OK(pgy_timing_cache_save_merged(mine, str_text(&path), err));
    for (useconds_t round = 0; round < 20; round++) {
        pgy_timing_cache *loaded = NULL;
        const pid_t child = fork();
        if (child == 0) save_for_ever(str_text(&path));
        usleep(2000 + 700 * round);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        OK(pgy_timing_cache_load(&loaded, str_text(&path), err));
        assert_int_equal(tactic_at(loaded, 1), 11);
        pgy_timing_cache_destroy(loaded);
    }
    str_clear(&path);
    str_printf(&path, "rm -r '%s.folder'", folder);
    assert_int_equal(system(str_text(&path)), 0);
    str_deinit(&path);
    file_temp_release(folder);
    pgy_timing_cache_destroy(mine);
}

/* ---- Threads -------------------------------------------------------------------------------- */

typedef struct worker {
    pgy_timing_cache *cache;
    const char *path;
    uint8_t first;
    pgy_status status;
} worker;

static void *fill_and_save(void *user)
{
    worker *w = user;
    for (int i = 0; i < 50 && !w->status; i++) {
        const pgy_timing_key key = key_of(w->first, (uint8_t)i);
        const pgy_timing_entry entry = {5, 1};
        pgy_timing_entry there;
        w->status = pgy_timing_cache_update(w->cache, &key, &entry, NULL);
        if (!w->status && !pgy_timing_cache_query(&there, w->cache, &key))
            w->status = PGY_E_INTERNAL;
        if (!w->status && i % 10 == 0)
            w->status = pgy_timing_cache_save_merged(w->cache, w->path, NULL);
    }
    if (!w->status) w->status = pgy_timing_cache_save_merged(w->cache, w->path, NULL);
    return NULL;
}

/* Two caches, each of two threads, in one file. */
static void test_timing_cache__threads_lose_nothing(void **state)
{
    enum { WORKERS = 4 };
    pgy_timing_cache *caches[2] = {create(), create()}, *loaded = NULL;
    pthread_t threads[WORKERS];
    worker workers[WORKERS];
    char *path = NULL;
    str lock = {0};
    (void)state;
    OK(file_temp_path(&path, ".cache", err));
    for (uint8_t i = 0; i < WORKERS; i++) {
        workers[i] = (worker){.cache = caches[i % 2], .path = path, .first = i};
        assert_int_equal(pthread_create(&threads[i], NULL, fill_and_save, &workers[i]), 0);
    }
    for (int i = 0; i < WORKERS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < WORKERS; i++) assert_int_equal(workers[i].status, PGY_OK);
    OK(pgy_timing_cache_load(&loaded, path, err));
    assert_int_equal(pgy_timing_cache_count(loaded), WORKERS * 50);
    str_printf(&lock, "%s.lock", path);
    unlink(str_text(&lock));
    str_deinit(&lock);
    file_temp_release(path);
    pgy_timing_cache_destroy(loaded);
    pgy_timing_cache_destroy(caches[0]);
    pgy_timing_cache_destroy(caches[1]);
}

static void test_timing_cache__tactics_have_names(void **state)
{
    (void)state;
    assert_int_equal(pgy_timing_tactic("no such kernel"), 0);
    assert_null(pgy_timing_tactic_name(0));
    const uint64_t tactic = pgy_timing_tactic("copy");
    assert_true(tactic != 0);
    assert_string_equal(pgy_timing_tactic_name(tactic), "copy");
}
