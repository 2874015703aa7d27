/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/log.h"
#include "base/str.h"

static const char LOG_PATH[] = "comparator/comparator.py";
static str captured;

static void capture(pgy_severity severity, const char *text, size_t size_bytes, void *user)
{
    (void)severity, (void)user;
    str_append_n(&captured, text, size_bytes);
}

/* What has been logged since the last call. */
static const char *taken(void)
{
    static str last;
    str_deinit(&last);
    last = captured;
    captured = (str){0};
    return str_text(&last);
}

static void set(const char *path, int severity)
{
    assert_int_equal(pgy_log_set_severity(path, severity, NULL), PGY_OK);
}

static int group_setup(void **state)
{
    (void)state;
    LOG(CRITICAL, "nobody sees this");
    if (pgy_log_is_on(PGY_LOG_CRITICAL, NULL)) return 1; /* silent until opened */
    pgy_log_set_sink(capture, NULL);
    return 0;
}

static void test_log__letters(void **state)
{
    (void)state;
    set(NULL, PGY_LOG_ULTRA_VERBOSE);
    LOG(ULTRA_VERBOSE, "u");
    LOG(SUPER_VERBOSE, "s");
    LOG(EXTRA_VERBOSE, "x");
    LOG(VERBOSE, "v");
    LOG(INFO, "i");
    LOG(START, "start");
    LOG(FINISH, "finish");
    LOG(WARNING, "w");
    LOG(ERROR, "e");
    LOG(CRITICAL, "c");
    assert_string_equal(
        taken(), "[U] u\n[S] s\n[X] x\n[V] v\n[I] i\n[I] start\n[I] finish\n[W] w\n[E] e\n[!] c\n");
    set(NULL, PGY_LOG_INFO);
}

static void test_log__threshold(void **state)
{
    (void)state;
    set("", PGY_LOG_START);
    assert_int_equal(pgy_log_severity(NULL), PGY_LOG_START);
    LOG(INFO, "hidden");
    LOG(START, "shown");
    assert_false(LOG_IS_ON(INFO));
    assert_true(LOG_IS_ON(FINISH));
    assert_string_equal(taken(), "[I] shown\n");
    set(NULL, PGY_LOG_INFO);
}

static void test_log__longest_path_wins(void **state)
{
    (void)state;
    set("a", PGY_LOG_WARNING);
    set("a/b/c.py", PGY_LOG_VERBOSE);
    set("./backend/trt/", PGY_LOG_ERROR);
    assert_int_equal(pgy_log_severity("a/b/c.py"), PGY_LOG_VERBOSE);
    assert_int_equal(pgy_log_severity("a/b/d.py"),
                     PGY_LOG_WARNING); /* not the default: 'a' covers it */
    assert_int_equal(pgy_log_severity("a"), PGY_LOG_WARNING);
    assert_int_equal(pgy_log_severity("ab"), PGY_LOG_INFO);
    assert_int_equal(pgy_log_severity("backend/trt/loader.py"), PGY_LOG_ERROR);
    assert_int_equal(pgy_log_severity("backend/trt_util.py"), PGY_LOG_INFO);
    assert_true(pgy_log_is_on(PGY_LOG_VERBOSE, "a/b/c.py"));
    assert_false(pgy_log_is_on(PGY_LOG_INFO, "a/b"));
    assert_true(pgy_log_is_on(PGY_LOG_INFO, NULL));
    set("a", PGY_LOG_INFO);
    assert_int_equal(pgy_log_severity("a/b/d.py"), PGY_LOG_INFO);
    set("a/b/c.py", PGY_LOG_INFO);
    set("backend/trt", PGY_LOG_INFO);
}

static void test_log__indentation_and_lines(void **state)
{
    (void)state;
    pgy_log_indent(1);
    LOG(INFO, "one\n\ntwo\n");
    LOG(INFO, "%s", "");
    pgy_log_indent(1);
    LOG(WARNING, "deep\r\nend\n\n");
    pgy_log_indent(-2);
    LOG(INFO, "out");
    assert_string_equal(taken(), "[I]     one\n        \n        two\n[I]     \n[W]         deep\n "
                                 "           end\n            \n[I] out\n");
}

