/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of machine code on disk: what it keeps, what it refuses, and how large it grows. */
#include "device/cuda/cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "device/cuda.h"
#include "harness/fake_cuda.h"
#include "harness/test_folder.h"

static const char *const NO_OPTIONS[] = {NULL};
static const char SOURCE[] = "extern \"C\" __global__ void twice(float *y) {}";

enum { PATH_SIZE = TEST_PATH_SIZE + 256 };
static char folder[TEST_PATH_SIZE];

static int make_folder(void **state)
{
    (void)state;
    fake_cuda_use(TEST_BINARY_DIR);
    test_path(folder, "cubins_XXXXXX");
    if (!mkdtemp(folder)) return 1;
    setenv("POLYGRAPHY_CUDA_CACHE", folder, 1);
    return 0;
}

static void list(strvec *names)
{
    assert_int_equal(file_list_dir(names, folder, ".cubin", NULL), PGY_OK);
}

static size_t count_files(void)
{
    strvec names = {0};
    list(&names);
    const size_t count = names.count;
    strvec_deinit(&names);
    return count;
}

static void first_path(char path[PATH_SIZE])
{
    strvec names = {0};
    list(&names);
    assert_int_equal(names.count, 1);
    snprintf(path, PATH_SIZE, "%s/%s", folder, names.items[0]);
    strvec_deinit(&names);
}

static int remove_folder(void **state)
{
    strvec names = {0};
    (void)state;
    if (chmod(folder, 0700) || file_list_dir(&names, folder, "", NULL)) return 1;
    for (size_t i = 0; i < names.count; i++) {
        char *path = path_join(folder, names.items[i]);
        unlink(path);
        mem_free(path);
    }
    strvec_deinit(&names);
    return rmdir(folder);
}

/* ---- By way of a device --------------------------------------------------------------------- */

static void load(str *out)
{
    device *d = NULL;
    cuda_code *c = NULL;
    pgy_error err = {0};
    pgy_status st = device_open(&d, "cuda", &err);
    if (!st) st = cuda_code_create(&c, d, "twice", SOURCE, NO_OPTIONS, &err);
    str_printf(out, "%s %lu", st ? err.text : "loaded", fake_cuda_calls("nvrtcCompileProgram"));
    cuda_code_destroy(c);
}

#define COMPILED "loaded 1"
#define CACHED "loaded 0"

static void check_cached(void **state)
{
    (void)state;
    make_folder(NULL);
    assert_string_equal(fake_cuda_child(load), COMPILED);
    assert_int_equal(count_files(), 1);
    assert_string_equal(fake_cuda_child(load), CACHED);
}

