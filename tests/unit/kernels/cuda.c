/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of CUDA devices give what the operators' definitions say. Without a GPU their sources are
 * compiled as C and run on the host (tests/harness/cuda/emulation.h). CUDA_TEST_GPU=1 uses the GPU;
 * OP_CASES names another folder of operator cases than tests/ops. CUDA_TEST_CASE=N runs only the
 * N-th case of each test, for tools that make kernels a thousand times slower; 0 prints their
 * number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cuda_case.h"
#include "harness/fake_cuda.h"
#include "harness/op_case.h"
#include "kernels/kernel.h"

static cuda_checker checker;
static unsigned long cases_seen; /* of the test that runs */

static bool on_gpu(void)
{
    return getenv("CUDA_TEST_GPU") != NULL;
}

static cuda_checker *open_checker(void)
{
    pgy_error err = {0};
    checker.ran = checker.failed = cases_seen = 0;
    if (checker.stream) return &checker; /* a test before may have failed between both */
    if (!on_gpu()) fake_cuda_use_running(TEST_BINARY_DIR);
#ifdef __SANITIZE_ADDRESS__
    /* They see the host's part. What runs of the kernels is the same objects as in other builds. */
    checker.idle = !on_gpu() && setenv("FAKE_CUDA_IDLE", "1", 1) == 0;
#endif
    if (!checker.device && device_open(&checker.device, "cuda", &err)) fail_msg("%s", err.text);
    if (device_stream_create(&checker.stream, checker.device, &err)) fail_msg("%s", err.text);
    return &checker;
}

static bool is_chosen(void)
{
    const char *only = getenv("CUDA_TEST_CASE");
    cases_seen++;
    return !only || strtoul(only, NULL, 10) == cases_seen;
}

static void check_all(cuda_checker *c, const char *domain, const char *op, const char *attributes,
                      size_t inputs, const char *const *shapes)
{
    static const pgy_dtype TYPES[] = {PGY_F32, PGY_F16, PGY_BF16};
    if (!is_chosen()) return;
#ifdef __SANITIZE_ADDRESS__
    /* Sanitizers see the host's part alone, which is the same for all types. */
    cuda_case_random(c, domain, op, attributes, inputs, shapes, TYPES[cases_seen % 3]);
#else
    for (size_t i = 0; i < 3; i++)
        cuda_case_random(c, domain, op, attributes, inputs, shapes, TYPES[i]);
#endif
}

#define CHECK(domain, op, attributes, ...)                                       \
    check_all(c, domain, op, attributes,                                         \
              sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *), \
              (const char *const[]){__VA_ARGS__})

/* Case 0 is none: it asks for their number. */
static void report(const cuda_checker *c)
{
    const char *only = getenv("CUDA_TEST_CASE");
    if (cases_seen && only && !strtoul(only, NULL, 10)) {
        printf("%lu cases\n", cases_seen);
        skip();
    }
    if (c->failed) fail_msg("%zu of %zu runs differ", c->failed, c->ran);
    assert_true(c->ran > 0);
}

/* ---- Cases of operators --------------------------------------------------------------------- */

static void visit(const op_node *node, const op_tensor *inputs, const bool *wanted, void *user)
{
    for (size_t i = 0; i < node->input_count; i++)
        if (inputs[i].dtype == PGY_STRING) return;
    if (node->input_count && node->input_count <= KERNEL_MAX_INPUTS &&
        node->output_count <= KERNEL_MAX_OUTPUTS)
        cuda_case_check(user, node, inputs, wanted, PGY_F32);
}

static void check_file(cuda_checker *c, const char *name)
{
    const char *folder = getenv("OP_CASES");
    char path[1024];
    op_case_report report_of = {.visit = visit, .user = c};
    const size_t before = c->ran;
    snprintf(path, sizeof path, "%s/%s.txt", folder ? folder : TEST_SOURCE_DIR "/tests/ops", name);
    op_cases_run(&report_of, path);
    str_deinit(&report_of.text);
    if (c->ran == before) fail_msg("no case of '%s' ran", path);
}

static void test_cuda__operators_give_what_their_definitions_say(void **state)
{
    static const char FILES[] =
        "add sub mul div mod min max mean sum prelu relu clip hard_swish abs neg sign "
        "celu gelu equal less greater less_or_equal greater_or_equal and or xor not "
        "where cast transpose slice expand tile depth_to_space concat split gather pad "
        "resize softmax log_softmax layer_normalization rms_normalization "
        "instance_normalization group_normalization batch_normalization lp_normalization "
        "reduce_sum reduce_mean reduce_max reduce_min reduce_prod reduce_l1 reduce_l2 "
        "reduce_sum_square reduce_log_sum reduce_log_sum_exp matmul gemm conv max_pool "
        "average_pool global_average_pool global_max_pool attention";
    cuda_checker *c = open_checker();
    (void)state;
    for (const char *at = FILES; *at; at += strspn(at, " ")) {
        char name[64];
        const size_t size = strcspn(at, " ");
        snprintf(name, sizeof name, "%.*s", (int)size, at);
        if (is_chosen()) check_file(c, name);
        at += size;
    }
    report(c);
}

/* Quantised bytes: results are exact. */
static void test_cuda__bytes(void **state)
{
    static const char *const FILES[] = {"quantize_linear",
                                        "dequantize_linear",
                                        "pgy_lookup",
                                        "qlinear_add",
                                        "qlinear_mul",
                                        "qlinear_concat",
                                        "qlinear_sigmoid",
                                        "qlinear_leaky_relu",
                                        "qlinear_softmax",
                                        "pgy_qlinear_layer_normalization",
                                        "pgy_qlinear_mat_mul",
                                        "qlinear_average_pool",
                                        "qlinear_global_average_pool",
                                        "nhwc_max_pool",
                                        "max_pool",
                                        "matmul_integer",
                                        "qlinear_matmul",
                                        "q_gemm",
                                        "pgy_qgemm",
                                        "mat_mul_integer_to_float",
                                        "pgy_quantized_mat_mul",
                                        "qlinear_conv",
                                        "contrib_qlinear_conv",
                                        "pgy_qlinear_conv",
                                        "pgy_quantized_conv",
                                        "conv_integer"};
    cuda_checker *c = open_checker();
    (void)state;
    for (size_t i = 0; i < sizeof FILES / sizeof *FILES; i++)
        if (is_chosen()) check_file(c, FILES[i]);
    if (is_chosen())
        cuda_case_random(c, "com.microsoft", "NhwcMaxPool",
                         "kernel_shape=3,3 strides=2,2 pads=1,1,1,1", 1,
                         (const char *const[]){"b2x9x8x32"}, PGY_F32);
    if (is_chosen())
        cuda_case_random(c, "com.microsoft", "NhwcMaxPool", "kernel_shape=2,3", 1,
                         (const char *const[]){"u2x9x8x20"}, PGY_F32);
    report(c);
}