static void test_log__format(void **state)
{
    (void)state;
    pgy_log_set_format((pgy_log_format){.line_info = true});
    pgy_log_write(PGY_LOG_INFO, "a/b.py", 17, "x\ny");
    assert_string_equal(taken(), "[I] [a/b.py:17] x\n                y\n");
    pgy_log_set_format((pgy_log_format){.timestamp = true});
    LOG(INFO, "x");
    const char *line = taken();
    int hours, minutes, seconds, end = 0;
    assert_int_equal(sscanf(line, "[I] (%2d:%2d:%2d) x%n", &hours, &minutes, &seconds, &end), 3);
    assert_int_equal(end, 16);
    assert_string_equal(line + end, "\n");
    pgy_log_set_format((pgy_log_format){0});
}

static void test_log__long_text(void **state)
{
    (void)state;
    LOG(INFO, "%5000d", 7);
    const char *line = taken();
    assert_int_equal(strlen(line), 5005);
    assert_string_equal(line + 5002, " 7\n");
}

static void test_log__once(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) LOG_ONCE(WARNING, "only %s", "once");
    LOG_ONCE(WARNING, "only %s", "twice");
    set(NULL, PGY_LOG_ERROR);
    LOG_ONCE(WARNING, "later");
    set(NULL, PGY_LOG_INFO);
    LOG_ONCE(WARNING, "later");
    assert_string_equal(taken(), "[W] only once\n[W] only twice\n[W] later\n");
}

static void test_log__names(void **state)
{
    (void)state;
    int severity = 0;
    pgy_error err = {0};
    assert_int_equal(pgy_severity_from_name(&severity, "eXtra_Verbose", &err), PGY_OK);
    assert_int_equal(severity, PGY_LOG_EXTRA_VERBOSE);
    assert_int_equal(pgy_severity_from_name(&severity, "LOUD", &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "'LOUD'"));
    assert_non_null(strstr(err.text, "ULTRA_VERBOSE, SUPER_VERBOSE"));
    assert_int_equal(severity, PGY_LOG_EXTRA_VERBOSE);
}

static void test_log__file(void **state)
{
    (void)state;
    char path[256], text[64] = "";
    snprintf(path, sizeof path, "%s", scratch("deep/er/log.txt"));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pgy_log_set_file(path, NULL), PGY_OK);
        LOG(INFO, "line %d", i);
    }
    FILE *file = fopen(path, "r"); /* flushed, not closed; the second opening truncated it */
    assert_non_null(file);
    assert_int_equal(fread(text, 1, sizeof text, file), 11);
    fclose(file);
    assert_string_equal(text, "[I] line 1\n");
    pgy_error err = {0};
    assert_int_equal(pgy_log_set_file(scratch("."), &err), PGY_E_IO);
    assert_non_null(strstr(err.text, scratch_folder));
    assert_int_equal(pgy_log_set_file(scratch("deep/er/log.txt/x"), &err), PGY_E_IO);
    assert_int_equal(pgy_log_set_file(NULL, NULL), PGY_OK);
    taken();
}

