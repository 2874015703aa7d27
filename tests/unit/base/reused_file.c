/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/alloc.h"
#include "base/reused_file.h"

enum { PIECE = 100000 };

/* A map with two pieces, of the letters a and b. */
static file_map make_map(void)
{
    const char *path = scratch("source");
    char *text = mem_alloc(2 * PIECE);
    file_map m;
    memset(text, 'a', PIECE);
    memset(text + PIECE, 'b', PIECE);
    assert_int_equal(file_write_all(path, text, 2 * PIECE, NULL), PGY_OK);
    mem_free(text);
    assert_int_equal(file_map_open(&m, path, NULL), PGY_OK);
    return m;
}

/* Writes `text`, where 'A' and 'B' stand for the pieces; returns the bytes that had to be written.
 */
static uint64_t show(reused_file *f, const file_map *m, const char *text)
{
    assert_true(reused_file_begin(f));
    for (const char *c = text; *c; c++) {
        if (*c == 'A' || *c == 'B')
            assert_int_equal(reused_file_put_map(f, m, *c == 'A' ? 0 : PIECE, PIECE, NULL), PGY_OK);
        else
            assert_int_equal(reused_file_put(f, c, 1, NULL), PGY_OK);
    }
    assert_int_equal(reused_file_show(f, NULL), PGY_OK);
    return reused_file_written(f);
}

static void expect(const char *path, const char *text)
{
    str s = {0};
    size_t at = 0;
    assert_int_equal(file_read(&s, path, NULL), PGY_OK);
    for (const char *c = text; *c; c++) {
        const bool piece = *c == 'A' || *c == 'B';
        const size_t n = piece ? PIECE : 1;
        assert_true(at + n <= s.size);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(str_text(&s)[at + i], piece ? *c - 'A' + 'a' : *c);
        at += n;
    }
    assert_int_equal(s.size, at);
    str_deinit(&s);
}

static size_t count_files(void)
{
    strvec names = {0};
    assert_int_equal(file_list_dir(&names, scratch("."), NULL, NULL), PGY_OK);
    const size_t count = names.count;
    strvec_deinit(&names);
    return count;
}

static reused_file *create(const char *path)
{
    reused_file *f = NULL;
    unlink(path);
    assert_int_equal(reused_file_create(&f, path, NULL), PGY_OK);
    return f;
}

/* Does the kernel grant the leases without which no file is reused? */
static bool has_leases(void)
{
    const int fd = open(scratch("lease"), O_RDWR | O_CREAT, 0600);
    const bool granted = fcntl(fd, F_SETLEASE, F_WRLCK) == 0;
    close(fd);
    unlink(scratch("lease"));
    return granted;
}

static void test_reused_file__writes_what_changed(void **state)
{
    (void)state;
    if (!has_leases()) skip();
    file_map m = make_map();
    const char *path = scratch("f");
    reused_file *f = create(path);
    static const struct {
        const char *text;
        uint64_t written;
    } STEPS[] = {
        {"xAyB", 2 * PIECE + 2}, {"xAz", 2},    {"xAzB", PIECE + 2}, {"", 0},
        {"Ax", PIECE + 1},       {"A", 0},      {"B", PIECE},        {"xyB", PIECE + 2},
        {"AB", 2 * PIECE},       {"AA", PIECE}, {"xB", PIECE + 1},   {"xBx", 2},
    };
    for (size_t i = 0; i < sizeof STEPS / sizeof *STEPS; i++) {
        assert_int_equal(show(f, &m, STEPS[i].text), STEPS[i].written);
        expect(path, STEPS[i].text);
        assert_true(reused_file_hide(f));
        assert_int_equal(access(path, F_OK), -1);
    }
    reused_file_destroy(f);
    assert_int_equal(count_files(), 1); /* the source */
    file_map_close(&m);
}

/* What others did to the file, or still do with it, must not show up in the next content, and the
 * next content must not show up in what they have. */
static void test_reused_file__leaves_files_of_others(void **state)
{
    (void)state;
    file_map m = make_map();
    const char *path = scratch("f"), *other = scratch("other");
    reused_file *f = create(path);
    show(f, &m, "xA");
    int fd = open(path, O_WRONLY); /* changed in place */
    assert_int_equal(pwrite(fd, "zz", 2, 50), 2);
    close(fd);
    assert_true(reused_file_hide(f));
    assert_int_equal(show(f, &m, "xA"), PIECE + 1);
    expect(path, "xA");
    assert_int_equal(link(path, other), 0); /* kept under another name */
    assert_true(reused_file_hide(f));
    show(f, &m, "yB");
    expect(other, "xA");
    fd = open(path, O_RDONLY); /* kept open */
    assert_true(reused_file_hide(f));
    show(f, &m, "zA");
    char first = 0;
    assert_int_equal(pread(fd, &first, 1, 0), 1);
    assert_int_equal(first, 'y');
    close(fd);
    fd = open(path, O_RDONLY); /* kept mapped */
    const char *view = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    assert_ptr_not_equal(view, MAP_FAILED);
    assert_true(reused_file_hide(f));
    show(f, &m, "wB");
    assert_int_equal(*view, 'z');
    assert_int_equal(munmap((void *)view, 1), 0);
    assert_int_equal(rename(path, other), 0); /* moved away */
    assert_false(reused_file_hide(f));
    show(f, &m, "vA");
    expect(other, "wB");
    expect(path, "vA");
    unlink(path);
    assert_int_equal(file_write_all(path, "theirs", 6, NULL), PGY_OK); /* replaced */
    assert_false(reused_file_hide(f));
    assert_false(reused_file_begin(f));
    reused_file_destroy(f);
    expect(path, "theirs");
    unlink(path);
    unlink(other);
    file_map_close(&m);
}

static void test_reused_file__a_shown_file_stays(void **state)
{
    (void)state;
    file_map m = make_map();
    const char *path = scratch("f");
    reused_file *f = create(path);
    show(f, &m, "xA");
    assert_false(reused_file_begin(f));
    reused_file_destroy(f);
    expect(path, "xA");
    unlink(path);
    f = create(scratch("none/f"));
    assert_false(reused_file_begin(f));
    reused_file_destroy(f);
    file_map_close(&m);
}

/* A request to stop in the middle leaves nothing behind. */
static void test_reused_file__cancelled(void **state)
{
    (void)state;
    file_map m = make_map();
    const char *path = scratch("f");
    reused_file *f = create(path);
    assert_true(reused_file_begin(f));
    pgy_cancel();
    assert_int_equal(reused_file_put_map(f, &m, 0, PIECE, NULL), PGY_E_CANCELLED);
    pgy_cancel_reset();
    assert_int_equal(count_files(), 1);
    show(f, &m, "xB"); /* a later try begins anew */
    expect(path, "xB");
    reused_file_destroy(f);
    unlink(path);
    file_map_close(&m);
}

static void test_reused_file__full_disk(void **state)
{
    (void)state;
    file_map m = make_map();
    const char *path = scratch("f");
    struct rlimit before, small;
    pgy_error err = {0};
    reused_file *f = create(path);
    show(f, &m, "xA");
    assert_true(reused_file_hide(f));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = PIECE + PIECE / 2;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_true(reused_file_begin(f));
    assert_int_equal(reused_file_put_map(f, &m, 0, PIECE, &err), PGY_OK);
    assert_int_equal(reused_file_put_map(f, &m, PIECE, PIECE, &err), PGY_E_IO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_non_null(strstr(err.text, "/f': File too large"));
    assert_int_equal(count_files(), 1); /* the source */
    reused_file_destroy(f);
    file_map_close(&m);
}
