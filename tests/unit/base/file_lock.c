/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <fcntl.h>

#include "base/file.h"
#include "base/file_lock.h"

static void expect_text(const char *path, const char *text)
{
    str s = {0};
    assert_int_equal(file_read(&s, path, NULL), PGY_OK);
    assert_string_equal(str_text(&s), text);
    str_deinit(&s);
}

static void test_file_lock__made_for_the_owner_alone(void **state)
{
    (void)state;
    file_lock *lock = NULL;
    struct stat info;
    umask(0);
    assert_int_equal(file_lock_take(&lock, scratch("new"), NULL), PGY_OK);
    file_lock_release(lock);
    assert_int_equal(stat(scratch("new.lock"), &info), 0);
    assert_int_equal(info.st_mode & 07777, 0600);
}

static void test_file_lock__keeps_what_is_there(void **state)
{
    (void)state;
    file_lock *lock = NULL;
    assert_int_equal(file_write_all(scratch("old.lock"), "precious", 8, NULL), PGY_OK);
    assert_int_equal(file_lock_take(&lock, scratch("old"), NULL), PGY_OK);
    file_lock_release(lock);
    expect_text(scratch("old.lock"), "precious");
}

static void test_file_lock__follows_no_link(void **state)
{
    (void)state;
    file_lock *lock = NULL;
    pgy_error err = {0};
    assert_int_equal(file_write_all(scratch("target"), "precious", 8, NULL), PGY_OK);
    assert_int_equal(symlink(scratch("target"), scratch("linked.lock")), 0);
    assert_int_equal(file_lock_take(&lock, scratch("linked"), &err), PGY_E_IO);
    assert_null(lock);
    assert_non_null(strstr(err.text, "linked.lock': it is a symbolic link"));
    expect_text(scratch("target"), "precious");
    assert_int_equal(symlink(scratch("absent"), scratch("dangling.lock")), 0);
    assert_int_equal(file_lock_take(&lock, scratch("dangling"), &err), PGY_E_IO);
    assert_false(file_exists(scratch("absent")));
}

/* With a reader the FIFO could be opened, without one the opening must not wait. */
static void test_file_lock__takes_only_a_regular_file(void **state)
{
    (void)state;
    file_lock *lock = NULL;
    pgy_error err = {0};
    assert_int_equal(mkfifo(scratch("pipe.lock"), 0600), 0);
    assert_int_equal(file_lock_take(&lock, scratch("pipe"), &err), PGY_E_IO);
    const int reader = open(scratch("pipe.lock"), O_RDONLY | O_NONBLOCK);
    assert_true(reader >= 0);
    assert_int_equal(file_lock_take(&lock, scratch("pipe"), &err), PGY_E_IO);
    assert_non_null(strstr(err.text, "pipe.lock': it is not a regular file"));
    close(reader);
}