/* Tiles of products of bytes: several of them, steps of k, parts of k, zero points of either side.
 */
static void test_cuda__products_of_bytes(void **state)
{
    cuda_checker *c = open_checker();
    (void)state;
#define BYTES(domain, op, attributes, ...)                                              \
    if (is_chosen())                                                                    \
    cuda_case_random(c, domain, op, attributes,                                         \
                     sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *), \
                     (const char *const[]){__VA_ARGS__}, PGY_F32)
    BYTES("", "QLinearMatMul", "", "b70x144", "~0.02", "b", "b144x72", "72~0.01", "b=0", "~0.1",
          "b");
    BYTES("", "QLinearMatMul", "", "u130x272", "~0.02", "u", "b272x136", "~0.01", "b=0", "~0.1",
          "u");
    BYTES("", "QLinearMatMul", "", "b70x2064", "~0.02", "b=0", "b2064x20", "20~0.01", "b=0", "~0.3",
          "b");
    /* whole vectors of columns, which go from registers to Y; scales of which half of all sums lie
     * between two bytes; sums far beyond bytes */
    BYTES("", "QLinearMatMul", "", "b70x144", "~0.02", "b", "b144x80", "80~0.01", "b=0", "~0.1",
          "b");
    BYTES("", "QLinearMatMul", "", "u130x272", "~=0.5", "u", "b272x144", "~=1", "b=0", "~=64", "u");
    BYTES("", "QLinearMatMul", "", "u70x272", "~900", "u", "b272x16", "~900", "b=0", "~0.1", "b");
    /* a sum behind the product: of a row, in registers and behind parts of k; of all */
    BYTES("pgy", "QLinearMatMul", "", "b70x144", "~0.02", "b", "b144x80", "80~0.01", "b=0", "~0.1",
          "b", "b80", "~0.02", "b", "~0.1", "b");
    BYTES("pgy", "QLinearMatMul", "", "u70x2064", "~0.02", "u", "b2064x40", "~0.01", "b=0", "~0.5",
          "b", "b40", "~0.5", "b", "~0.5", "b");
    BYTES("pgy", "QLinearMatMul", "transB=1", "u2x35x160", "~0.02", "u", "b72x160", "72~0.01",
          "b=0", "~0.1", "u", "u2x35x72", "~0.05", "u", "~0.1", "u");
    /* three side by side, in registers, behind parts of k and of no whole vectors of 64 */
    BYTES("pgy", "QLinearMatMul", "parts=3", "b70x144", "~0.02", "b", "b144x192", "192~0.01", "b=0",
          "3~0.1", "b3", "b192", "3~0.02", "b3", "3~0.1", "b3");
    BYTES("pgy", "QLinearMatMul", "parts=2", "u7x2064", "~0.02", "u", "b2064x96", "96~0.01", "b=0",
          "2~0.5", "b2", "b96", "2~0.5", "b2", "2~0.5", "b2");
    /* A table behind the product, or behind its sum with a row. It is applied in registers, after
     * the parts of k are added, and to matrices of any sizes. */
    BYTES("pgy", "QGemm", "transB=1", "b70x160", "~0.02", "b", "b48x160", "48~0.01", "b=0", "i48",
          "~0.1", "b", "b256");
    BYTES("pgy", "QGemm", "transB=1", "u70x1040", "~0.02", "u", "b40x1040", "40~0.01", "b=0", "i40",
          "~0.5", "u", "u256");
    BYTES("pgy", "QLinearMatMul", "", "b70x144", "~0.02", "b", "b144x80", "80~0.01", "b=0", "~0.1",
          "b", "b80", "~0.02", "b", "~0.1", "b", "b256");
    BYTES("pgy", "QLinearMatMul", "", "u70x2064", "~0.02", "u", "b2064x40", "~0.01", "b=0", "~0.5",
          "u", "u40", "~0.5", "u", "~0.5", "u", "u256");
    BYTES("pgy", "QGemm", "", "b20x50", "~0.02", "b", "b50x33", "~0.01", "b", "i33", "~0.1", "b",
          "b256");
    /* many products: rows and columns of B, steps of k, tiles that end, zero points, a side that
     * all share */
    BYTES("pgy", "QLinearMatMul", "transB=1", "b2x3x70x64", "~0.02", "b", "b2x3x80x64", "~0.01",
          "b", "~0.1", "b");
    BYTES("", "QLinearMatMul", "", "b2x2x20x144", "~0.02", "b", "u2x2x144x64", "~0.01", "u", "~0.1",
          "b");
    BYTES("", "QLinearMatMul", "", "u3x1x66x272", "~=0.5", "u", "b1x2x272x16", "~=1", "b=0", "~=64",
          "u");
    BYTES("com.microsoft", "QGemm", "transB=1", "b70x160", "~0.02", "b", "b48x160", "48~0.01",
          "b=0", "i48", "~0.1", "b");
    BYTES("", "QLinearMatMul", "", "b2x3x70x50", "~0.02", "b", "b2x3x50x70", "~0.01", "b", "~0.1",
          "b");
    BYTES("", "QLinearMatMul", "", "u2x3x9x200", "~0.02", "u", "u1x3x200x66", "~0.01", "u", "~0.1",
          "u");
    BYTES("com.microsoft", "QGemm", "transB=1", "b70x160", "~0.02", "b", "b40x160", "40~0.01",
          "b=0", "i40", "~0.1", "b");
    BYTES("com.microsoft", "QGemm", "transA=1 alpha=0.5", "b160x70", "~0.02", "b", "b160x40",
          "~0.01", "b", "i40", "~0.1", "b");
    BYTES("", "MatMulInteger", "", "u70x160", "b160x40", "u", "b");
    BYTES("", "MatMulInteger", "", "u70x160", "b160x40", "u");
    BYTES("pgy", "QuantizedMatMul", "activation=Relu", "b70x160", "~0.02", "b", "b160x72",
          "72~0.01", "b=0", "72", "70x72");
    BYTES("pgy", "QuantizedMatMul", "", "b70x160", "~0.02", "b", "b160x71", "71~0.01", "b=0");
    report(c);
}

