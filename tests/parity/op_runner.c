/* SPDX-License-Identifier: Apache-2.0 */
/* Runs models that come one after the other through standard input with the reference backend, and
 * says what inference knows of their outputs; random_ops.py is the other end.
 *
 * A request: u32 size and bytes of the model, the same of a model that is only inferred (size 0:
 * none), u32 number of inputs, and for each its name and its TensorProto, sizes in front. The
 * answer has four parts: what is known of the outputs of both models, the outputs in float64, those
 * in model precision. A part is u32 status, then u32 size and bytes: of the message, of a text, or
 * of outputs. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <polygraphy/polygraphy.h>

typedef struct buffer {
    char *data;
    size_t size, room;
} buffer;

static void put(buffer *b, const void *data, size_t size)
{
    if (b->size + size > b->room) {
        b->room = 2 * (b->size + size);
        b->data = realloc(b->data, b->room);
        if (!b->data) exit(3);
    }
    if (size) memcpy(b->data + b->size, data, size);
    b->size += size;
}

static void put_u32(buffer *b, size_t value)
{
    const uint32_t v = (uint32_t)value;
    put(b, &v, sizeof v);
}

static bool get_u32(uint32_t *out)
{
    return fread(out, sizeof *out, 1, stdin) == 1;
}

/* A blob with a zero behind it; NULL at the end of the requests. */
static char *get_blob(uint32_t *size)
{
    if (!get_u32(size)) return NULL;
    char *data = malloc((size_t)*size + 1);
    if (!data || fread(data, 1, *size, stdin) != *size) exit(3);
    data[*size] = 0;
    return data;
}

static void send_part(pgy_status st, const buffer *b, const pgy_error *err)
{
    const uint32_t status = (uint32_t)st;
    const uint32_t size = (uint32_t)(st ? strlen(err->text) : b->size);
    fwrite(&status, sizeof status, 1, stdout);
    fwrite(&size, sizeof size, 1, stdout);
    fwrite(st ? err->text : b->data, 1, size, stdout);
}

/* One line per output: onnx type, rank, and the dimensions, tabs between. */
static void describe(buffer *b, const pgy_graph *g)
{
    char line[4096];
    for (size_t i = 0; i < g->output_count; i++) {
        const pgy_value *v = g->outputs[i];
        int size = snprintf(line, sizeof line, "%d\t%d", pgy_dtype_describe(v->dtype)->onnx,
                            v->kind == PGY_VALUE_TENSOR ? v->rank : -2);
        put(b, line, (size_t)size);
        for (int32_t d = 0; d < v->rank; d++) {
            const pgy_dim *dim = &v->dims[d];
            if (dim->value >= 0)
                size = snprintf(line, sizeof line, "\t%lld", (long long)dim->value);
            else
                size = snprintf(line, sizeof line, "\t%.4000s", dim->text ? dim->text : "?");
            put(b, line, (size_t)size);
        }
        put(b, "\n", 1);
    }
}

static void infer(const char *data, size_t size)
{
    pgy_model *model = NULL;
    pgy_graph *graph = NULL;
    pgy_error err = {{0}};
    buffer text = {0};
    const pgy_infer_options options = {.size = sizeof options};
    pgy_status st = size ? pgy_model_parse(&model, data, size, true, NULL, &err) : PGY_OK;
    if (!st && size) st = pgy_graph_import(&graph, model, &err);
    if (!st && size) st = pgy_graph_infer_shapes(graph, &options, &err);
    if (!st && size) describe(&text, graph);
    send_part(st, &text, &err);
    free(text.data);
    pgy_graph_destroy(graph);
    pgy_model_destroy(model);
}

