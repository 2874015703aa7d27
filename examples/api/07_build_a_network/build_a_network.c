/* SPDX-License-Identifier: Apache-2.0 */
/* All steps of the engine: the logger, a network built by hand (identity of a tensor with three
 * dynamic dimensions), a profile, a plan that is built, or read if it exists, an engine, a context,
 * shapes and buffers. It runs synchronously and on a stream.
 *
 *     build_a_network identity.onnx identity.plan
 */
#include <stdio.h>
#include <string.h>

#include <polygraphy/polygraphy.h>

/* The logger has TensorRT's five levels under other names; a custom sink decides what happens to a
 * message. */
static void log_line(pgy_severity severity, const char *text, size_t size_bytes, void *user)
{
    const char *level = severity >= PGY_LOG_CRITICAL  ? "INTERNAL_ERROR"
                        : severity >= PGY_LOG_ERROR   ? "ERROR"
                        : severity >= PGY_LOG_WARNING ? "WARNING"
                        : severity >= PGY_LOG_INFO    ? "INFO"
                                                      : "VERBOSE";
    (void)user;
    printf("[TRT] [%s] %.*s", level, (int)size_bytes, text);
}

static pgy_status make_network(pgy_network **out, pgy_error *err)
{
    static const int64_t DIMS[] = {-1, -1, -1};
    pgy_value *input = NULL;
    pgy_layer *identity = NULL;
    pgy_status st = pgy_network_create(out, "identity", err);
    if (!st) st = pgy_network_add_input(&input, *out, "inputT0", PGY_F32, 3, DIMS, err);
    if (!st) st = pgy_network_add_identity(&identity, *out, input, err);
    if (!st) st = pgy_layer_set_name(identity, "copy", err);
    if (!st) st = pgy_network_rename_tensor(*out, identity->outputs[0], "outputT0", err);
    if (!st) st = pgy_network_mark_output(*out, identity->outputs[0], err);
    return st;
}

static void print_tensor(const char *what, const pgy_value *v)
{
    printf("      %s %s %s [", what, v->name, pgy_dtype_name(v->dtype));
    for (int32_t i = 0; i < v->rank; i++) printf("%s%lld", i ? ", " : "", (long long)v->dims[i].value);
    puts("]");
}

/* Prints all layers and tensors of a network: type, name, shape, precision. */
static void print_network(const pgy_network *net)
{
    printf("network %s: %zu layers, %zu tensors\n", pgy_network_name(net), pgy_network_layer_count(net), pgy_network_tensor_count(net));
    for (size_t i = 0; i < pgy_network_layer_count(net); i++) {
        const pgy_layer *layer = pgy_network_layer_at(net, i);
        printf("  %2zu %s %s, computes in %s\n", i, pgy_layer_type_name(layer->type), layer->name, pgy_dtype_name(layer->precision));
        for (size_t k = 0; k < layer->input_count; k++) print_tensor("in ", layer->inputs[k]);
        for (size_t k = 0; k < layer->output_count; k++) print_tensor("out", layer->outputs[k]);
    }
}

static pgy_status build(pgy_engine **out, const char *model_path, const char *plan_path, pgy_error *err)
{
    static const int64_t MIN[] = {1, 1, 1}, OPT[] = {3, 4, 5}, MAX[] = {6, 8, 10};
    const pgy_profile_range range = {.name = "inputT0", .count = 3, .min = MIN, .opt = OPT, .max = MAX};
    const pgy_profile profile = {.ranges = &range, .range_count = 1};
    const pgy_build_config config = {.size = sizeof config, .profiles = &profile, .profile_count = 1, .has_workspace_limit = true, .workspace_bytes = 1 << 30};
    pgy_network *net = NULL;
    pgy_model *model = NULL;
    pgy_status st = make_network(&net, err);
    if (!st) print_network(net);
    if (!st) st = pgy_network_to_model(&model, net, err);
    if (!st) st = pgy_model_save(model, model_path, NULL, err);
    if (!st) st = pgy_engine_build(out, model, &config, err);
    if (!st) st = pgy_engine_save(*out, plan_path, err);
    pgy_model_destroy(model);
    pgy_network_destroy(net);
    return st;
}

/* Runs the context with one shape: sets shape and addresses, and executes. With stream NULL the run
 * is synchronous. */
static pgy_status run(bool *right, pgy_context *context, pgy_stream *stream, const int64_t *shape, pgy_error *err)
{
    float input[6 * 8 * 10], output[6 * 8 * 10];
    const size_t count = (size_t)(shape[0] * shape[1] * shape[2]), bytes = count * sizeof(float);
    pgy_ticket ticket = 0;
    for (size_t i = 0; i < count; i++) {
        input[i] = (float)i;
        output[i] = -1;
    }
    pgy_status st = pgy_context_set_input_shape(context, "inputT0", 3, shape, err);
    if (!st) st = pgy_context_set_input(context, "inputT0", input, bytes, err);
    if (!st) st = pgy_context_set_output(context, "outputT0", output, bytes, err);
    if (!st && !stream) st = pgy_context_execute(context, err);
    if (!st && stream) st = pgy_context_enqueue(context, stream, &ticket, err);
    /* The caller could do other work here; the ticket tells when the run is finished. */
    if (!st && stream) st = pgy_stream_wait(stream, ticket, err);
    *right = !st && memcmp(input, output, bytes) == 0;
    printf("%s at [%lld, %lld, %lld]: %s\n", stream ? "on a stream" : "at once", (long long)shape[0], (long long)shape[1], (long long)shape[2],
           *right ? "equal" : "not equal");
    return st;
}

int main(int argc, char **argv)
{
    static const int64_t OPT[] = {3, 4, 5}, MAX[] = {6, 8, 10}, BEYOND[] = {7, 8, 10};
    if (argc != 3) {
        fprintf(stderr, "usage: %s identity.onnx identity.plan\n", argv[0]);
        return 2;
    }
    pgy_error err = {0}, refusal = {0};
    pgy_engine *engine = NULL;
    pgy_context *context = NULL;
    pgy_stream *stream = NULL;
    bool at_once = false, on_stream = false, refused = false;
    pgy_log_set_sink(log_line, NULL);
    pgy_status st = pgy_plan_is_plan(argv[2]) ? pgy_engine_open(&engine, argv[2], &err) : build(&engine, argv[1], argv[2], &err);
    if (!st) st = pgy_context_create(&context, engine, NULL, &err);
    if (!st) st = pgy_stream_create(&stream, &err);
    if (!st) st = run(&at_once, context, NULL, OPT, &err);
    if (!st) st = run(&on_stream, context, stream, MAX, &err);
    if (!st) refused = pgy_context_set_input_shape(context, "inputT0", 3, BEYOND, &refusal) != PGY_OK;
    if (refused) printf("as it should be: %s\n", refusal.text);
    if (st) fprintf(stderr, "error: %s\n", err.text);
    pgy_stream_destroy(stream);
    pgy_context_destroy(context);
    pgy_engine_release(engine);
    return st || !at_once || !on_stream || !refused;
}
