/* SPDX-License-Identifier: Apache-2.0 */
/* Scripts as data loaders. Needs a Python with NumPy (POLYGRAPHY_PYTHON or python3); skips, saying
 * so, without one. */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <polygraphy/data.h>

static char script_path[1024];
static char logged[8192];

static void keep_log(pgy_severity severity, const char *text, size_t size, void *user)
{
    (void)severity, (void)user;
    size_t used = strlen(logged), room = sizeof logged - 1 - used;
    memcpy(logged + used, text, size < room ? size : room);
    logged[used + (size < room ? size : room)] = 0;
}

static void need_numpy(void)
{
    const char *python = getenv("POLYGRAPHY_PYTHON");
    char command[512];
    snprintf(command, sizeof command, "'%s' -c 'import numpy' >/dev/null 2>&1",
             python && *python ? python : "python3");
    if (system(command)) {
        print_message("skipped: no Python with NumPy (POLYGRAPHY_PYTHON)\n");
        skip();
    }
}

/* A script with this text, and "symbol" appended to its path if given. */
static const char *make_script(const char *text, const char *symbol)
{
    snprintf(script_path, sizeof script_path, TEST_BINARY_DIR "/pgy_script_%ld.py", (long)getpid());
    FILE *f = fopen(script_path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    static char spec[1100];
    snprintf(spec, sizeof spec, "%s%s%s", script_path, symbol ? ":" : "", symbol ? symbol : "");
    return spec;
}

static pgy_data_loader *open_script(const char *text, const char *symbol)
{
    pgy_error err = {0};
    pgy_data_loader *l = NULL;
    pgy_status st = pgy_script_loader_create(&l, make_script(text, symbol), &err);
    if (st) fail_msg("%s", err.text);
    return l;
}

static pgy_tensor_map *next(pgy_data_loader *l)
{
    pgy_error err = {0};
    pgy_tensor_map *m = NULL;
    if (pgy_data_loader_next(&m, l, &err)) fail_msg("%s", err.text);
    return m;
}

static void assert_floats(const pgy_tensor_map *m, const char *name, size_t count,
                          const float *values)
{
    const pgy_tensor *t = pgy_tensor_map_find(m, name);
    assert_non_null(t);
    assert_int_equal(pgy_tensor_dtype(t), PGY_F32);
    assert_int_equal(pgy_tensor_count(t), count);
    assert_memory_equal(pgy_tensor_data(t), values, count * sizeof *values);
}

static void test_script__generator_ends(void **state)
{
    (void)state;
    need_numpy();
    pgy_data_loader *l =
        open_script("import numpy as np\n"
                    "print('a line of the script, not of the protocol')\n"
                    "def load_data():\n"
                    "    for i in range(2):\n"
                    "        print('iteration')\n"
                    "        yield {'x': np.full((1, 2), i, np.float32), 'n': np.int64(7 + i)}\n",
                    NULL);
    pgy_tensor_map *a = next(l), *b = next(l);
    assert_floats(a, "x", 2, (float[]){0, 0});
    assert_floats(b, "x", 2, (float[]){1, 1});
    assert_int_equal(pgy_tensor_rank(pgy_tensor_map_find(b, "x")), 2);
    assert_int_equal(pgy_tensor_rank(pgy_tensor_map_find(b, "n")), 0);
    assert_int_equal(*(int64_t *)pgy_tensor_data(pgy_tensor_map_find(b, "n")), 8);
    assert_null(next(l));
    assert_null(next(l));
    pgy_tensor_map_destroy(a);
    pgy_tensor_map_destroy(b);
    pgy_data_loader_destroy(l);
    unlink(script_path);
}

static void test_script__rewind_starts_again(void **state)
{
    (void)state;
    need_numpy();
    pgy_error err = {0};
    pgy_data_loader *l = open_script("import numpy as np\n"
                                     "def mine():\n"
                                     "    yield {'x': np.float32([1])}\n"
                                     "    yield {'x': np.float32([2])}\n",
                                     "mine");
    for (int round = 0; round < 3; round++) {
        pgy_tensor_map *m = next(l);
        assert_floats(m, "x", 1, (float[]){1});
        pgy_tensor_map_destroy(m);
        assert_int_equal(pgy_data_loader_rewind(l, &err), PGY_OK);
    }
    pgy_data_loader_destroy(l);
    unlink(script_path);
}

static void test_script__list_tuple_dict_and_iterable(void **state)
{
    (void)state;
    need_numpy();
    static const char TEXT[] = "import numpy as np\n"
                               "item = {'x': np.float32([5])}\n"
                               "def a_list(): return [item, item]\n"
                               "def a_tuple(): return (item, item)\n"
                               "def a_dict(): return item\n"
                               "class Two:\n"
                               "    def __getitem__(self, i):\n"
                               "        if i > 1: raise IndexError\n"
                               "        return item\n"
                               "def indexed(): return Two()\n";
    static const struct {
        const char *symbol;
        size_t count;
    } CASES[] = {{"a_list", 2}, {"a_tuple", 2}, {"a_dict", 1}, {"indexed", 2}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        pgy_data_loader *l = open_script(TEXT, CASES[i].symbol);
        size_t count = 0;
        for (pgy_tensor_map *m; (m = next(l)); count++) {
            assert_floats(m, "x", 1, (float[]){5});
            pgy_tensor_map_destroy(m);
        }
        assert_int_equal(count, CASES[i].count);
        pgy_data_loader_destroy(l);
    }
    unlink(script_path);
}

static void test_script__every_element_type(void **state)
{
    (void)state;
    need_numpy();
    pgy_data_loader *l =
        open_script("import numpy as np\n"
                    "names = 'bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 "
                    "float32 float64 complex64'.split()\n"
                    "def load_data():\n"
                    "    m = {n: np.array([[1, 0], [1, 1]]).astype(n).T for n in names}\n"
                    "    m['text'] = np.array(['a', '\\u00e9\\U0001f600'])\n"
                    "    m['objects'] = np.array(['b', 'long text'], dtype=object)\n"
                    "    m['big'] = np.array([258], '>i2')\n"
                    "    m['empty'] = np.zeros((0, 3), np.float32)\n"
                    "    return m\n",
                    NULL);
    pgy_tensor_map *m = next(l);
    assert_int_equal(pgy_tensor_map_count(m), 17);
    for (size_t i = 0; i < 13; i++) {
        double got[4];
        int64_t shape[] = {2, 2};
        pgy_tensor *t = pgy_tensor_map_at(m, i);
        assert_string_equal(pgy_dtype_name(pgy_tensor_dtype(t)), pgy_tensor_map_name(m, i));
        assert_int_equal(
            pgy_view_convert(pgy_view_of(got, PGY_F64, 2, shape), pgy_tensor_view(t), false, NULL),
            PGY_OK);
        assert_true(got[0] == 1 && got[1] == 1 && got[2] == 0 && got[3] == 1); /* transposed */
    }
    const pgy_string *text = pgy_tensor_data(pgy_tensor_map_find(m, "text"));
    assert_int_equal(text[1].size, 6);
    assert_memory_equal(text[1].data, "\xc3\xa9\xf0\x9f\x98\x80", 6);
    const pgy_string *objects = pgy_tensor_data(pgy_tensor_map_find(m, "objects"));
    assert_memory_equal(objects[1].data, "long text", 9);
    assert_int_equal(*(int16_t *)pgy_tensor_data(pgy_tensor_map_find(m, "big")), 258);
    assert_int_equal(pgy_tensor_count(pgy_tensor_map_find(m, "empty")), 0);
    pgy_tensor_map_destroy(m);
    pgy_data_loader_destroy(l);
    unlink(script_path);
}

static void test_script__folder_of_the_script_is_importable(void **state)
{
    (void)state;
    need_numpy();
    FILE *f = fopen(TEST_BINARY_DIR "/pgy_script_neighbour.py", "w");
    assert_non_null(f);
    fputs("VALUE = 3\n", f);
    fclose(f);
    pgy_data_loader *l =
        open_script("import numpy as np, sys, os\n"
                    "from pgy_script_neighbour import VALUE\n"
                    "assert sys.path[0] == os.path.dirname(os.path.abspath(__file__))\n"
                    "def load_data(): return [{'x': np.float32([VALUE])}]\n",
                    NULL);
    pgy_tensor_map *m = next(l);
    assert_floats(m, "x", 1, (float[]){3});
    pgy_tensor_map_destroy(m);
    pgy_data_loader_destroy(l);
    unlink(script_path);
    unlink(TEST_BINARY_DIR "/pgy_script_neighbour.py");
}

static void assert_fails(const char *text, const char *symbol, const char *expected)
{
    pgy_error err = {0};
    pgy_data_loader *l = NULL;
    pgy_tensor_map *m = NULL;
    pgy_status st = pgy_script_loader_create(&l, make_script(text, symbol), &err);
    if (!st) st = pgy_data_loader_next(&m, l, &err);
    assert_int_not_equal(st, PGY_OK);
    if (!strstr(err.text, expected)) fail_msg("'%s' lacks '%s'", err.text, expected);
    assert_null(strchr(err.text, '\n'));
    pgy_data_loader_destroy(l);
    unlink(script_path);
}

static void test_script__failures_name_what_went_wrong(void **state)
{
    (void)state;
    need_numpy();
    assert_fails("x = 1\n", NULL,
                 "Could not import 'load_data' from '" TEST_BINARY_DIR "/pgy_script_");
    assert_fails("x = 1\n", "other", "has no attribute 'other'");
    assert_fails("import there_is_no_such_module\n", NULL,
                 "No module named 'there_is_no_such_module'");
    assert_fails("def load_data(:\n", NULL, "SyntaxError");
    assert_fails("def load_data(): return [1]\n", NULL, "which is no mapping");
    assert_fails("def load_data(): return [{1: 2}]\n", NULL, "which is no string");
    assert_fails("def load_data(): return [{'x': object()}]\n", NULL,
                 "'x': an array holds objects of type object");
    assert_fails("def load_data(): return 3\n", NULL, "not iterable");
    assert_fails(
        "import numpy as np\ndef load_data(): return {'x': np.array(['2020-01-01'], 'M8[D]')}\n",
        NULL, "datetime64");
    assert_fails("def load_data(): raise SystemExit(3)\n", NULL, "SystemExit");
}

static void test_script__missing_files_and_wrong_extension(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_data_loader *l = NULL;
    assert_int_equal(pgy_script_loader_create(&l, "there/is/none.py:f", &err), PGY_E_NOT_FOUND);
    assert_string_equal(err.text,
                        "Could not import 'f' from 'there/is/none.py': the file does not exist");
    assert_int_equal(pgy_script_loader_create(&l, "data.json", &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "must end in .py"));
}

static void test_script__traceback_is_logged_at_the_script_lines(void **state)
{
    (void)state;
    need_numpy();
    logged[0] = 0;
    pgy_log_set_sink(keep_log, NULL);
    assert_fails("def inner():\n"
                 "    raise ValueError('seven is bad')\n"
                 "def load_data():\n"
                 "    yield inner()\n",
                 NULL, "ValueError: seven is bad");
    pgy_log_set_sink(NULL, NULL);
    assert_non_null(strstr(logged, "Traceback"));
    assert_non_null(strstr(logged, "in inner"));
    assert_null(strstr(logged, "<string>"));
}

static void test_script__death_of_the_process_is_reported(void **state)
{
    (void)state;
    need_numpy();
    assert_fails("import os\ndef load_data(): os._exit(5)\n", NULL, "ended with exit status 5");
    assert_fails("import os\nos.kill(os.getpid(), 9)\n", NULL, "was killed by signal 9");
}

static void test_script__stays_usable_after_an_error(void **state)
{
    (void)state;
    need_numpy();
    pgy_error err = {0};
    pgy_tensor_map *m = NULL;
    pgy_data_loader *l = open_script("import numpy as np\n"
                                     "calls = []\n"
                                     "def load_data():\n"
                                     "    calls.append(1)\n"
                                     "    if len(calls) == 1: raise RuntimeError('first time')\n"
                                     "    return {'x': np.float32([1])}\n",
                                     NULL);
    assert_int_equal(pgy_data_loader_next(&m, l, &err), PGY_E_BACKEND);
    m = next(l);
    assert_floats(m, "x", 1, (float[]){1});
    pgy_tensor_map_destroy(m);
    pgy_data_loader_destroy(l);
    unlink(script_path);
}

static void test_script__no_child_is_left(void **state)
{
    (void)state;
    need_numpy();
    /* A process that stops once its answer is sent: it neither ends nor heeds a request to. */
    pgy_data_loader *l = open_script("import os, signal, __main__, numpy as np\n"
                                     "send = __main__.put_map\n"
                                     "def send_and_stop(arrays):\n"
                                     "    send(arrays)\n"
                                     "    os.kill(os.getpid(), signal.SIGSTOP)\n"
                                     "__main__.put_map = send_and_stop\n"
                                     "def load_data():\n"
                                     "    yield {'x': np.float32([1])}\n",
                                     NULL);
    pgy_tensor_map *m = next(l);
    pgy_tensor_map_destroy(m);
    pgy_data_loader_destroy(l);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child at all */
    unlink(script_path);
}

static void test_script__large_arrays_arrive_whole(void **state)
{
    (void)state;
    need_numpy();
    enum { COUNT = 3000000 };
    pgy_data_loader *l =
        open_script("import numpy as np\n"
                    "def load_data(): yield {'x': np.arange(3000000, dtype=np.int32)}\n",
                    NULL);
    pgy_tensor_map *m = next(l);
    const int32_t *x = pgy_tensor_data(pgy_tensor_map_find(m, "x"));
    assert_int_equal(pgy_tensor_count(pgy_tensor_map_find(m, "x")), COUNT);
    for (int32_t i = 0; i < COUNT; i++)
        if (x[i] != i) fail_msg("element %d is %d", i, x[i]);
    pgy_tensor_map_destroy(m);
    pgy_data_loader_destroy(l);
    unlink(script_path);
}

static void test_script__torch_tensors_become_arrays(void **state)
{
    (void)state;
    need_numpy();
    pgy_error err = {0};
    pgy_data_loader *l = NULL;
    pgy_status st =
        pgy_script_loader_create(&l,
                                 make_script("import torch\n"
                                             "def load_data():\n"
                                             "    yield {'x': torch.ones(2, requires_grad=True), "
                                             "'b': torch.tensor([1.5], dtype=torch.bfloat16)}\n",
                                             NULL),
                                 &err);
    unlink(script_path);
    if (st && strstr(err.text, "No module named 'torch'")) {
        print_message("skipped: no torch\n");
        skip();
    }
    assert_int_equal(st, PGY_OK);
    pgy_tensor_map *m = next(l);
    assert_floats(m, "x", 2, (float[]){1, 1});
    const pgy_tensor *b = pgy_tensor_map_find(m, "b");
    assert_int_equal(pgy_tensor_dtype(b), PGY_BF16);
    assert_int_equal(*(uint16_t *)pgy_tensor_data(b), 0x3fc0);
    pgy_tensor_map_destroy(m);
    pgy_data_loader_destroy(l);
}

/* A script may return the original's own loader, which asks for the runner's inputs. */
static void test_script__loader_of_the_original_gets_the_inputs(void **state)
{
    (void)state;
    need_numpy();
    pgy_error err = {0};
    pgy_data_loader *l = NULL;
    pgy_metadata *inputs = NULL;
    pgy_status st =
        pgy_script_loader_create(&l,
                                 make_script("from polygraphy.comparator import DataLoader\n"
                                             "def load_data(): return DataLoader()\n",
                                             NULL),
                                 &err);
    unlink(script_path);
    if (st && strstr(err.text, "No module named 'polygraphy'")) {
        print_message("skipped: no polygraphy package\n");
        skip();
    }
    assert_int_equal(st, PGY_OK);
    pgy_tensor_info info = {.name = "x", .dtype = PGY_F32, .rank = 2, .shape = (int64_t[]){-1, 2}};
    assert_int_equal(pgy_metadata_create(&inputs, NULL), PGY_OK);
    assert_int_equal(pgy_metadata_set(inputs, &info, NULL), PGY_OK);
    if (pgy_data_loader_set_metadata(l, inputs, &err)) fail_msg("%s", err.text);
    pgy_tensor_map *m = next(l);
    assert_floats(m, "x", 2, (float[]){.4170219898223877f, .7203245162963867f});
    pgy_tensor_map_destroy(m);
    assert_null(next(l));
    pgy_data_loader_destroy(l);
    pgy_metadata_destroy(inputs);
}