/* Type, rank, dimensions, and the elements, of texts each with its size. */
static void put_tensor(buffer *b, const pgy_tensor *t)
{
    const pgy_dtype dtype = pgy_tensor_dtype(t);
    put_u32(b, (size_t)pgy_dtype_describe(dtype)->onnx);
    put_u32(b, pgy_tensor_rank(t));
    put(b, pgy_tensor_shape(t), pgy_tensor_rank(t) * sizeof(int64_t));
    if (dtype != PGY_STRING) {
        put_u32(b, pgy_tensor_size_bytes(t));
        put(b, pgy_tensor_data(t), pgy_tensor_size_bytes(t));
        return;
    }
    const pgy_string *texts = pgy_tensor_data(t);
    for (size_t i = 0; i < pgy_tensor_count(t); i++) {
        put_u32(b, texts[i].size);
        put(b, texts[i].data, texts[i].size);
    }
}

typedef struct bytes {
    const void *data;
    size_t size;
} bytes;

static pgy_status open_bytes(pgy_backend_model *out, void *user, pgy_error *err)
{
    const bytes *b = user;
    (void)err;
    *out = (pgy_backend_model){.size = sizeof *out, .data = b->data, .data_size = b->size};
    return PGY_OK;
}

static void close_bytes(pgy_backend_model *model, void *user)
{
    (void)model;
    (void)user;
}

static void destroy_bytes(void *user)
{
    (void)user;
}

/* The backend's settings with --opref-precision set. */
static pgy_status create(pgy_runner **out, bytes *model, const char *precision, pgy_error *err)
{
    const pgy_backend *backend = pgy_backend_find("opref");
    pgy_model_source source = {open_bytes, close_bytes, destroy_bytes, model};
    pgy_backend_options *options = NULL;
    pgy_status st = pgy_backend_options_create(&options, backend, err);
    if (!st) st = pgy_backend_options_set(options, "opref_precision", precision, err);
    if (!st) st = pgy_runner_create(out, backend, &source, options, "opref", err);
    pgy_backend_options_destroy(options);
    return st;
}

static void run(bytes model, const pgy_tensor_map *feed, const char *precision)
{
    pgy_runner *r = NULL;
    pgy_tensor_map *got = NULL;
    pgy_error err = {{0}};
    buffer out = {0};
    pgy_status st = create(&r, &model, precision, &err);
    if (!st) st = pgy_runner_activate(r, &err);
    if (!st) st = pgy_runner_infer(&got, r, feed, &err);
    for (size_t i = 0; !st && i < pgy_tensor_map_count(got); i++)
        put_tensor(&out, pgy_tensor_map_at(got, i));
    send_part(st, &out, &err);
    free(out.data);
    pgy_tensor_map_destroy(got);
    pgy_runner_destroy(r);
}

static pgy_tensor_map *get_feed(void)
{
    pgy_tensor_map *feed = NULL;
    pgy_error err = {{0}};
    uint32_t count, size;
    if (!get_u32(&count) || pgy_tensor_map_create(&feed, &err)) exit(3);
    for (uint32_t i = 0; i < count; i++) {
        pgy_tensor *t = NULL;
        char *name = get_blob(&size);
        char *proto = get_blob(&size);
        if (!name || !proto || pgy_tensorproto_parse(&t, NULL, proto, size, &err) ||
            pgy_tensor_map_adopt(feed, name, t, &err)) {
            fprintf(stderr, "op_runner: %s\n", err.text);
            exit(3);
        }
        free(name);
        free(proto);
    }
    return feed;
}

int main(void)
{
    uint32_t size, other_size;
    const struct rlimit memory = {(rlim_t)6 << 30, (rlim_t)6 << 30};
    if (setrlimit(RLIMIT_AS, &memory)) return 3;
    for (char *model; (model = get_blob(&size));) {
        char *other = get_blob(&other_size);
        if (!other) return 3;
        pgy_tensor_map *feed = get_feed();
        alarm(20);
        infer(model, size);
        infer(other, other_size);
        run((bytes){model, size}, feed, "float64");
        run((bytes){model, size}, feed, "model");
        alarm(0);
        fflush(stdout);
        pgy_tensor_map_destroy(feed);
        free(model);
        free(other);
    }
    return 0;
}
