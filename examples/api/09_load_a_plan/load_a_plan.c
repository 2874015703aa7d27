/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a saved plan into memory, makes an engine from the bytes, and runs it.
 *
 *     load_a_plan identity_fp16.plan
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <polygraphy/polygraphy.h>

/* The bytes may come from anywhere: a file, a network, a database. */
static void *read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    void *bytes = NULL;
    if (!f) return NULL;
    if (fseek(f, 0, SEEK_END) == 0 && ftell(f) > 0) {
        *size = (size_t)ftell(f);
        rewind(f);
        bytes = malloc(*size);
        if (bytes && fread(bytes, 1, *size, f) != *size) {
            free(bytes);
            bytes = NULL;
        }
    }
    fclose(f);
    return bytes;
}

static pgy_status run(bool *right, pgy_context *context, pgy_error *err)
{
    static const int64_t SHAPE[] = {2, 2, 3};
    pgy_tensor *x = NULL;
    pgy_tensor_map *feed = NULL, *outputs = NULL;
    pgy_status st = pgy_tensor_create(&x, PGY_F32, 3, SHAPE, err);
    for (size_t i = 0; !st && i < 12; i++) ((float *)pgy_tensor_data(x))[i] = (float)i;
    if (!st) st = pgy_tensor_map_create(&feed, err);
    if (!st) st = pgy_tensor_map_create(&outputs, err);
    if (!st) st = pgy_tensor_map_set(feed, "inputT0", x, err);
    if (!st) st = pgy_context_run(context, feed, outputs, err);
    const pgy_tensor *y = st ? NULL : pgy_tensor_map_find(outputs, "outputT0");
    *right = y && pgy_tensor_size_bytes(y) == pgy_tensor_size_bytes(x) && memcmp(pgy_tensor_data(x), pgy_tensor_data(y), pgy_tensor_size_bytes(x)) == 0;
    pgy_tensor_map_destroy(outputs);
    pgy_tensor_map_destroy(feed);
    pgy_tensor_release(x);
    return st;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s identity_fp16.plan\n", argv[0]);
        return 2;
    }
    pgy_error err = {0};
    pgy_engine *engine = NULL;
    pgy_context *context = NULL;
    bool right = false;
    size_t size = 0;
    void *bytes = read_file(argv[1], &size);
    if (!bytes) {
        fprintf(stderr, "error: cannot read %s\n", argv[1]);
        return 1;
    }
    pgy_status st = pgy_engine_load(&engine, bytes, size, false, &err);
    free(bytes); /* the engine has a copy */
    if (!st) printf("engine %s, %zu profiles, built with fp16: %s\n", pgy_engine_name(engine), pgy_engine_profile_count(engine), pgy_engine_config(engine)->fp16 ? "yes" : "no");
    if (!st) st = pgy_context_create(&context, engine, NULL, &err);
    if (!st) st = run(&right, context, &err);
    if (st) fprintf(stderr, "error: %s\n", err.text);
    else printf("the output is %s\n", right ? "the input" : "wrong");
    pgy_context_destroy(context);
    pgy_engine_release(engine);
    return st || !right;
}
