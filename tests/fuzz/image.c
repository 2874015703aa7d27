/* SPDX-License-Identifier: Apache-2.0 */
/* ImageDecoder: any bytes give an image or an error. Inputs that begin with no known format get the
 * first bytes of one, so that all decoders are reached. */
#include <string.h>

#include "ops/op.h"

static const struct {
    const char *bytes;
    size_t size;
} STARTS[] = {
    {"BM", 2},
    {"P1", 2},
    {"P2", 2},
    {"P3", 2},
    {"P4", 2},
    {"P5", 2},
    {"P6", 2},
    {"\xFF\xD8\xFF", 3},
    {"\x89PNG\r\n\x1A\n", 8},
    {"II*\0", 4},
    {"RIFF\0\0\0\0WEBP", 12},
    {"\xFF\x4F\xFF\x51", 4},
};
enum { START_COUNT = sizeof STARTS / sizeof *STARTS, MOST_BYTES = 1 << 24 };

static pgy_tensor *stream_of(const uint8_t *data, size_t size, uint8_t start)
{
    pgy_tensor *t = NULL;
    const int64_t shape[] = {(int64_t)size};
    if (pgy_tensor_create(&t, PGY_I64, 1, shape, NULL)) return NULL;
    for (size_t i = 0; i < size; i++) op_i64(t)[i] = data[i];
    if (start >= 64) return t; /* as it is */
    const size_t which = start % START_COUNT;
    for (size_t i = 0; i < STARTS[which].size && i < size; i++)
        op_i64(t)[i] = (uint8_t)STARTS[which].bytes[i];
    return t;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const FORMATS[] = {"RGB", "BGR", "Grayscale"};
    if (size < 2) return 0;
    op_tensor input = {.dtype = PGY_U8, .value = stream_of(data, size - 2, data[size - 1])};
    const op_attr attr = {
        .name = "pixel_format", .kind = OP_ATTR_STRING, .s = span_of(FORMATS[data[size - 2] % 3])};
    const op_node n = {.def = op_find("", "ImageDecoder", 20),
                       .name = "",
                       .opset = 20,
                       .attrs = &attr,
                       .attr_count = 1,
                       .input_count = 1,
                       .output_count = 1};
    const op_host host = {.max_bytes = MOST_BYTES};
    const bool wanted = true;
    op_tensor output = {0};
    pgy_error err = {0};
    if (input.value && !op_run(&n, &input, &output, &wanted, &host, &err))
        op_tensor_release(&output);
    op_tensor_release(&input);
    return 0;
}
