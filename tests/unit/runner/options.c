/* SPDX-License-Identifier: Apache-2.0 */
/* Options of a backend by name: what is set, how wrong values are refused, and whose texts live. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "runner/options.h"

typedef struct settings {
    bool fast;
    int64_t threads;
    const char *mode, *path;
    pgy_text_list words, uses;
} settings;

static const char *const MODES[] = {"plain", "fancy", NULL};
static const pgy_option ROWS[] = {
    PGY_OPT_FLAG("--be-fast", settings, fast, .help = "be fast"),
    PGY_OPT_INT("--stub-threads --threads", settings, threads, .help = "threads"),
    PGY_OPT_TEXT("--mode", settings, mode, .choices = MODES),
    PGY_OPT_TEXT("--path", settings, path, .opens = true),
    PGY_OPT_LIST("--words", settings, words, .nargs = PGY_ONE_OR_MORE),
    PGY_OPT_APPEND("--use", settings, uses),
    PGY_OPT_END,
};

static settings seen; /* by the last create() */
static char seen_mode[32];

static void defaults(void *options)
{
    ((settings *)options)->threads = -1;
}

static pgy_status create(void **out, const pgy_backend_model *model, const void *options,
                         pgy_error *err)
{
    (void)model, (void)err;
    static int instance;
    if (options) seen = *(const settings *)options;
    strcpy(seen_mode, options && seen.mode ? seen.mode : "");
    *out = &instance;
    return PGY_OK;
}

static pgy_status succeed(void *runner, pgy_error *err)
{
    (void)runner, (void)err;
    return PGY_OK;
}

static pgy_status describe(void *runner, pgy_metadata *out, pgy_error *err)
{
    (void)runner, (void)out, (void)err;
    return PGY_E_UNSUPPORTED;
}

static pgy_status infer(void *runner, const pgy_tensor_map *feed, pgy_tensor_map *out,
                        int64_t *time_ns, pgy_error *err)
{
    (void)runner, (void)feed, (void)out, (void)time_ns, (void)err;
    return PGY_OK;
}

static void nothing(void *runner)
{
    (void)runner;
}

static const pgy_backend STUB = {.size = sizeof STUB,
                                 .abi = PGY_BACKEND_ABI,
                                 .name = "stub",
                                 .runner_prefix = "stub",
                                 .title = "Stub",
                                 .options = ROWS,
                                 .options_size = sizeof(settings),
                                 .create = create,
                                 .activate = succeed,
                                 .inputs = describe,
                                 .outputs = describe,
                                 .infer = infer,
                                 .deactivate = nothing,
                                 .destroy = nothing,
                                 .defaults = defaults};

static pgy_backend_options *options_of(const pgy_backend *b)
{
    pgy_backend_options *o = NULL;
    assert_int_equal(pgy_backend_options_create(&o, b, NULL), PGY_OK);
    return o;
}

static void expect(const pgy_backend_options *o, const char *name, const char *value)
{
    char *text = NULL;
    pgy_error err = {0};
    if (pgy_backend_options_get(&text, o, name, &err)) fail_msg("%s", err.text);
    assert_string_equal(text, value);
    pgy_text_free(text);
}

static void set(pgy_backend_options *o, const char *name, const char *value)
{
    pgy_error err = {0};
    if (pgy_backend_options_set(o, name, value, &err)) fail_msg("%s", err.text);
}

static void refused(pgy_backend_options *o, const char *name, const char *value, const char *why)
{
    pgy_error err = {0};
    assert_int_not_equal(pgy_backend_options_set(o, name, value, &err), PGY_OK);
    assert_string_equal(err.text, why);
}

static void test_options__of_each_kind(void **state)
{
    (void)state;
    static const char *const WORDS[] = {"a", "b c"};
    pgy_backend_options *o = options_of(&STUB);
    expect(o, "be_fast", "false");
    expect(o, "stub_threads", "-1");
    expect(o, "mode", "");
    set(o, "be_fast", "true");
    set(o, "--stub-threads", "1_000"); /* as the command line reads numbers and spells names */
    expect(o, "threads", "1000");
    set(o, "mode", "fancy");
    assert_int_equal(pgy_backend_options_set_words(o, "words", WORDS, 2, NULL), PGY_OK);
    expect(o, "words", "a b c");
    set(o, "use", "one");
    set(o, "use", "two");
    expect(o, "use", "one two");
    set(o, "be_fast", "false");
    expect(o, "be_fast", "false");
    pgy_backend_options_destroy(o);
}

static void test_options__refuses_what_the_command_line_refuses(void **state)
{
    (void)state;
    pgy_backend_options *o = options_of(&STUB);
    pgy_error err = {0};
    refused(o, "speed", "1",
            "backend stub has no option 'speed'; its options are be_fast, stub_threads, mode, "
            "path, words, "
            "use");
    refused(o, "threads", "four", "stub.stub_threads: invalid int value: 'four'");
    refused(o, "mode", "fanzy",
            "stub.mode: invalid choice: 'fanzy'; did you mean 'fancy'? (choose from 'plain', "
            "'fancy')");
    refused(o, "path", "/no/such/file",
            "stub.path: can't open '/no/such/file': No such file or directory");
    refused(o, "be_fast", "yes", "stub.be_fast: expected 'true' or 'false', not 'yes'");
    refused(o, "mode", NULL, "stub.mode: value 0 is NULL");
    assert_int_equal(pgy_backend_options_set_words(o, "words", NULL, 0, &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text, "stub.words: expected at least one argument");
    expect(o, "stub_threads", "-1");
    expect(o, "mode", "");
    pgy_backend_options_destroy(o);
}

/* What a runner got stays as it was then. */
static void test_options__a_runner_keeps_a_copy(void **state)
{
    (void)state;
    char mode[] = "fancy";
    pgy_runner *r = NULL;
    pgy_backend_options *o = options_of(&STUB);
    set(o, "mode", mode);
    set(o, "threads", "3");
    mode[0] = '-';
    assert_int_equal(pgy_runner_create(&r, &STUB, NULL, o, NULL, NULL), PGY_OK);
    set(o, "threads", "4");
    set(o, "mode", "plain");
    pgy_backend_options_destroy(o);
    assert_int_equal(pgy_runner_activate(r, NULL), PGY_OK);
    assert_int_equal(seen.threads, 3);
    assert_string_equal(seen_mode, "fancy");
    pgy_runner_destroy(r);
}

static void test_options__of_another_backend(void **state)
{
    (void)state;
    pgy_backend other = STUB;
    pgy_runner *r = NULL;
    pgy_error err = {0};
    other.name = "other";
    pgy_backend_options *o = options_of(&other);
    assert_int_equal(pgy_runner_create(&r, &STUB, NULL, o, NULL, &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text,
                        "the options belong to backend other, but the runner uses backend stub");
    assert_null(r);
    pgy_backend_options_destroy(o);
}

/* One that was built before there were defaults. */
static void test_options__of_an_older_backend(void **state)
{
    (void)state;
    pgy_backend old = STUB; /* what lies behind its end is not ours */
    old.size = offsetof(pgy_backend, defaults);
    pgy_backend_options *o = options_of(&old);
    expect(o, "threads", "0");
    pgy_backend_options_destroy(o);
}
