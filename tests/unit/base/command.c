/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#include "base/command.h"
#include "base/file.h"

static const command_options APART = {.apart = true};

static pgy_status sh(command_result *r, const char *text, const command_options *o, pgy_error *err)
{
    const char *const words[] = {"sh", "-c", text};
    return o ? command_run_with(r, words, 3, o, err) : command_run(r, words, 3, 0, err);
}

static void test_command__output_and_code(void **state)
{
    command_result r = {0};
    pgy_error err = {0};
    (void)state;
    assert_int_equal(sh(&r, "echo out; echo err >&2; exit 3", NULL, &err), PGY_OK);
    assert_string_equal(str_text(&r.out), "out\n");
    assert_string_equal(str_text(&r.err), "err\n");
    assert_int_equal(r.code, 3);
    command_result_deinit(&r);
    assert_int_equal(sh(&r, "kill -9 $$", &APART, &err), PGY_OK);
    assert_int_equal(r.code, -9);
    command_result_deinit(&r);
}

static void test_command__apart_has_no_stdin_and_its_own_group(void **state)
{
    command_result r = {0};
    pgy_error err = {0};
    (void)state;
    assert_int_equal(sh(&r, "cat | wc -c; set -- $(cat /proc/$$/stat); test $1 = $5 && echo leads",
                        &APART, &err),
                     PGY_OK);
    assert_string_equal(str_text(&r.out), "0\nleads\n");
    command_result_deinit(&r);
}

/* 3 MB of output, of which the end is kept */
static void test_command__keeps_the_end(void **state)
{
    const command_options o = {.apart = true, .keep_bytes = 1 << 20};
    command_result r = {0};
    pgy_error err = {0};
    (void)state;
    assert_int_equal(sh(&r, "head -c 3000000 /dev/zero | tr '\\0' x; echo end", &o, &err), PGY_OK);
    assert_in_range(r.out.size, o.keep_bytes, 2 * o.keep_bytes);
    assert_true(str_ends_with(str_text(&r.out), "xend\n"));
    command_result_deinit(&r);
}

static void test_command__timeout_ends_all(void **state)
{
    const command_options o = {.apart = true, .timeout_s = 0.05};
    command_result r = {0};
    pgy_error err = {0};
    (void)state;
    assert_int_equal(sh(&r, "sleep 60 & sleep 60", &o, &err), PGY_E_BACKEND);
    assert_non_null(strstr(err.text, "did not end within 0.05 s"));
}

static bool runs(long pid)
{
    char path[64], text[256] = "";
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *file = fopen(path, "re");
    const size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) fclose(file);
    return size && !strstr(text, ") Z ");
}

static bool wait_until(bool (*is)(long), long pid, bool wanted)
{
    for (int i = 0; i < 400 && is(pid) != wanted; i++)
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    return is(pid) == wanted;
}

static bool has_text(long unused)
{
    uint64_t size = 0;
    (void)unused;
    return file_exists(scratch("pid")) && file_size(&size, scratch("pid"), NULL) == PGY_OK && size;
}

/* A process that runs a command apart is killed. True if that ended the command. */
static bool ends_with_its_parent(void)
{
    char text[600];
    str read = {0};
    (void)unlink(scratch("pid"));
    snprintf(text, sizeof text, "echo $$ > %s; exec sleep 60", scratch("pid"));
    const pid_t child = fork();
    if (!child) {
        command_result r = {0};
        _exit(sh(&r, text, &APART, NULL) ? 1 : 0);
    }
    assert_true(wait_until(has_text, 0, true));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(file_read(&read, scratch("pid"), NULL), PGY_OK);
    const long pid = atol(str_text(&read));
    const bool ended = wait_until(runs, pid, false);
    if (!ended) kill((pid_t)pid, SIGKILL);
    str_deinit(&read);
    return ended;
}

/* The command may write its number before its parent has tied it, in the microseconds after the
 * start; then it stays, and another try is due. */
static void test_command__apart_ends_with_this_process(void **state)
{
    bool ended = false;
    (void)state;
    for (int i = 0; !ended && i < 5; i++) ended = ends_with_its_parent();
    assert_true(ended);
}