/* Rows of bytes: words that lanes have or lack, elements that are no neighbours, sums before. */
static void test_cuda__rows_of_bytes(void **state)
{
    cuda_checker *c = open_checker();
    (void)state;
    BYTES("com.microsoft", "QLinearSoftmax", "opset=13", "b37x128", "~0.02", "b", "~0.004", "b");
    BYTES("com.microsoft", "QLinearSoftmax", "opset=13", "u3x2x700", "~0.1", "u", "~0.004", "u=0");
    BYTES("com.microsoft", "QLinearSoftmax", "opset=13 axis=1", "b2x65x9", "~0.02", "b", "~0.01",
          "b");
    BYTES("com.microsoft", "QLinearSoftmax", "opset=13", "u5x33", "~0.3", "u", "~0.004", "u=0");
    BYTES("com.microsoft", "QLinearSoftmax", "opset=13", "u19x208", "~0.05", "u", "~0.004", "u=0");
    BYTES("com.microsoft", "QLinearSoftmax", "opset=13", "b3x1040", "~0.01", "b", "~=0.0078125",
          "b");
#define NORM_BYTES(...) BYTES("pgy", "QLinearLayerNormalization", "", __VA_ARGS__)
    NORM_BYTES("b37x768", "~0.02", "b", "768", "768", "~0.03", "b");
    NORM_BYTES("b530x516", "~0.02", "b", "516", "516", "~0.03", "b");
    NORM_BYTES("b5x1040", "~0.02", "b", "1040", "1040", "~0.03", "b");
    NORM_BYTES("u2x5x68", "~0.3", "u", "68", "-", "~0.01", "b");
    NORM_BYTES("b9x260", "~0.02", "b", "260", "260", "~0.03", "u", "b9x260", "~0.05", "b", "~0.04",
               "b");
    NORM_BYTES("u7x1024", "~0.02", "u", "1024", "1024", "~=0.5", "u", "u7x1024", "~=0.25", "u",
               "~=0.5", "u");
    report(c);
}

/* Attention of bytes: keys that end within a group, of several warps and blocks, heads of both
 * sizes, masks, scores of which half lie between two bytes. */
static void test_cuda__attention_of_bytes(void **state)
{
    cuda_checker *c = open_checker();
    (void)state;
    if (is_chosen()) check_file(c, "pgy_qlinear_attention");
#define ATTENTION_BYTES(heads, ...) \
    BYTES("pgy", "QLinearAttention", "num_heads=" heads, __VA_ARGS__)
    ATTENTION_BYTES("2", "b2x32x384", "~0.02", "b", "~0.02", "b", "~0.02", "b", "~0.1", "b",
                    "~0.05", "b", "~0.004", "b=-128", "~0.01", "b");
    ATTENTION_BYTES("3", "u1x70x288", "~0.02", "u", "~0.02", "u", "~0.02", "u", "~0.1", "u",
                    "~0.05", "u", "~0.004", "u=0", "~0.01", "u");
    ATTENTION_BYTES("1", "b3x197x192", "~0.02", "b", "~0.02", "b", "~0.02", "b", "~0.1", "b",
                    "~0.05", "b", "~0.0004", "b=-128", "~0.004", "b");
    ATTENTION_BYTES("2", "b2x128x384", "~0.02", "b", "~0.02", "b", "~0.02", "b", "~0.1", "b",
                    "~0.05", "b", "~0.001", "b=-128", "~0.01", "b", "b2x1x1x128", "~0.03", "b",
                    "~0.11", "b");
    ATTENTION_BYTES("1", "b2x45x192", "~=0.125", "b", "~=0.125", "b", "~0.02", "b", "~=2", "b",
                    "~=0.5", "b", "~=0.015625", "b=-128", "~0.01", "b", "b1x1x1x45", "~=1", "b",
                    "~=4", "b");
    ATTENTION_BYTES("4", "b70x66x384", "~0.02", "b", "~0.02", "b", "~0.02", "b", "~0.1", "b",
                    "~0.05", "b", "~0.001", "b=-128", "~0.01", "b", "b70x1x1x66", "~0.03", "b",
                    "~0.11", "b");
    ATTENTION_BYTES("2", "b40x70x192", "~0.02", "b", "~0.02", "b", "~0.02", "b", "~0.1", "b",
                    "~0.05", "b", "~0.001", "b=-128", "~0.01", "b");
    ATTENTION_BYTES("2", "u1x9x192", "~0.1", "u", "~0.1", "u", "~0.1", "u", "~0.01", "u", "~0.02",
                    "u", "~0.004", "u=0", "~0.01", "u", "u9", "~2", "u", "~0.3", "u");
    report(c);
}

/* Weights of 4 bits: blocks of whole groups of 64, of parts of them, one for all; zero points of
 * both kinds; k and n that end within a group; few rows, several times eight, and many. */
static void test_cuda__products_of_few_bits(void **state)
{
    cuda_checker *c = open_checker();
    (void)state;
    if (is_chosen()) check_file(c, "mat_mul_n_bits");
#define FEW_BITS(attributes, ...) CHECK("com.microsoft", "MatMulNBits", attributes, __VA_ARGS__)
    FEW_BITS("N=40 K=160 bits=4 block_size=32", "1x160", "u40x5x16", "40x5~0.1");
    FEW_BITS("N=21 K=72 bits=4 block_size=16", "3x72", "u21x5x8", "21x5~0.1", "u21x3");
    FEW_BITS("N=33 K=1160 bits=4 block_size=128", "8x1160", "u33x10x64", "33x10~0.1", "u33x5", "-",
             "33");
    FEW_BITS("N=24 K=96 bits=4 block_size=32", "2x3x96", "u24x3x16", "24x3~0.1", "24x3~8", "-",
             "24");
    FEW_BITS("N=130 K=200 bits=4 block_size=200", "20x200", "u130x1x100", "130x1~0.1", "u130x1");
    FEW_BITS("N=72 K=320 bits=4 block_size=32", "31x320", "u72x10x16", "72x10~0.1");
    FEW_BITS("N=136 K=576 bits=4 block_size=64", "70x576", "u136x9x32", "136x9~0.1", "u136x5", "-",
             "136");
    FEW_BITS("N=70 K=136 bits=4 block_size=16", "2x65x136", "u70x9x8", "70x9~0.1", "70x9~8");
    FEW_BITS("N=20 K=1096 bits=4 block_size=96", "34x1096", "u20x12x48", "20x12~0.1");
    FEW_BITS("N=72 K=328 bits=4 block_size=32", "40x328", "u72x11x16", "72x11~0.1", "u72x6", "-",
             "72");
    FEW_BITS("N=40 K=72 bits=4 block_size=72", "3x50x72", "u40x1x36", "40x1~0.1");
    report(c);
}

