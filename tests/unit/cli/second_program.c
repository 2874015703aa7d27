/* SPDX-License-Identifier: Apache-2.0 */
/* tests/second_program shares the machinery: what it prints has its own name and options, and the
 * shared groups read values as it writes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/str.h"

#define MODEL "'" TEST_SOURCE_DIR "/examples/models/digits.onnx' "

static char printed[1 << 16];

/* Exit status; what the program wrote to stdout and stderr is in `printed`. */
static int latency(const char *words)
{
    str line = {0};
    str_printf(&line, "COLUMNS=100 '%s/tests/latency' %s 2>&1", TEST_BINARY_DIR, words);
    FILE *pipe = popen(str_text(&line), "r");
    str_deinit(&line);
    assert_non_null(pipe);
    printed[fread(printed, 1, sizeof printed - 1, pipe)] = 0;
    const int status = pclose(pipe);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void has(const char *text)
{
    if (!strstr(printed, text)) fail_msg("'%s' is not in:\n%s", text, printed);
}

static void lacks(const char *text)
{
    if (strcasestr(printed, text)) fail_msg("'%s' is in:\n%s", text, printed);
}

static void test_second_program__help(void **state)
{
    (void)state;
    assert_int_equal(latency("--help"), 0);
    has("usage: latency [-h] model_file [options]\n\nRun a model on random data and print");
    has("\n  latency model.onnx --input-shapes=image:1x3x224x224 --show=min,max\n");
    has("\n  -r N, --runs N        inferences; default 10\n");
    has("--show {min,mean,max}");
    has("\nModel:\n");
    has("for example 'image:1x3x224x224'");
    has("\nLogging:\n");
    lacks("polygraphy");
    lacks("--onnxrt");
    assert_int_equal(latency("--version"), 0);
    has("latency 1.0 in " TEST_BINARY_DIR "/tests\n");
}

static void test_second_program__usage_errors(void **state)
{
    (void)state;
    assert_int_equal(latency(""), 2);
    has("usage: latency [-h] model_file [options]\n"
        "latency: error: the following arguments are required: model_file\n"
        "'latency -h' shows all options\n");
    assert_int_equal(latency(MODEL "--runs=x"), 2);
    has("latency: error: argument -r/--runs: invalid int value: 'x'\n");
    assert_int_equal(latency(MODEL "--show=min,often"), 2);
    has("argument --show: invalid choice: 'often' (choose from 'min', 'mean', 'max')");
    assert_int_equal(latency(MODEL "--shoe=min"), 1);
    has("Unrecognized Options: ['--shoe=min']");
    has("'--shoe=min'; did you mean '--show'");
    assert_int_equal(latency(MODEL "--runs=0"), 1);
    has("--runs: give at least 1");
}

/* What the other program knows of its original and of trtexec is not known here. */
static void test_second_program__knows_no_original(void **state)
{
    (void)state;
    assert_int_equal(latency(MODEL "--saveEngine=x"), 1);
    lacks("trtexec");
    assert_int_equal(latency(MODEL "--gen"), 1);
    has("Unrecognized Options: ['--gen']");
    assert_int_equal(latency("--completion parity"), 2);
    has("latency: error: --completion: 'parity' is not one of bash, zsh, fish, man or markdown\n");
}

static void test_second_program__manual_and_completion(void **state)
{
    (void)state;
    assert_int_equal(latency("--completion man"), 0);
    has(".TH LATENCY 1 \"\" \"libpolygraphy ");
    has(".SH NAME\nlatency \\- time a model on the reference\n");
    has(".SH SYNOPSIS\n.B latency\n[\n.I OPTIONS\n]\n");
    has(".B POLYGRAPHY_THREADS\n");
    has(".SS latency\n");
    has("\\-\\-runs N");
    lacks(".SH TOOLS");
    lacks("\npolygraphy");
    assert_int_equal(latency("--completion markdown"), 0);
    has("# Options of the latency program\n");
    has("## latency\n");
    assert_int_equal(latency("--completion bash"), 0);
    has("complete -o default -F _latency latency\n");
    lacks("polygraphy");
    assert_int_equal(latency("--complete --ru"), 0);
    assert_string_equal(printed, "--runs\n");
    assert_int_equal(latency("--complete --show m"), 0);
    assert_string_equal(printed, "min\nmean\nmax\n");
}

static void test_second_program__own_options(void **state)
{
    (void)state;
    assert_int_equal(latency(MODEL "--runs=3 --show=min,max"), 0);
    const char *max = strstr(printed, "\nmax of 3 runs: ");
    assert_true(str_starts_with(printed, "min of 3 runs: ") ||
                strstr(printed, "\nmin of 3 runs: "));
    assert_non_null(max);
    lacks("mean");
}

static void test_second_program__shared_group(void **state)
{
    (void)state;
    assert_int_equal(latency(MODEL "--runs=1 --input-shapes=image:3x1x8x8"), 0);
    has("mean of 1 runs: ");
    assert_int_equal(latency(MODEL "--runs=1 --input-shapes=image:3x1x8x9"), 0);
    has("Cannot use provided custom shape: [3, 1, 8, 9]");
    assert_int_equal(latency(MODEL "'--input-shapes=image:[1,1,8,8]'"), 1);
    has("--input-shapes: 'image:[1,1,8,8]' is not NAME:D0xD1x...; write it as 'input:1x3x224x224'");
    assert_int_equal(latency(MODEL "--runs=1 --input-shapes=nothing:2,image:3x1x8x8 -v"), 0);
    has("nothing [shape=(2,)]");
}