/* Runs `body` in a child whose stdout and stderr are files, and returns what it wrote. */
static void in_child(void (*body)(void), char *out, char *errors, size_t size)
{
    const char *out_path = scratch("out"), *error_path = scratch("err");
    const pid_t child = fork();
    if (child == 0) {
        if (!freopen(out_path, "w", stdout) || !freopen(error_path, "w", stderr)) _exit(9);
        pgy_log_open_console();
        body();
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    FILE *files[2] = {fopen(out_path, "r"), fopen(error_path, "r")};
    out[fread(out, 1, size - 1, files[0])] = '\0';
    errors[fread(errors, 1, size - 1, files[1])] = '\0';
    fclose(files[0]);
    fclose(files[1]);
}

static void log_three(void)
{
    LOG(INFO, "info");
    LOG(WARNING, "a\nb");
    LOG(CRITICAL, "end");
}

static void test_log__console_streams_and_colors(void **state)
{
    (void)state;
    char out[256], errors[256];
    unsetenv("NO_COLOR");
    unsetenv("FORCE_COLOR");
    in_child(log_three, out, errors, sizeof out);
    assert_string_equal(out, "[I] info\n[W] a\n    b\n");
    assert_string_equal(errors, "[!] end\n");
    setenv("FORCE_COLOR", "1", 1);
    setenv("NO_COLOR", "", 1);
    in_child(log_three, out, errors, sizeof out);
    assert_string_equal(out, "[I] info\n\033[38;5;11m[W] a\n    b\033[0m\n");
    assert_string_equal(errors, "\033[38;5;9m[!] end\033[0m\n");
    pgy_log_set_format((pgy_log_format){.no_colors = true});
    in_child(log_three, out, errors, sizeof out);
    assert_string_equal(out, "[I] info\n[W] a\n    b\n");
    pgy_log_set_format((pgy_log_format){0});
    setenv("FORCE_COLOR", "0", 1);
    in_child(log_three, out, errors, sizeof out);
    assert_string_equal(errors, "[!] end\n");
    unsetenv("NO_COLOR");
    unsetenv("FORCE_COLOR");
}

/* Runs `body` in a child whose stdout and stderr are one terminal, and returns what it wrote. */
static void in_terminal(const char *term, void (*body)(void), char *out, size_t size)
{
    const int host = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(host >= 0 && !grantpt(host) && !unlockpt(host));
    const int guest = open(ptsname(host), O_RDWR | O_NOCTTY);
    assert_true(guest >= 0);
    const pid_t child = fork();
    if (child == 0) {
        if (term)
            setenv("TERM", term, 1);
        else
            unsetenv("TERM");
        dup2(guest, STDOUT_FILENO);
        dup2(guest, STDERR_FILENO);
        pgy_log_open_console();
        body();
        fflush(stdout);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    close(guest);
    /* What the child wrote comes in pieces, and ends where no one holds the terminal any more. */
    size_t count = 0;
    for (ssize_t got; (got = read(host, out + count, size - 1 - count)) > 0;) count += (size_t)got;
    out[count] = '\0';
    close(host);
}

static void log_with_status(void)
{
    log_show_status("half done");
    LOG(WARNING, "late");
}

static void test_log__terminals_that_know_no_escape_sequences_get_none(void **state)
{
    (void)state;
    char out[256];
    unsetenv("NO_COLOR");
    unsetenv("FORCE_COLOR");
    in_terminal("xterm-256color", log_with_status, out, sizeof out);
    assert_non_null(strstr(out, "half done\r\033[K\033[38;5;11m[W] late"));
    in_terminal("dumb", log_with_status, out, sizeof out);
    assert_string_equal(out, "[W] late\r\n");
    in_terminal("", log_with_status, out, sizeof out);
    assert_string_equal(out, "[W] late\r\n");
    in_terminal(NULL, log_with_status, out, sizeof out);
    assert_string_equal(out, "[W] late\r\n");
    setenv("NO_COLOR", "1", 1);
    in_terminal("xterm-256color", log_with_status, out, sizeof out);
    assert_string_equal(out, "half done\r\033[K[W] late\r\n");
    unsetenv("NO_COLOR");
}

static void test_log__reader_gone(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGPIPE, SIG_IGN);
        dup2(ends[1], STDOUT_FILENO);
        pgy_log_open_console();
        for (int i = 0; i < 100; i++) LOG(INFO, "into the void");
        _exit(0);
    }
    close(ends[1]);
    int status = -1;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

static bool hear(pgy_severity severity, const char *text, void *user)
{
    str *heard = user;
    str_printf(heard, "%s;", text);
    return severity == PGY_LOG_WARNING;
}

static void test_log__a_listener_hears_all_and_takes_what_it_wants(void **state)
{
    (void)state;
    str heard = {0};
    taken();
    log_set_listener(hear, &heard);
    LOG(WARNING, "mine");
    LOG(INFO, "not mine");
    LOG(ULTRA_VERBOSE, "below the threshold");
    log_set_listener(NULL, NULL);
    LOG(WARNING, "nobody listens");
    assert_string_equal(str_text(&heard), "mine;not mine;below the threshold;");
    assert_string_equal(taken(), "[I] not mine\n[W] nobody listens\n");
    str_deinit(&heard);
}

static void *log_many(void *name)
{
    for (int i = 0; i < 500; i++) LOG(INFO, "%s\n%s", (const char *)name, (const char *)name);
    return NULL;
}

static void test_log__blocks_of_threads_stay_whole(void **state)
{
    (void)state;
    pthread_t threads[2];
    static char *names[] = {"aaaa", "bbbb"};
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, log_many, names[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    const char *p = taken();
    assert_int_equal(strlen(p), 2 * 500 * (9 + 9));
    for (; *p; p += 18)
        assert_true(memcmp(p, "[I] aaaa\n    aaaa\n", 18) == 0 ||
                    memcmp(p, "[I] bbbb\n    bbbb\n", 18) == 0);
}