/* Products of float8: steps and parts of k, ends of tiles, all results; float8 of results is that
 * of exact sums. */
static void test_cuda__products_of_float8(void **state)
{
    cuda_checker *c = open_checker();
    (void)state;
    if (is_chosen()) check_file(c, "pgy_float8_mat_mul");
        /* Of 16-bit results, because tensor cores keep about 14 bits of a step's sums. */
#define FLOAT8(attributes, ...)                                                         \
    if (is_chosen())                                                                    \
    cuda_case_random(c, "pgy", "Float8MatMul", attributes,                              \
                     sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *), \
                     (const char *const[]){__VA_ARGS__}, PGY_F16)
    FLOAT8("output_dtype=1", "e70x144", "e144x72");
    FLOAT8("output_dtype=1 transB=1 alpha=0.25 activation=Gelu", "E2x33x272", "E71x272", "71");
    FLOAT8("output_dtype=10 activation=Silu", "e20x1040", "e1040x40", "40", "20x40");
    FLOAT8("output_dtype=17 y_scale=0.5", "e9x16", "e16x8");
    FLOAT8("output_dtype=19 y_scale=0.25 activation=Relu", "E9x16", "E16x9");
    report(c);
}

/* Windows of bytes that leave the image, where its zero point lies, and cross into the next one;
 * bytes gathered one by one; groups. */
static void test_cuda__convolutions_of_bytes(void **state)
{
    cuda_checker *c = open_checker();
    (void)state;
    BYTES("pgy", "QLinearConv", "channels_last=1 pads=1,1,1,1 activation=Relu", "b2x9x7x64",
          "~0.02", "b", "b40x64x3x3", "40~0.01", "b=0", "~0.1", "b", "i40");
    BYTES("pgy", "QLinearConv", "channels_last=1 pads=1,1,1,1", "b2x9x7x128", "~0.02", "b=0",
          "b40x128x3x3", "40~0.01", "b=0", "~0.1", "b", "i40");
    BYTES("pgy", "QLinearConv", "channels_last=1 pads=1,2,1,1 strides=2,1", "b2x9x7x128", "~0.02",
          "b", "b44x128x3x3", "44~0.01", "b=0", "~0.1", "b", "i44");
    BYTES("pgy", "QLinearConv", "channels_last=1 strides=2,2", "u3x9x7x256", "~0.02", "u",
          "b136x256x1x1", "~0.01", "b=0", "~0.1", "u");
    BYTES("pgy", "QLinearConv", "channels_last=1", "b2x9x7x48", "~0.02", "b", "b72x48x1x1",
          "72~0.01", "b=0", "~0.1", "b", "i72");
    BYTES("pgy", "QLinearConv", "channels_last=1 pads=1,1,1,1 activation=Relu", "b2x9x7x64",
          "~0.02", "b", "b80x64x3x3", "80~0.01", "b=0", "~0.1", "b", "i80");
    BYTES("pgy", "QLinearConv", "channels_last=1 pads=1,2,1,1 strides=2,1", "u2x9x7x128", "~0.02",
          "u", "b144x128x3x3", "144~0.01", "b=0", "~0.1", "u", "i144");
    BYTES("pgy", "QLinearConv", "channels_last=1 activation=Relu", "b2x9x15x64", "~=0.5", "b=0",
          "b64x64x1x1", "~=1", "b=0", "~=32", "b=3", "i64");
    BYTES("pgy", "QLinearConv", "channels_last=1 group=2 pads=0,2,1,0 dilations=2,1", "b1x9x7x64",
          "~0.02", "b", "b32x32x3x2", "~0.01", "b=0", "~0.1", "b");
    BYTES("pgy", "QLinearConv", "channels_last=1 group=2 pads=0,2,1,0 dilations=2,1", "b1x9x7x64",
          "~0.02", "b", "b24x32x3x2", "~0.01", "b=0", "~0.1", "b");
    BYTES("pgy", "QLinearConv", "channels_last=1 group=24 pads=1,1,1,1", "b2x9x7x24", "~0.02", "b",
          "b24x1x3x3", "24~0.01", "b=0", "~0.1", "b", "i24");
    BYTES("pgy", "QLinearConv", "channels_last=1 pads=1,0,1,0 activation=Relu", "b2x9x7x64",
          "~0.02", "b", "b80x64x3x1", "80~0.01", "b=0", "~0.1", "b", "i80");
    BYTES("pgy", "QLinearConv", "channels_last=1 pads=1,0,1,0 activation=Relu", "b2x9x7x64",
          "~0.02", "b", "b144x64x3x1", "144~0.01", "b=0", "~0.1", "b", "i144", "b2x9x7x144", "~0.2",
          "b", "~0.2", "b");
    /* sums with other bytes: from registers, by parts of k, of no whole vectors of 16; sums of
     * which half lie between two bytes, and such far beyond bytes */
    BYTES("pgy", "QLinearConv", "channels_last=1 pads=1,1,1,1 activation=Relu", "b2x9x7x64",
          "~0.02", "b", "b80x64x3x3", "80~0.01", "b=0", "~0.3", "b", "i80", "b2x9x7x80", "~0.2",
          "b", "~0.3", "b");
    BYTES("pgy", "QLinearConv", "channels_last=1", "u3x9x15x32", "~0.02", "u", "b144x32x1x1",
          "144~0.01", "b=0", "~0.1", "u", "i144", "u3x9x15x144", "~0.2", "u", "~0.2", "u");
    BYTES("pgy", "QLinearConv", "channels_last=1", "b2x3x7x1024", "~0.02", "b", "b40x1024x1x1",
          "40~0.01", "b=0", "~0.4", "b", "i40", "b2x3x7x40", "~0.2", "b", "~0.3", "b");
    BYTES("pgy", "QLinearConv", "channels_last=1", "u2x9x15x64", "~=0.5", "u", "b64x64x1x1", "~=1",
          "b=0", "~=64", "u", "i64", "u2x9x15x64", "~=32", "u", "~=128", "u");
    BYTES("pgy", "QLinearConv", "channels_last=1", "u2x9x15x64", "~0.02", "u", "b64x64x1x1",
          "64~0.01", "b=0", "~0.1", "u", "i64", "u2x9x15x64", "~9e7", "u", "~0.001", "u");
    /* few channels: lines of the image in shared memory */
    BYTES("pgy", "QLinearConv", "channels_last=1 strides=2,2 pads=3,3,3,3", "b2x32x32x3", "~0.02",
          "b", "b64x3x7x7", "64~0.01", "b=0", "~0.1", "b", "i64");
    BYTES("pgy", "QLinearConv", "channels_last=1 pads=1,1,1,1 activation=Relu", "u2x8x16x5",
          "~0.02", "u", "b24x5x3x3", "24~0.01", "b=0", "~0.1", "u", "i24");
    BYTES("pgy", "QLinearConv", "channels_last=1 strides=1,3 pads=0,0,2,1", "b1x32x48x1", "~0.02",
          "b", "b16x1x3x20", "~0.01", "b=0", "~0.1", "b");
    BYTES("pgy", "QLinearConv", "channels_last=1 pads=1,1,1,1", "b1x112x160x1", "~0.02", "b",
          "b16x1x3x3", "~0.01", "b=0", "~0.1", "b"); /* more tiles than run at the same time */
    BYTES("", "QLinearConv", "strides=2,2 pads=3,3,3,3", "b2x3x21x20", "~0.02", "b", "b24x3x7x7",
          "24~0.01", "b=0", "~0.1", "b", "i24");
    BYTES("", "QLinearConv", "pads=1,1,1,1", "u1x24x6x7", "~0.02", "u", "u10x24x3x3", "~0.01", "u",
          "~0.1", "u");
    BYTES("", "ConvInteger", "pads=1,1,1,1", "u1x24x6x7", "b10x24x3x3", "u");
    BYTES("pgy", "QuantizedConv", "pads=1,1,1,1 activation=Relu", "b2x20x6x7", "~0.02", "b",
          "b10x20x3x3", "10~0.01", "b=0", "10", "2x10x6x7");
    report(c);
}

