/* SPDX-License-Identifier: Apache-2.0 */
/* Archives that NumPy wrote, our own, and damaged ones. */
#include "support.h"

static pgy_tensor_map *load(const char *path)
{
    pgy_error err = {0};
    pgy_tensor_map *m = NULL;
    expect_ok(pgy_npz_load(&m, path, &err), &err);
    return m;
}

static void expect_same_maps(const pgy_tensor_map *a, const pgy_tensor_map *b)
{
    assert_int_equal(pgy_tensor_map_count(a), pgy_tensor_map_count(b));
    for (size_t i = 0; i < pgy_tensor_map_count(a); i++) {
        assert_string_equal(pgy_tensor_map_name(a, i), pgy_tensor_map_name(b, i));
        expect_same(pgy_tensor_map_at(a, i), pgy_tensor_map_at(b, i));
    }
}

static void test_npz__stored_and_deflated_agree(void **state)
{
    (void)state;
    pgy_tensor_map *deflated = load(DATA("arrays.npz")), *stored = load(DATA("stored.npz"));
    expect_same_maps(deflated, stored);
    assert_int_equal(pgy_tensor_map_count(stored), 10);
    const int64_t *f = pgy_tensor_data(pgy_tensor_map_find(stored, "f"));
    const double *big = pgy_tensor_data(pgy_tensor_map_find(stored, "big"));
    const int16_t *bigf = pgy_tensor_data(pgy_tensor_map_find(stored, "bigf"));
    for (int i = 0; i < 24; i++) assert_true(f[i] == i && big[i] == i && bigf[i] == i);
    assert_true(*(float *)pgy_tensor_data(pgy_tensor_map_find(stored, "scalar")) == 1.5f);
    assert_int_equal(pgy_tensor_count(pgy_tensor_map_find(stored, "empty")), 0);
    pgy_tensor_map_destroy(deflated);
    pgy_tensor_map_destroy(stored);
}

static void test_npz__reads_what_it_writes(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_tensor_map *m = load(DATA("stored.npz"));
    expect_ok(pgy_npz_save(OUT("npz"), m, &err), &err);
    pgy_tensor_map *again = load(OUT("npz"));
    expect_same_maps(m, again);
    pgy_tensor_map_destroy(m);
    pgy_tensor_map_destroy(again);
}

static void test_npz__empty_archive(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_tensor_map *m = NULL;
    expect_ok(pgy_tensor_map_create(&m, &err), &err);
    expect_ok(pgy_npz_save(OUT("npz_empty"), m, &err), &err);
    pgy_tensor_map_destroy(m);
    m = load(OUT("npz_empty"));
    assert_int_equal(pgy_tensor_map_count(m), 0);
    pgy_tensor_map_destroy(m);
}

/* Every byte of an archive changed in turn: an error or the same arrays, never a crash, and damaged
 * elements are always noticed. */
static void damage(const char *path)
{
    static unsigned char file[1 << 16];
    size_t n = read_file(path, file, sizeof file), refused = 0;
    for (size_t i = 0; i < n; i++) {
        pgy_tensor_map *m = NULL;
        file[i] ^= 0x41;
        refused += pgy_npz_parse(&m, file, n, NULL) != PGY_OK;
        pgy_tensor_map_destroy(m);
        m = NULL;
        file[i] ^= 0x41;
        if (i % 7 == 0) assert_int_not_equal(pgy_npz_parse(&m, file, i, NULL), PGY_OK);
    }
    assert_true(refused > n / 2);
}

static void test_npz__damage_is_noticed(void **state)
{
    (void)state;
    damage(DATA("arrays.npz"));
    damage(DATA("stored.npz"));
}

static void test_npz__checksum(void **state)
{
    (void)state;
    static unsigned char file[1 << 16];
    pgy_error err = {0};
    pgy_tensor_map *m = NULL;
    size_t n = read_file(DATA("stored.npz"), file, sizeof file);
    file[200] ^= 1; /* an element of the first member */
    expect_error(pgy_npz_parse(&m, file, n, &err), PGY_E_FORMAT, &err,
                 "member 'c': zip: a member's checksum is wrong");
    expect_error(pgy_npz_parse(&m, "PK\5\6", 4, &err), PGY_E_FORMAT, &err,
                 "central directory is missing");
    assert_null(m);
}

/* The first entry of the central directory, its flags at 8 and its compression method at 10. */
static unsigned char *first_entry(unsigned char *file, size_t n)
{
    for (size_t i = 0; i + 12 < n; i++)
        if (!memcmp(file + i, "PK\1\2", 4)) return file + i;
    fail_msg("no central directory");
    return NULL;
}

static void test_npz__unsupported_members_are_named(void **state)
{
    (void)state;
    static unsigned char file[1 << 16];
    pgy_error err = {0};
    pgy_tensor_map *m = NULL;
    size_t n = read_file(DATA("stored.npz"), file, sizeof file);
    unsigned char *entry = first_entry(file, n);
    entry[8] |= 1;
    expect_error(pgy_npz_parse(&m, file, n, &err), PGY_E_UNSUPPORTED, &err,
                 "member 'c.npy' is encrypted");
    entry[8] &= (unsigned char)~1u;
    entry[10] = 12;
    expect_error(pgy_npz_parse(&m, file, n, &err), PGY_E_UNSUPPORTED, &err,
                 "compression method 12 of member 'c.npy'");
    assert_null(m);
}

/* The offset in the central directory of the entry for member i. */
static size_t find_entry(const uint8_t *file, size_t size, size_t i)
{
    for (size_t at = 0; at + 46 < size; at++)
        if (!memcmp(file + at, "PK\1\2", 4) && i-- == 0) return at;
    fail();
    return 0;
}

/* Two entries that lead to the same bytes: 64 of them made 3 GB of a file of 54 KB. */
static void test_npz__members_that_overlap(void **state)
{
    (void)state;
    static const char *const FILES[] = {DATA("stored.npz"), DATA("arrays.npz")};
    static uint8_t file[1 << 16];
    pgy_error err = {0};
    pgy_tensor_map *m = NULL;
    for (size_t i = 0; i < 2; i++) {
        const size_t n = read_file(FILES[i], file, sizeof file);
        const size_t first = find_entry(file, n, 0), second = find_entry(file, n, 1);
        memcpy(file + second + 16, file + first + 16, 12); /* checksum and both sizes */
        memcpy(file + second + 42, file + first + 42, 4);  /* where it begins */
        expect_error(pgy_npz_parse(&m, file, n, &err), PGY_E_FORMAT, &err, "' overlap");
        assert_null(m);
    }
}

/* One that reaches into the next one, and one that reaches into the directory. */
static void test_npz__member_that_is_too_long(void **state)
{
    (void)state;
    static uint8_t file[1 << 16];
    pgy_error err = {0};
    pgy_tensor_map *m = NULL;
    for (size_t i = 0; i < 10; i += 9) {
        uint32_t stored;
        const size_t n = read_file(DATA("stored.npz"), file, sizeof file);
        const size_t entry = find_entry(file, n, i);
        memcpy(&stored, file + entry + 20, 4);
        stored += 20;
        memcpy(file + entry + 20, &stored, 4);
        memcpy(file + entry + 24, &stored, 4);
        expect_error(pgy_npz_parse(&m, file, n, &err), PGY_E_FORMAT, &err,
                     i ? "' overlaps the central directory" : "' overlap");
    }
}
