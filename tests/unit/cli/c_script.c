/* SPDX-License-Identifier: Apache-2.0 */
/* `run --gen-script x.c`: the programs compile with the command in their first comment, without
 * warnings, and give the verdict and the exit status of the `run` that wrote them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/str.h"
#include "harness/test_folder.h"

#ifdef __SANITIZE_ADDRESS__
#define SANITIZE " -fsanitize=address,undefined"
#else
#define SANITIZE ""
#endif

static char folder[TEST_PATH_SIZE];
static char printed[1 << 18];

/* Runs a line in bash, in the folder, with $M (a model), `polygraphy`, and a pkg-config file that
 * describes the build tree. Gives the exit status; what the line wrote is in `printed`. */
static int shell(const char *line)
{
    str text = {0};
    str_printf(&text,
               "cd %s || exit 99\nexport PATH=\"$PWD/tools:%s/bin:$PATH\" PKG_CONFIG_PATH=$PWD\n",
               folder, TEST_BINARY_DIR);
    str_printf(&text, "export LD_LIBRARY_PATH='%s/lib' COLUMNS=100 NO_COLOR=1\n", TEST_BINARY_DIR);
    str_printf(&text,
               ": ${POLYGRAPHY_ONNXRUNTIME:=%s/build/release/onnxruntime}\n"
               "export POLYGRAPHY_ONNXRUNTIME\n",
               TEST_SOURCE_DIR);
    str_printf(&text, "export M='%s/examples/models/digits.onnx' O='%s/operators'\n%s",
               TEST_SOURCE_DIR, TEST_BINARY_DIR, line);
    str quoted = {0};
    str_append(&quoted, "exec bash -c ");
    str_append_word(&quoted, str_text(&text));
    str_append(&quoted, " 2>&1");
    FILE *pipe = popen(str_text(&quoted), "r");
    str_deinit(&text);
    str_deinit(&quoted);
    assert_non_null(pipe);
    printed[fread(printed, 1, sizeof printed - 1, pipe)] = 0;
    const int status = pclose(pipe);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void must(const char *line)
{
    if (shell(line)) fail_msg("%s\n%s", line, printed);
}

static void has(const char *text)
{
    if (!strstr(printed, text)) fail_msg("'%s' is not in:\n%s", text, printed);
}

static int group_setup(void **state)
{
    (void)state;
    test_path(folder, "c_script_XXXXXX");
    assert_non_null(mkdtemp(folder));
    /* a sanitizer's library fits programs of its own compiler only */
    must("mkdir tools && ln -s \"$(command -v '" TEST_COMPILER "')\" tools/cc");
    must("printf '%s\\n' 'Name: polygraphy' 'Description: the build tree' 'Version: 0' "
         "'Cflags: -I" TEST_SOURCE_DIR "/include" SANITIZE "' 'Libs: -L" TEST_BINARY_DIR
         "/lib -lpolygraphy' > polygraphy.pc");
    must("polygraphy run $M --opref --seed 2 --save-inputs in.json --save-outputs other.json");
    return 0;
}

static int group_teardown(void **state)
{
    (void)state;
    shell("rm -rf \"$PWD\"");
    return 0;
}

/* The command in the first comment, with warnings as errors. */
#define COMPILE                                                                              \
    "line=$(sed -n 's/^ \\*     \\(cc .*\\)/\\1/p' x.c) && eval \"${line/ -Wextra/ -Wextra " \
    "-Werror}\" || exit 98\n"
/* Verdicts, without what differs from run to run: names of runners, levels of the first words. */
#define VERDICTS(file)                                                                \
    "grep -E 'PASSED|FAILED|Summary|\\[!\\]' " file " | grep -v 'Runtime:' | sed -E " \
    "'s/N[0-9]+-[0-9/:.-]+/N/g' | grep -vE '^\\[.\\] (PASSED|FAILED)$'"

/* Command lines of `run`, and their exit status. ANY: it depends on ONNX Runtime being there. */
enum { ANY = -1 };
static const struct {
    const char *words;
    int status;
} LINES[] = {
    {"$M --opref --trt", 0},
    {"$M --opref --opref --load-outputs other.json --fail-fast", 1},
    {"--load-outputs other.json other.json --compare l2 indices", 0},
    {"--load-outputs other.json", 1},
    {"$M --fake --opref --fake-mode nan --validate", 1},
    {"$M --opref --trt --fp16 --atol 1e-9 logits:1e-12 --rtol 0", 1},
    {"$M --opref --trt --int8 --calibration-cache c.cache --input-shapes image:[1,1,8,8] "
     "--iterations 2 --seed 3 --val-range [0,1] image:[-1,2.5] --atol 9",
     0},
    {"$M --opref --onnxrt --onnx-outputs '*' --shape-inference --save-onnx 'a b.onnx'", ANY},
    {"$M --trt --opref --trt-outputs-by-type Conv --onnx-outputs-by-type Conv --sequential-runners "
     "--warm-up 1 --fp-to-fp16 --atol 1",
     0},
    {"missing.onnx --opref", 1},
    {"\"$(printf 'no\\n\"such\\\\*/?\?/\\377%%s.onnx')\" --opref -v", 1},
};

static void test_c_script__verdicts_and_statuses_are_those_of_the_run(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof LINES / sizeof *LINES; i++) {
        str line = {0};
        str_printf(&line,
                   "polygraphy run %s > a 2>&1; a=$?\n"
                   "polygraphy run %s --gen-script x.c > g 2>&1 || { cat g; exit 97; }\n" COMPILE
                   "./x > b 2>&1; b=$?; " VERDICTS("a") " > va; " VERDICTS(
                       "b") " > vb; diff va vb || exit 96; grep Sanitizer b && exit 95\n"
                            "[ $a = $b ] || { echo $a and $b; exit 94; }; exit $a",
                   LINES[i].words, LINES[i].words);
        const int status = shell(str_text(&line));
        str_deinit(&line);
        if (LINES[i].status == ANY ? status > 1 : status != LINES[i].status)
            fail_msg("status %d, expected %d: %s\n%s", status, LINES[i].status, LINES[i].words,
                     printed);
    }
}