/* ---- Larger problems ------------------------------------------------------------------------ */

static void test_cuda__products(void **state)
{
    cuda_checker *c = open_checker();
    (void)state;
    CHECK("", "MatMul", "", "70x40", "40x90");
    CHECK("", "MatMul", "", "3x33x17", "17x65");
    CHECK("", "MatMul", "", "2x1x20x24", "3x24x16");
    CHECK("", "MatMul", "", "16x600", "600x24"); /* parts of k */
    CHECK("", "MatMul", "", "5x64", "64x40");    /* few rows */
    CHECK("", "MatMul", "", "64", "64x40");
    CHECK("", "Gemm", "transB=1 alpha=0.5", "3x50", "20x50", "20");
    CHECK("", "Gemm", "transA=1 transB=1 beta=2.0", "50x20", "30x50", "20x1");
    CHECK("", "Gemm", "transA=1", "48x72", "48x80", "80");
    CHECK("pgy", "FusedMatMul", "transB=1 activation=Gelu alpha=0.25", "2x20x32", "2x40x32", "40",
          "2x20x40");
    CHECK("pgy", "FusedMatMul", "activation=Silu", "20x300", "300x40", "40");
    /* several tiles, of which the last are not full */
    CHECK("pgy", "FusedMatMul", "activation=Gelu", "3x90x72", "72x520", "520");
    CHECK("", "MatMul", "", "130x200", "200x264");
    report(c);
}

/* The stand-in refuses maps that the driver refuses, and the kernel boxes of another size. */
static void test_cuda__large_products_copy_by_tensor_maps(void **state)
{
    static const struct {
        const char *b;
        pgy_dtype type;
        unsigned long maps; /* of X, W and Y, and of X and W for each of seven smaller tiles */
    } CASES[] = {{"200x264", PGY_F16, 3 + 14},
                 {"200x264", PGY_BF16, 3 + 14},
                 {"200x264", PGY_F32, 0},
                 {"200x261", PGY_F16, 14}}; /* rows of Y are no multiples of 16 bytes */
    cuda_checker *c = open_checker();
    (void)state;
    if (on_gpu()) skip();
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const unsigned long before = fake_cuda_calls("cuTensorMapEncodeTiled");
        if (!is_chosen()) continue;
        cuda_case_random(c, "", "MatMul", "", 2, (const char *const[]){"130x200", CASES[i].b},
                         CASES[i].type);
        assert_int_equal(fake_cuda_calls("cuTensorMapEncodeTiled") - before, CASES[i].maps);
    }
    report(c);
}

static void test_cuda__convolutions(void **state)
{
    cuda_checker *c = open_checker();
    (void)state;
    CHECK("", "Conv", "pads=1,1,1,1", "2x3x9x11", "8x3x3x3", "8");
    CHECK("", "Conv", "strides=2,2 pads=3,3,3,3", "1x3x21x20", "10x3x7x7", "10");
    CHECK("", "Conv", "", "2x24x4x4", "70x24x1x1", "70");
    CHECK("", "Conv", "group=2 dilations=2,2", "1x6x10x10", "8x3x3x3");
    CHECK("", "Conv", "group=6 pads=1,1,1,1", "2x6x7x9", "6x1x3x3", "6");
    CHECK("", "Conv", "group=3 strides=2,1", "1x3x8x8", "9x1x3x2", "9");
    CHECK("", "Conv", "pads=2,2", "2x5x30", "7x5x5", "7");
    CHECK("", "Conv", "", "1x64x5x5", "16x64x3x3", "16"); /* parts of k */
    CHECK("com.microsoft", "FusedConv", "pads=1,1,1,1 activation=Relu", "1x4x6x6", "5x4x3x3", "5",
          "1x5x6x6");
    CHECK("pgy", "FusedConv", "activation=Silu", "1x4x6x6", "5x4x1x1", "5");
    /* few channels of a linear image: several channels of a result for each thread, rows whose ends
     * have one neighbour, windows outside */
    CHECK("pgy", "FusedConv", "strides=2,2 pads=1,1,1,1 activation=Silu", "2x3x21x25", "32x3x3x3",
          "32");
    CHECK("", "Conv", "strides=1,3 pads=0,2,1,0", "3x1x7x9", "16x1x2x3");
    CHECK("", "Conv", "pads=1,1", "2x4x30", "48x4x3", "48");
    CHECK("pgy", "FusedConv", "pads=1,1,1,1 activation=Silu", "2x16x7x9", "16x16x3x3", "16");
    CHECK("", "Conv", "strides=2,2 pads=0,1,1,0", "1x8x8x11", "32x8x2x3");
    report(c);
}