static void test_cuda_cache__another_process_finds_the_code(void **state)
{
    struct stat s;
    char path[PATH_SIZE];
    check_cached(state);
    first_path(path);
    assert_int_equal(stat(path, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0600);
    remove_folder(state);
}

static void test_cuda_cache__another_compiler_makes_its_own(void **state)
{
    check_cached(state);
    setenv("FAKE_NVRTC_VERSION", "12.9", 1);
    assert_string_equal(fake_cuda_child(load), COMPILED);
    assert_int_equal(count_files(), 2);
    remove_folder(state);
}

static void test_cuda_cache__a_folder_is_made_for_its_user_alone(void **state)
{
    struct stat s;
    char below[sizeof folder + 2];
    make_folder(state);
    snprintf(below, sizeof below, "%s/a", folder);
    setenv("POLYGRAPHY_CUDA_CACHE", below, 1);
    assert_string_equal(fake_cuda_child(load), COMPILED);
    assert_string_equal(fake_cuda_child(load), CACHED);
    assert_int_equal(stat(below, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0700);
    strcat(folder, "/a");
    remove_folder(state);
    *strrchr(folder, '/') = '\0';
    remove_folder(state);
}

static void test_cuda_cache__off_keeps_nothing(void **state)
{
    make_folder(state);
    setenv("POLYGRAPHY_CUDA_CACHE", "off", 1);
    assert_string_equal(fake_cuda_child(load), COMPILED);
    assert_int_equal(count_files(), 0);
    remove_folder(state);
}

static void test_cuda_cache__a_folder_that_others_can_write_to_is_not_used(void **state)
{
    check_cached(state);
    assert_int_equal(chmod(folder, 0777), 0);
    assert_string_equal(fake_cuda_child(load), COMPILED);
    remove_folder(state);
}

static void test_cuda_cache__a_file_that_others_can_write_to_is_replaced(void **state)
{
    char path[PATH_SIZE];
    struct stat s;
    check_cached(state);
    first_path(path);
    assert_int_equal(chmod(path, 0666), 0);
    assert_string_equal(fake_cuda_child(load), COMPILED);
    assert_int_equal(stat(path, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0600);
    assert_string_equal(fake_cuda_child(load), CACHED);
    remove_folder(state);
}

static void test_cuda_cache__code_that_the_driver_refuses_is_compiled_again(void **state)
{
    check_cached(state);
    setenv("FAKE_CUDA_FAIL", "cuModuleLoadData:1:200", 1);
    assert_string_equal(fake_cuda_child(load), COMPILED);
    unsetenv("FAKE_CUDA_FAIL");
    assert_string_equal(fake_cuda_child(load), CACHED);
    remove_folder(state);
}

static void test_cuda_cache__a_folder_that_cannot_be_written_does_no_harm(void **state)
{
    (void)state;
    fake_cuda_use(TEST_BINARY_DIR);
    setenv("POLYGRAPHY_CUDA_CACHE", "/proc/nothing", 1);
    assert_string_equal(fake_cuda_child(load), COMPILED);
}

/* ---- Files ---------------------------------------------------------------------------------- */

static cuda_key key_of(const char *text)
{
    const cuda_nvrtc n = {.major = 13};
    const cuda_source s = {
        .name = "x", .text = text, .options = NO_OPTIONS, .architecture = "sm_90a"};
    return cuda_key_of(&s, &n);
}

/* The file of a cache entry as the stand-in compiler makes it. */
static char *good_file(size_t *size, char path[PATH_SIZE])
{
    file_map map = {0};
    first_path(path);
    assert_int_equal(file_map_open(&map, path, NULL), PGY_OK);
    char *bytes = mem_alloc(map.size_bytes);
    assert_non_null(bytes);
    memcpy(bytes, map.data, map.size_bytes);
    *size = map.size_bytes;
    file_map_close(&map);
    return bytes;
}

static void put_file(const char *path, const void *bytes, size_t size)
{
    const int file = open(path, O_WRONLY | O_TRUNC);
    assert_true(file >= 0);
    assert_int_equal(write(file, bytes, size), size);
    close(file);
}

static cuda_key key_in(const char *bytes)
{
    cuda_key k;
    memcpy(&k, bytes + 16, sizeof k);
    return k;
}

static bool is_read(const cuda_key *k)
{
    const cuda_cache c = {.folder = folder, .limit_bytes = CUDA_CACHE_LIMIT};
    void *code = NULL;
    size_t size = 0;
    const bool found = cuda_cache_read(&code, &size, &c, k);
    mem_free(code);
    return found;
}

static void test_cuda_cache__each_changed_byte_and_each_cut_is_found(void **state)
{
    char path[PATH_SIZE];
    size_t size;
    check_cached(state);
    char *bytes = good_file(&size, path);
    const cuda_key k = key_in(bytes);
    assert_int_equal(pgy_log_set_severity(NULL, PGY_LOG_CRITICAL, NULL), PGY_OK);
    assert_true(is_read(&k));
    for (size_t i = 0; i < size; i++) {
        bytes[i] ^= 1;
        put_file(path, bytes, size);
        assert_false(is_read(&k));
        bytes[i] ^= 1;
        put_file(path, bytes, i);
        assert_false(is_read(&k));
    }
    put_file(path, bytes, size);
    assert_true(is_read(&k));
    mem_free(bytes);
    remove_folder(state);
}

/* Code whose checksum is right, but whose sections reach beyond it. */
static void test_cuda_cache__sections_outside_the_file_are_refused(void **state)
{
    static const struct {
        size_t at;
        uint64_t value;
    } CHANGES[] = {
        {0x28, 1u << 20}, {0x3c, 0xffff}, {64 + 0x18, 1u << 20}, {64 + 0x20, UINT64_MAX}, {0, 0}};
    const cuda_cache c = {.folder = folder, .limit_bytes = CUDA_CACHE_LIMIT};
    char path[PATH_SIZE];
    size_t size;
    check_cached(state);
    char *bytes = good_file(&size, path), *code = bytes + 56;
    const cuda_key k = key_in(bytes);
    for (size_t i = 0; i < sizeof CHANGES / sizeof *CHANGES; i++) {
        const size_t wide = CHANGES[i].at == 0x3c ? 2 : 8;
        char *changed = mem_alloc(size - 56);
        memcpy(changed, code, size - 56);
        memcpy(changed + CHANGES[i].at, &CHANGES[i].value, wide);
        cuda_cache_write(&c, &k, changed, size - 56);
        assert_false(is_read(&k));
        mem_free(changed);
    }
    cuda_cache_write(&c, &k, code, size - 56);
    assert_true(is_read(&k));
    mem_free(bytes);
    remove_folder(state);
}

static void set_time(const cuda_key *k, time_t seconds)
{
    char path[PATH_SIZE];
    const struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
    snprintf(path, sizeof path, "%s/%016llx%016llx.cubin", folder, (unsigned long long)k->parts[0],
             (unsigned long long)k->parts[1]);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void test_cuda_cache__the_oldest_files_go_first(void **state)
{
    static const char *const TEXTS[] = {"a", "b", "c", "d"};
    const cuda_cache c = {.folder = folder, .limit_bytes = 3500};
    char path[PATH_SIZE], *code, bytes[1000];
    size_t size;
    check_cached(state);
    char *whole = good_file(&size, path);
    code = whole + 56;
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes, code, size - 56);
    unlink(path);
    for (int i = 0; i < 3; i++) {
        const cuda_key k = key_of(TEXTS[i]);
        cuda_cache_write(&c, &k, bytes, sizeof bytes);
        set_time(&k, 1000 + (i + 1) % 3); /* "c" is the oldest */
    }
    const cuda_key keys[] = {key_of("a"), key_of("b"), key_of("c"), key_of("d")};
    cuda_cache_write(&c, &keys[3], bytes, sizeof bytes);
    assert_true(is_read(&keys[0]) && is_read(&keys[1]) && is_read(&keys[3]));
    assert_false(is_read(&keys[2]));
    mem_free(whole);
    remove_folder(state);
}