/* Command lines of which only the program is checked: it compiles, and has what the line says. */
static const struct {
    const char *words, *text;
} TEXTS[] = {
    {"$M --onnxrt --onnxrt-threads 2 --graph-optimization-level ORT_DISABLE_ALL --save-inputs i",
     "pgy_backend_options_set(options, \"onnxrt_threads\", \"2\", err)"},
    {"$M --opref --opref-precision model --seed 7 --iterations 3", "o.seed = 7;"},
    {"$M --opref --load-inputs in.json 'two words.json'",
     "FILES[] = {\"in.json\", \"two words.json\"};"},
    {"$M --opref --data-loader-script d.py:f --compare-func-script c.py --postprocess-func-script "
     "p.py",
     "pgy_compare_script_create(out, \"c.py\", err)"},
    {"$M --opref --data-loader-backend-module torch --input-shapes image:[1,1,8,-1]",
     ".shape = (const int64_t[]){1, 1, 8, -1}}"},
    {"$M --opref --val-range image:[-inf,inf]", ".low = -INFINITY, .high = INFINITY"},
    {"$M --opref --opref --compare simple indices distance_metrics quality_metrics "
     "--index-tolerance 2 --psnr-threshold 20 --check-error-stat mean logits:quantile "
     "--error-quantile 0.5 --infinities-compare-equal --no-shape-check --save-heatmaps h",
     "{.name = \"logits\", .value = PGY_STAT_QUANTILE}"},
    {"$M --opref --check-average --save-accuracy-results a.json --report r.xml --compat",
     "options.reports = (const char *const[]){\"r.xml\"};"},
    {"$M --opref --postprocess top-5 logits:top-3,axis=-1",
     "{.output = \"logits\", .k = 3, .has_axis = true, .axis = -1},"},
    {"$M --opref --use-subprocess --save-outputs o.json --save-input-blob b",
     "options.use_subprocess = true;"},
    {"$M --trt --trt-min-shapes image:[1,1,8,8] --trt-opt-shapes image:[2,1,8,8] --trt-max-shapes "
     "image:[4,1,8,8] --pool-limit workspace:1M --builder-optimization-level 0 --precision-"
     "constraints obey --layer-precisions 'conv*:float16' --tensor-formats image:[LINEAR] "
     "--refittable --save-engine e.plan --profiling-verbosity none --passes=-fold",
     ".opt = (const int64_t[]){2, 1, 8, 8}"},
    {"$M --trt --trt-npps $O/watch_first_layer.so --trt-cpps later.so:f --mark-debug 'r*'",
     "hooks[1].config = function.config;"},
    {"$M --trt --opref --ext weights --keep-fp32 Gemm --fp-to-bf16 --save-onnx s.onnx "
     "--save-external-data w.bin --external-data-size-threshold 1k",
     "save.external_data_path = \"w.bin\";"},
    {"$M --opref -q --verbosity comparator:VERBOSE --log-file l --log-format timestamp "
     "--max-memory 1G --op-library $O/soft_clip.so",
     "pgy_log_set_severity(\"comparator\", PGY_LOG_VERBOSE, &err)"},
};

static void test_c_script__options_are_written_and_compile(void **state)
{
    (void)state;
    const size_t count = sizeof TEXTS / sizeof *TEXTS;
    str line = {0};
    for (size_t i = 0; i < count; i++) {
        str_clear(&line);
        str_printf(&line, "polygraphy run %s --gen-script t%zu.c > g && cat t%zu.c", TEXTS[i].words,
                   i, i);
        must(str_text(&line));
        has(TEXTS[i].text);
    }
    str_deinit(&line);
    must("cc -std=c11 -Wall -Wextra -Wshadow -Werror -fsyntax-only t*.c $(pkg-config --cflags "
         "polygraphy)");
}

static void test_c_script__what_the_run_refuses_is_refused(void **state)
{
    (void)state;
    assert_int_equal(shell("polygraphy run $M --trt --trt-npps p.py --gen-script y.c; s=$?; ls y.c "
                           "&& exit 9; exit $s"),
                     1);
    has("--trt-network-postprocess-script: 'p.py' is a Python script");
    assert_int_equal(shell("polygraphy run $M --opref --val-range 3 --gen-script y.c"), 1);
    has("--val-range: '3' is not a range");
    assert_int_equal(shell("touch file; polygraphy run $M --opref --gen-script file/y.c"), 1);
    has("file/y.c");
}