/* Whole steps of channels: windows that leave the image and cross into the next one, strides, parts
 * of k. The stand-in refuses maps that the driver refuses, and the kernel boxes of another size. */
static void test_cuda__convolutions_copy_windows_by_maps(void **state)
{
    static const struct {
        const char *x, *w, *attributes;
        pgy_dtype type;
        unsigned long maps; /* of images, one for each tile */
    } CASES[] = {
        {"1x64x5x6", "16x64x3x3", "pads=1,1,1,1", PGY_F16,
         5}, /* deep ones share k by two at most */
        {"3x64x9x7", "24x64x3x3", "pads=1,1,1,1 strides=2,2", PGY_BF16, 5},
        {"2x128x17x9", "136x128x1x1", "", PGY_F16, 8},
        {"1x64x12x11", "20x64x2x3", "pads=2,0,1,4 dilations=2,3", PGY_F16, 8},
        {"1x64x70", "16x64x5", "pads=2,2", PGY_F16, 8},
        {"1x40x5x6", "16x40x3x3", "pads=1,1,1,1", PGY_F16, 0},  /* no whole steps */
        {"1x128x5x6", "16x64x3x3", "group=2", PGY_F16, 0},      /* groups */
        {"1x64x20x20", "16x64x3x3", "strides=9,9", PGY_F16, 0}, /* too far for a map */
        {"1x64x5x6", "16x64x3x3", "pads=1,1,1,1", PGY_F32, 0},
    };
    cuda_checker *c = open_checker();
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const unsigned long before = on_gpu() ? 0 : fake_cuda_calls("cuTensorMapEncodeIm2col");
        if (!is_chosen()) continue;
        cuda_case_random(c, "", "Conv", CASES[i].attributes, 2,
                         (const char *const[]){CASES[i].x, CASES[i].w}, CASES[i].type);
        if (!on_gpu())
            assert_int_equal(fake_cuda_calls("cuTensorMapEncodeIm2col") - before, CASES[i].maps);
    }
    CHECK("pgy", "FusedConv", "pads=1,1,1,1 activation=Silu", "2x64x11x13", "40x64x3x3", "40",
          "2x40x11x13");
    report(c);
}

static void test_cuda__attention(void **state)
{
    cuda_checker *c = open_checker();
    (void)state;
    CHECK("", "Attention", "", "2x3x20x16", "2x3x70x16", "2x3x70x24");
    CHECK("", "Attention", "is_causal=1", "1x2x40x64", "1x2x40x64", "1x2x40x64");
    CHECK("", "Attention", "", "1x4x9x80", "1x2x11x80", "1x2x11x80", "9x11");
    CHECK("", "Attention", "q_num_heads=2 kv_num_heads=2 softcap=3.0", "2x5x16", "2x6x16", "2x6x16",
          "?2x1x5x6");
    /* a mask for all rows */
    CHECK("", "Attention", "", "2x3x80x16", "2x3x70x16", "2x3x70x32", "2x1x1x70");
    CHECK("", "Attention", "", "2x2x20x64", "2x2x70x64", "2x2x70x64", "?2x1x1x70");
    /* all keys in shared memory: warps with two and one of 16 keys or none, several groups of rows
     */
    CHECK("pgy", "PackedAttention", "q_num_heads=2 kv_num_heads=2", "1x150x384");
    CHECK("", "Attention", "", "8x12x33x16", "8x12x33x16", "8x12x33x16", "33x33");
    CHECK("", "Attention", "", "8x12x20x16", "8x12x130x16", "8x12x130x32", "8x1x1x130");
    /* groups of warps: several times 64 rows of a block */
    if (is_chosen())
        cuda_case_random(c, "", "Attention", "", 3,
                         (const char *const[]){"22x12x130x64", "22x12x20x64", "22x12x20x64"},
                         PGY_F16);
    CHECK("", "Attention", "scale=-0.2", "1x2x70x64", "1x2x90x64", "1x2x90x64", "70x90");
    CHECK("", "Attention", "scale=0.1", "1x1x5x200", "1x1x7x200", "1x1x7x9");
    /* caches: one and two rows of queries, blocks that share the keys, many rows, three axes */
    CHECK("", "Attention", "", "2x4x1x64", "2x2x1x64", "2x2x1x64", "-", "2x2x69x64", "2x2x69x64");
    CHECK("", "Attention", "is_causal=1", "1x2x2x32", "1x2x2x32", "1x2x2x32", "-", "1x2x600x32",
          "1x2x600x32");
    CHECK("", "Attention", "is_causal=1", "1x2x20x64", "1x2x20x64", "1x2x20x64", "20x33",
          "1x2x13x64", "1x2x13x64");
    CHECK("", "Attention", "q_num_heads=2 kv_num_heads=1", "2x3x20", "2x3x10", "2x3x12", "-",
          "2x1x7x10", "2x1x7x12");
    report(c);
}

static void test_cuda__rows(void **state)
{
    cuda_checker *c = open_checker();
    (void)state;
    CHECK("", "Softmax", "", "7x300");
    CHECK("", "Softmax", "axis=1", "2x5x3");
    CHECK("", "LogSoftmax", "", "3x5000");
    CHECK("", "LayerNormalization", "", "5x768", "768", "768");
    CHECK("", "LayerNormalization", "", "2x6000", "6000");
    CHECK("com.microsoft", "SkipLayerNormalization", "epsilon=0.001", "2x3x64", "2x3x64", "64",
          "64", "64");
    CHECK("", "LayerNormalization", "", "1030x72", "72", "72"); /* a warp for each row */
    CHECK("", "LayerNormalization", "", "2700x72", "72", "72"); /* and for several */
    CHECK("", "LayerNormalization", "", "1100x1032", "1032");
    CHECK("com.microsoft", "SkipLayerNormalization", "", "1025x264", "1025x264", "264", "264");
    CHECK("", "RMSNormalization", "", "4x100", "100");
    CHECK("", "ReduceMean", "keepdims=0", "3x4x5");
    CHECK("", "ReduceMax", "", "2000");
    CHECK("", "GlobalAveragePool", "", "2x5x7x7");
    CHECK("", "MaxPool", "kernel_shape=3,3 strides=2,2 pads=1,1,1,1", "2x3x13x12");
    CHECK("", "AveragePool", "kernel_shape=2,3 pads=1,1,0,1 count_include_pad=1", "2x3x8x9");
    report(c);
}

