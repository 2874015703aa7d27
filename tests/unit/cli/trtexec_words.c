/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of trtexec: "=" and blanks, older names, unknown words, verdicts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/command.h"
#include "cli/program_trtexec.h"
#include "cli/trtexec/options.h"

/* A line as it was read; `logged` has all messages. */
typedef struct reading {
    args line;
    trtexec_args *a;
    pgy_status st;
    pgy_error err;
    bool help, unknown;
    str logged;
} reading;

static void keep(pgy_severity severity, const char *text, size_t size_bytes, void *user)
{
    (void)severity;
    str_append_n(user, text, size_bytes);
}

static void begin(reading *r, int argc, const char *const *argv)
{
    *r = (reading){0};
    const command *c = command_find(&PROGRAM_TRTEXEC, NULL, NULL);
    assert_int_equal(command_open(&r->line, &PROGRAM_TRTEXEC, c, &r->err), PGY_OK);
    r->a = ARGS_OF(&r->line, trtexec_args);
    assert_non_null(r->a);
    pgy_log_set_sink(keep, &r->logged);
    r->st = trtexec_read(r->a, &r->help, &r->unknown, &r->line, argc, argv, &r->err);
    pgy_log_set_sink(NULL, NULL);
}

static void finish(reading *r)
{
    args_deinit(&r->line);
    str_deinit(&r->logged);
}

#define READ(r, ...)                                                            \
    begin(r, (int)(sizeof(const char *[]){__VA_ARGS__} / sizeof(const char *)), \
          (const char *[]){__VA_ARGS__})

static size_t count_of(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, part)); at++) n++;
    return n;
}

/* The first "=" splits; further ones belong to the value. */
static void test_trtexec_words__equals(void **state)
{
    (void)state;
    reading r;
    READ(&r, "--onnx=a=b.onnx", "--fp16", "--iterations=50");
    assert_int_equal(r.st, PGY_OK);
    assert_string_equal(r.a->onnx, "a=b.onnx");
    assert_true(r.a->fp16);
    assert_int_equal(r.a->iterations, 50);
    assert_string_equal(str_text(&r.logged), "");
    finish(&r);
}

static void test_trtexec_words__blanks(void **state)
{
    (void)state;
    reading r;
    READ(&r, "--onnx", "a.onnx", "--iterations", "5", "--duration", "-1");
    assert_int_equal(r.st, PGY_OK);
    assert_string_equal(r.a->onnx, "a.onnx");
    assert_int_equal(r.a->iterations, 5);
    assert_string_equal(r.a->duration, "-1");
    assert_int_equal(count_of(str_text(&r.logged), "after a blank"), 1);
    finish(&r);
}

static void test_trtexec_words__missing_value(void **state)
{
    (void)state;
    reading r;
    READ(&r, "--onnx", "--fp16");
    assert_int_equal(r.st, PGY_E_ARGUMENT);
    assert_string_equal(r.err.text, "--onnx: a value is missing; write --onnx=FILE");
    finish(&r);
    READ(&r, "--fp16=1");
    assert_int_equal(r.st, PGY_E_ARGUMENT);
    assert_string_equal(r.err.text, "--fp16 takes no value, but '1' follows");
    finish(&r);
}

static void test_trtexec_words__unknown(void **state)
{
    (void)state;
    static const char *const CASES[][2] = {
        {"--iteration=100", "Unknown option: --iteration=100; did you mean '--iterations'?"},
        {"--warmup=0", "Unknown option: --warmup=0; did you mean '--warmUp'?"},
        {"--warmup", "Unknown option: --warmup; did you mean '--warmUp'?"},
        {"--duratio=3", "Unknown option: --duratio=3; did you mean '--duration'?"},
        {"--xyzzy", "Unknown option: --xyzzy"},
        {"model.onnx", "Unknown option: model.onnx"},
        {"  ", "Unknown option:   : a backslash with blanks behind it does not continue a line; "
               "remove the blanks"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        reading r;
        READ(&r, CASES[i][0]);
        assert_int_equal(r.st, PGY_E_ARGUMENT);
        assert_true(r.unknown);
        assert_string_equal(r.err.text, CASES[i][1]);
        finish(&r);
    }
}

static void test_trtexec_words__older_names(void **state)
{
    (void)state;
    reading r;
    READ(&r, "--streams=2", "--buildOnly", "--nvtxMode=detailed", "--workspace=1024");
    assert_int_equal(r.st, PGY_OK);
    assert_int_equal(r.a->streams, 2);
    assert_true(r.a->skip_inference);
    assert_string_equal(r.a->verbosity, "detailed");
    assert_string_equal(r.a->workspace, "1024");
    assert_int_equal(count_of(str_text(&r.logged),
                              "--workspace is an older option: use --memPoolSize=workspace:MIB"),
                     1);
    finish(&r);
}

static void test_trtexec_words__verdicts(void **state)
{
    (void)state;
    reading r;
    READ(&r, "--useCudaGraph", "--avgTiming=4", "--onnx=a");
    assert_int_equal(r.st, PGY_OK);
    assert_string_equal(r.a->onnx, "a");
    assert_int_equal(count_of(str_text(&r.logged), " has no effect: "), 2);
    finish(&r);
    READ(&r, "--output=y:0");
    assert_int_equal(r.st, PGY_E_UNSUPPORTED);
    assert_false(r.unknown);
    assert_non_null(strstr(r.err.text, "--output is refused: an ONNX model names its outputs"));
    finish(&r);
}

/* The five options of shapes stay in their order, because --profile divides them. */
static void test_trtexec_words__order(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"--minShapes", "--profile", "--minShapes", "--shapes"};
    reading r;
    READ(&r, "--minShapes=a:1", "--profile=1", "--minShapes=a:2", "--shapes=a:3");
    assert_int_equal(r.st, PGY_OK);
    assert_int_equal(r.a->word_count, 4);
    for (size_t i = 0; i < 4; i++) assert_string_equal(r.a->words[i].name, NAMES[i]);
    assert_string_equal(r.a->words[2].value, "a:2");
    assert_true(trtexec_given(r.a, "--profile"));
    assert_false(trtexec_given(r.a, "--maxShapes"));
    finish(&r);
}

static void test_trtexec_words__help_wins(void **state)
{
    (void)state;
    reading r;
    READ(&r, "--xyzzy", "--help");
    assert_int_equal(r.st, PGY_OK);
    assert_true(r.help);
    finish(&r);
}