static void test_cuda__group_normalizations(void **state)
{
    cuda_checker *c = open_checker();
    (void)state;
    CHECK("", "InstanceNormalization", "", "2x3x5x7", "3", "3");
    CHECK("", "GroupNormalization", "num_groups=2", "2x6x5x7", "6", "6");
    CHECK("", "GroupNormalization", "num_groups=2", "1x12x8x12", "12", "12");
    CHECK("", "GroupNormalization", "num_groups=2", "1x4x64x72", "4", "4"); /* long rows */
    CHECK("com.microsoft", "GroupNorm", "groups=3 activation=1 channels_last=0", "2x6x5x7", "6",
          "6");
    CHECK("com.microsoft", "GroupNorm", "groups=2 activation=0", "2x5x7x24", "24", "24");
    /* in channels last: packs of 4, 2 and 8 channels; blocks that share a group */
    CHECK("com.microsoft", "GroupNorm", "groups=8 activation=1 channels_last=0", "1x32x7x9", "32",
          "32");
    CHECK("com.microsoft", "GroupNorm", "groups=4 activation=1 channels_last=0", "2x40x6x5", "40",
          "40");
    CHECK("com.microsoft", "GroupNorm", "groups=2 activation=1 channels_last=0", "1x48x5x6", "48",
          "48");
    CHECK("", "GroupNormalization", "num_groups=1", "1x8x80x113", "8", "8");
    /* several groups of a block: whole ones in a pack, parts of one, sets that share pixels */
    CHECK("com.microsoft", "GroupNorm", "groups=32 activation=1 channels_last=0", "1x32x7x9", "32",
          "32");
    CHECK("com.microsoft", "GroupNorm", "groups=16 activation=0", "2x9x11x64", "64", "64");
    CHECK("com.microsoft", "GroupNorm", "groups=8 activation=1", "1x6x5x80", "80", "80");
    CHECK("com.microsoft", "GroupNorm", "groups=32 activation=1", "1x45x47x128", "128", "128");
    CHECK("com.microsoft", "GroupNorm", "groups=4 activation=1", "1x67x37x80", "80", "80");
    report(c);
}

static void test_cuda__functions(void **state)
{
    static const char *const OPS[] = {"LeakyRelu", "HardSigmoid", "Softsign", "ThresholdedRelu",
                                      "Floor",     "Ceil",        "Round",    "Reciprocal",
                                      "Exp",       "Tanh",        "Sigmoid",  "Erf",
                                      "Softplus",  "Mish",        "Elu",      "Selu",
                                      "Celu",      "Sin",         "Cos",      "Atan",
                                      "IsNaN",     "IsInf",       "Sqrt",     "Log",
                                      "HardSwish"};
    cuda_checker *c = open_checker();
    (void)state;
    /* Types are converted before and behind a function, the same way for all: float32 suffices. */
    for (size_t i = 0; i < sizeof OPS / sizeof *OPS; i++)
        if (is_chosen())
            cuda_case_random(c, "", OPS[i], "", 1, (const char *const[]){"5x13"}, PGY_F32);
    CHECK("", "Gelu", "", "5x13");
    CHECK("", "Pow", "", "4x6", "#1=3");
    CHECK("", "Mod", "fmod=1", "4x6", "6");
    CHECK("", "BitwiseXor", "", "#4x6<99", "#6<99");
    CHECK("", "SpaceToDepth", "blocksize=2", "1x3x4x6");
    report(c);
}

static void test_cuda__elements(void **state)
{
    cuda_checker *c = open_checker();
    (void)state;
    CHECK("pgy", "Elementwise", "program=Add_x0_x1;_Gelu_t0;_Mul_t1_x2;_Clip_t2_0_6", "6x64", "64",
          "6x1");
    CHECK("", "Add", "", "3x1x5", "4x1");
    CHECK("", "Mul", "", "8x64", "64");
    CHECK("", "Where", "", "?4x8", "4x8", "8");
    CHECK("", "Gather", "axis=1", "3x5x6", "#2x2<5");
    CHECK("", "Transpose", "perm=0,2,3,1", "2x40x9x8");
    CHECK("", "Transpose", "perm=0,3,1,2", "2x9x8x40");
    CHECK("", "Transpose", "perm=1,0,2", "5x6x7");
    CHECK("", "Transpose", "perm=0,2,3,1", "2x3x30x36"); /* a short last axis */
    CHECK("", "Transpose", "perm=1,0", "5x12");
    BYTES("", "Transpose", "perm=0,2,3,1", "b2x3x50x56");
    CHECK("", "Concat", "axis=1", "2x3x4", "2x1x4");
    CHECK("", "Concat", "axis=1", "2x8x3x4", "2x5x3x4");
    CHECK("", "Mul", "", "2x8x3x4", "8x1x1");
    CHECK("com.microsoft", "BiasGelu", "", "3x64", "64");
    CHECK("com.microsoft", "FastGelu", "", "3x64");
    report(c);
}

/* ---- Changes of layout ---------------------------------------------------------------------- */

static void must(pgy_status st, const pgy_error *err)
{
    if (st) fail_msg("%s", err->text);
}

/* Both changes of layout: linear to channels last, and back. */
static void test_cuda__layouts(void **state)
{
    enum { CHANNELS = 33, PIXELS = 3 * 14, COUNT = 2 * CHANNELS * PIXELS };
    static const int64_t SHAPE[] = {2, CHANNELS, 3, 14};
    cuda_checker *c = open_checker();
    const kernel *k = kernel_find("cuda_reorder", 1);
    uint16_t x[COUNT], last[COUNT], back[COUNT];
    void *memory[3];
    pgy_error err = {0};
    (void)state;
    assert_non_null(k);
    for (size_t i = 0; i < COUNT; i++) x[i] = (uint16_t)i;
    for (size_t i = 0; i < 3; i++)
        must(device_allocate(&memory[i], c->stream, sizeof x, &err), &err);
    must(device_copy(c->stream, memory[0], x, sizeof x, DEVICE_FROM_HOST, &err), &err);
    for (size_t i = 0; i < 2; i++) {
        kernel_problem u = {.input_count = 1, .output_count = 1, .space = 1};
        kernel_plan plan = {0};
        double cost;
        void *loaded = NULL;
        u.inputs[0] = u.outputs[0] = (kernel_tensor){.dtype = PGY_F16, .rank = 4, .shape = SHAPE};
        (i ? &u.inputs[0] : &u.outputs[0])->layout = KERNEL_CHANNELS_LAST;
        assert_true(kernel_accept(k, &u, &cost));
        must(k->prepare(&plan, &u, &err), &err);
        must(k->load(&loaded, k, &plan, c->device, &err), &err);
        const kernel_run r = {
            .self = k, .params = plan.params, .tensors = memory + i, .parts = 1, .loaded = loaded};
        must(k->enqueue(&r, c->stream, &err), &err);
        must(device_stream_synchronize(c->stream, &err), &err);
        k->unload(loaded);
        kernel_plan_deinit(&plan);
    }
    must(device_copy(c->stream, last, memory[1], sizeof x, DEVICE_TO_HOST, &err), &err);
    must(device_copy(c->stream, back, memory[2], sizeof x, DEVICE_TO_HOST, &err), &err);
    must(device_stream_synchronize(c->stream, &err), &err);
    for (size_t i = 0; i < 3; i++) device_release(c->stream, memory[i]);
    if (checker.idle) return;
    assert_memory_equal(x, back, sizeof x);
    assert_int_equal(last[(PIXELS + 5) * CHANNELS + 7], x[(CHANNELS + 7) * PIXELS + 5]);
}

/* ---- What 16-bit floats and libraries have of their own ---------------------------------------
 */

static void test_cuda__tensor_cores(void **state)
{
    cuda_checker *c = open_checker();
    (void)state;
    CHECK("", "Attention", "", "1x2x70x32", "1x2x130x32", "1x2x130x48", "1x1x1x130");
    CHECK("", "Attention", "is_causal=1 q_num_heads=2 kv_num_heads=1", "1x33x256", "1x40x128",
          "1x40x128", "?33x40");
    CHECK("", "Attention", "", "2x4x1x64", "2x2x70x64", "2x2x70x64"); /* one row of queries */
    CHECK("", "Attention", "is_causal=1", "1x2x3x32", "1x2x5x32", "1x2x5x32", "3x5");
    CHECK("", "Conv", "pads=1,1,1,1 strides=2,2", "1x32x9x9", "20x32x3x3", "20"); /* taps first */
    CHECK("", "Conv", "group=2 pads=1,1,1,1", "2x64x5x6", "24x32x3x3", "24");
    /* few channels: lines of the image in shared memory, with rows of 4 and 8 elements */
    CHECK("", "Conv", "strides=2,2 pads=1,1,1,1", "2x3x32x32", "24x3x3x3", "24");
    CHECK("", "Conv", "strides=2,2 pads=1,1,1,1", "1x3x32x32=1500", "24x3x3x3", "24");
    CHECK("com.microsoft", "FusedConv", "strides=2,2 pads=3,3,3,3 activation=Relu", "1x3x16x64",
          "16x3x7x7", "16");
    CHECK("", "Conv", "strides=4,4 pads=2,2,2,2", "2x2x32x64", "9x2x5x6");
    CHECK("", "Conv", "strides=8,8", "2x3x24x40", "72x3x8x8", "72"); /* patches */
    CHECK("", "Conv", "strides=4,16 pads=0,0,0,8", "1x2x12x40", "9x2x3x16");
    CHECK("", "Conv", "strides=5,8", "2x3x19x48", "16x3x4x24", "16");
    CHECK("", "Conv", "group=16 pads=1,1,1,1 strides=2,2", "2x16x9x11", "16x1x3x3", "16");
    CHECK("com.microsoft", "FusedConv", "pads=1,1,1,1 activation=Relu", "1x16x6x5", "16x16x3x3",
          "16", "1x16x6x5");
    CHECK("", "MaxPool", "kernel_shape=3,3 strides=2,2 pads=1,1,1,1", "2x16x5x6");
    CHECK("", "Resize", "mode=nearest coordinate_transformation_mode=asymmetric nearest_mode=floor",
          "2x16x3x5", "-", "-", "#4=6");
    CHECK("", "GlobalMaxPool", "", "2x72x5x7");
    CHECK("pgy", "PackedAttention", "q_num_heads=2 kv_num_heads=1", "2x17x64", "17x17");
    CHECK("", "MatMul", "", "72x136", "136x80"); /* whole vectors: several stages */
    CHECK("pgy", "FusedMatMul", "transB=1 activation=Gelu", "3x24x64", "40x64", "40", "3x24x40");
    /* few rows: warps that share k, several columns of a warp, B as it is and packed */
    CHECK("pgy", "FusedMatMul", "activation=Gelu", "1x1x2056", "2056x21", "21", "1x1x21");
    CHECK("pgy", "FusedMatMul", "transB=1 alpha=0.5", "3x264", "43x264", "43");
    CHECK("", "Gemm", "transB=1 beta=2.0", "8x512", "9x512", "8x1");
    CHECK("", "MatMul", "", "1x24", "24x16390");
    /* rows that are normalised: packs that some threads have, and several of a thread */
#define NORMALISED(type, attributes, ...)                                               \
    if (is_chosen())                                                                    \
    cuda_case_random(c, "pgy", "NormalisedMatMul", attributes,                          \
                     sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *), \
                     (const char *const[]){__VA_ARGS__}, type)
    NORMALISED(PGY_F16, "activation=FastGelu epsilon=0.001", "1x1x72", "72x21", "21", "1x1x21",
               "72", "72");
    NORMALISED(PGY_BF16, "root=1 transB=1", "2x2056", "21x2056", "-", "2x21", "2056");
    CHECK("", "MatMul", "", "2x72", "72x32770");
    report(c);
}
