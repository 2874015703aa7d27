/* SPDX-License-Identifier: Apache-2.0 */
/* Weights beside the model: reading them, moving them, and what a model file may not make us read.
 */
#include "onnx_test.h"

#include <sys/stat.h>

/* ---- Reading -------------------------------------------------------------------------------- */

static void assert_weights(pgy_model *m, const char *name, size_t count, float first, float last)
{
    pgy_tensor *t = NULL;
    OK(pgy_onnx_tensor_load(&t, m, initializer(m, name), &test_err));
    const float *v = pgy_tensor_data(t);
    assert_int_equal(pgy_tensor_count(t), count);
    assert_true(v[0] == first && v[count - 1] == last);
    pgy_tensor_release(t);
}

static void test_external__read(void **state)
{
    (void)state;
    pgy_model *m = load("external.onnx");
    assert_true(pgy_model_has_external_data(m));
    assert_weights(m, "w", 600, 0, 599);
    assert_weights(m, "b", 30, 1, 1);
    pgy_model_destroy(m);
}

static void test_external__size_counts_what_is_outside(void **state)
{
    (void)state;
    void *memory = NULL;
    size_t size = 0;
    pgy_model *m = load("external.onnx");
    OK(pgy_model_serialize(&memory, &size, m, &test_err));
    assert_true(size > 2520);
    assert_int_equal(pgy_model_size_bytes(m), size);
    pgy_text_free(memory);
    pgy_model_destroy(m);
}

/* A folder beside another one, and a model in it whose tensor "w" of 4 bytes (uint8) has these
 * external entries. */
static pgy_status read_entries(const char *const *entries, const pgy_model_load_options *options,
                               pgy_tensor **out)
{
    str t = {0};
    pgy_model *m = NULL;
    put_int(&t, 1, 4);
    put_int(&t, 2, 2);
    put_text(&t, 8, "w");
    put_int(&t, 14, 1);
    for (size_t i = 0; entries[i]; i += 2) {
        str entry = {0};
        put_text(&entry, 1, entries[i]);
        put_text(&entry, 2, entries[i + 1]);
        put_message(&t, 13, &entry);
    }
    str bytes = model_of_tensor(&t);
    OK(file_write_all(scratch("in/net.onnx"), bytes.data, bytes.size, &test_err));
    OK(file_write_all(scratch("in/w.bin"), "..ABCDEFGH", 10, &test_err));
    OK(file_write_all(scratch("secret"), "hidden", 6, &test_err));
    OK(pgy_model_load(&m, scratch("in/net.onnx"), options, &test_err));
    str_deinit(&bytes);
    const pgy_status st = pgy_onnx_tensor_load(out, m, initializer(m, "w"), &test_err);
    pgy_model_destroy(m);
    return st;
}

typedef struct entry_case {
    const char *entries[9];
    const char *found; /* the elements, or NULL for a failure */
    pgy_status status;
    const char *message; /* part of the failure */
} entry_case;

static void test_external__entries(void **state)
{
    (void)state;
    static const entry_case CASES[] = {
        {{"location", "w.bin", "offset", "2", "length", "4"}, "ABCD"},
        {{"location", "w.bin", "length", "4"}, "..AB"},
        {{"location", "./w.bin", "offset", "6"}, "EFGH"},
        {{"location", "../in/w.bin"},
         NULL,
         PGY_E_FORMAT,
         "tensor 'w': external data '../in/w.bin' leaves its folder"},
        {{"checksum", "0123", "location", "w.bin", "offset", "5"}, "DEFG"},
        {{"location", "w.bin", "offset", "7"},
         NULL,
         PGY_E_FORMAT,
         "the model needs bytes 7 to 11, but the file has 10"},
        {{"location", "w.bin", "offset", "9223372036854775807"},
         NULL,
         PGY_E_FORMAT,
         "but the file has 10"},
        {{"location", "w.bin", "offset", "9223372036854775808"},
         NULL,
         PGY_E_FORMAT,
         "'offset' must be a number"},
        {{"location", "w.bin", "offset", "-1"},
         NULL,
         PGY_E_FORMAT,
         "'offset' must be a number of bytes, not '-1'"},
        {{"location", "w.bin", "offset", "1x"},
         NULL,
         PGY_E_FORMAT,
         "'offset' must be a number of bytes, not '1x'"},
        {{"location", "w.bin", "length", ""},
         NULL,
         PGY_E_FORMAT,
         "'length' must be a number of bytes, not ''"},
        {{"location", "w.bin", "length", "5"},
         NULL,
         PGY_E_FORMAT,
         "the model says 5 bytes, but the shape needs 4"},
        {{"offset", "0"},
         NULL,
         PGY_E_FORMAT,
         "tensor 'w': external data has no location (the name of its file)"},
        {{"location", ""}, NULL, PGY_E_FORMAT, "external data has no location"},
        {{"location", "absent.bin"}, NULL, PGY_E_NOT_FOUND, "absent.bin"},
        {{"location", "w.bin/x"}, NULL, PGY_E_NOT_FOUND, "w.bin/x"},
        {{"location", "."}, NULL, PGY_E_IO, "not a regular file"},
        {{"location", "/etc/passwd"},
         NULL,
         PGY_E_FORMAT,
         "external data '/etc/passwd' is an absolute path"},
        {{"location", "../secret"}, NULL, PGY_E_FORMAT, "load.allow_outside"},
        {{"location", "x/../../secret"}, NULL, PGY_E_FORMAT, "leaves its folder by '..'"},
        {{"location", ".."}, NULL, PGY_E_FORMAT, "leaves its folder by '..'"},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        pgy_tensor *t = NULL;
        const pgy_status st = read_entries(CASES[i].entries, NULL, &t);
        if (CASES[i].found) {
            check_ok(st, CASES[i].found, __LINE__);
            assert_memory_equal(pgy_tensor_data(t), CASES[i].found, 4);
        } else {
            FAILS(st, CASES[i].status, CASES[i].message);
        }
        pgy_tensor_release(t);
    }
    scratch_remove();
}

static void test_external__links(void **state)
{
    (void)state;
    pgy_tensor *t = NULL;
    static const char *const ENTRIES[] = {"location", "link", NULL};
    const pgy_model_load_options outside = {.size = sizeof(outside), .allow_outside = true};
    OK(file_write_all(scratch("in/w.bin"), "", 0, &test_err));
    assert_int_equal(symlink("../secret", scratch("in/link")), 0);
    FAILS(read_entries(ENTRIES, NULL, &t), PGY_E_FORMAT, "is a link that leaves the folder");
    OK(read_entries(ENTRIES, &outside, &t));
    assert_memory_equal(pgy_tensor_data(t), "hidd", 4);
    pgy_tensor_release(t);
    unlink(scratch("in/link"));
    assert_int_equal(symlink("w.bin", scratch("in/link")), 0); /* inside is fine */
    OK(read_entries(ENTRIES, NULL, &t));
    pgy_tensor_release(t);
    scratch_remove();
}

static void test_external__outside_if_allowed(void **state)
{
    (void)state;
    pgy_tensor *t = NULL;
    static const char *const ENTRIES[] = {"location", "../secret", "offset", "1", NULL};
    const pgy_model_load_options outside = {.size = sizeof(outside), .allow_outside = true};
    OK(read_entries(ENTRIES, &outside, &t));
    assert_memory_equal(pgy_tensor_data(t), "idde", 4);
    pgy_tensor_release(t);
    scratch_remove();
}

static void test_external__ignored(void **state)
{
    (void)state;
    pgy_tensor *t = NULL;
    static const char *const ENTRIES[] = {"location", "w.bin", NULL};
    const pgy_model_load_options ignore = {.size = sizeof(ignore), .ignore_external_data = true};
    FAILS(read_entries(ENTRIES, &ignore, &t), PGY_E_NOT_FOUND,
          "tensor 'w': its data is in 'w.bin', but");
    scratch_remove();
}

static void test_external__from_memory(void **state)
{
    (void)state;
    str bytes = contents(DATA_PATH "external.onnx");
    pgy_model *m = NULL;
    pgy_tensor *t = NULL;
    const pgy_model_load_options options = {.size = sizeof(options),
                                            .external_data_dir = DATA_PATH};
    OK(pgy_model_parse(&m, bytes.data, bytes.size, false, NULL, &test_err));
    FAILS(pgy_onnx_tensor_load(&t, m, initializer(m, "w"), &test_err), PGY_E_NOT_FOUND,
          "set external_data_dir");
    pgy_model_destroy(m);
    OK(pgy_model_parse(&m, bytes.data, bytes.size, false, &options, &test_err));
    assert_weights(m, "w", 600, 0, 599);
    pgy_model_destroy(m);
    str_deinit(&bytes);
}

/* ---- Saving --------------------------------------------------------------------------------- */

static const char *location_of(const pgy_onnx_tensor *t, const char *key)
{
    for (size_t i = 0; i < t->external_data_count; i++)
        if (strcmp(t->external_data[i]->key, key) == 0) return t->external_data[i]->value;
    return "";
}

static pgy_model *save_and_load(pgy_model *m, const char *path,
                                const pgy_model_save_options *options)
{
    pgy_model *again = NULL;
    OK(pgy_model_save(m, path, options, &test_err));
    OK(pgy_model_load(&again, path, NULL, &test_err));
    return again;
}

static void test_external__embedded_in_another_folder(void **state)
{
    (void)state;
    pgy_model *m = load("external.onnx");
    pgy_model *again = save_and_load(m, scratch("net.onnx"), NULL);
    assert_false(pgy_model_has_external_data(again));
    assert_weights(again, "w", 600, 0, 599);
    assert_int_equal(initializer(again, "w")->external_data_count, 0);
    pgy_model_destroy(again);
    pgy_model_destroy(m);
    scratch_remove();
}

/* A copy of external.onnx in the scratch folder. */
static pgy_model *copied(void)
{
    pgy_model *m = NULL;
    str model = contents(DATA_PATH "external.onnx"), data = contents(DATA_PATH "external.bin");
    OK(file_write_all(scratch("net.onnx"), model.data, model.size, &test_err));
    OK(file_write_all(scratch("external.bin"), data.data, data.size, &test_err));
    str_deinit(&model);
    str_deinit(&data);
    OK(pgy_model_load(&m, scratch("net.onnx"), NULL, &test_err));
    return m;
}

static void test_external__stays_in_the_same_folder(void **state)
{
    (void)state;
    pgy_model *m = copied();
    OK(pgy_model_save(m, scratch("other.onnx"), NULL, &test_err));
    assert_same_file(scratch("other.onnx"), DATA_PATH "external.onnx");
    pgy_model_destroy(m);
    scratch_remove();
}

static void test_external__embedded_in_the_same_folder(void **state)
{
    (void)state;
    pgy_model *m = copied(), *again = NULL;
    pgy_model_save_options o = pgy_model_save_options_default();
    o.embed = true;
    OK(pgy_model_save(m, scratch("net.onnx"), &o, &test_err)); /* over itself */
    pgy_model_destroy(m);
    OK(pgy_model_load(&again, scratch("net.onnx"), NULL, &test_err));
    assert_false(pgy_model_has_external_data(again));
    pgy_model_destroy(again);
    scratch_remove();
}

static void test_external__ignored_data_are_not_touched(void **state)
{
    (void)state;
    pgy_model *m = NULL;
    const pgy_model_load_options ignore = {.size = sizeof(ignore), .ignore_external_data = true};
    OK(pgy_model_load(&m, DATA_PATH "external.onnx", &ignore, &test_err));
    OK(pgy_model_save(m, scratch("net.onnx"), NULL, &test_err));
    assert_same_file(scratch("net.onnx"), DATA_PATH "external.onnx");
    pgy_model_save_options o = pgy_model_save_options_default();
    o.external_data = true;
    o.external_data_path = "external.bin";
    FAILS(pgy_model_save(m, scratch("net.onnx"), &o, &test_err), PGY_E_ARGUMENT, "external.bin");
    pgy_model_destroy(m);
    scratch_remove();
}

static void test_external__moved_out(void **state)
{
    (void)state;
    pgy_model *m = load("external.onnx");
    pgy_model_save_options o = pgy_model_save_options_default();
    assert_int_equal(o.size_threshold, 1024);
    o.external_data = true;
    pgy_model *again = save_and_load(m, scratch("net.onnx"), &o);
    assert_string_equal(location_of(initializer(again, "w"), "location"), "net.onnx.data");
    assert_string_equal(location_of(initializer(again, "w"), "length"), "2400");
    assert_int_equal(initializer(again, "b")->external_data_count, 0); /* 120 bytes stay inside */
    assert_weights(again, "w", 600, 0, 599);
    assert_weights(again, "b", 30, 1, 1);
    assert_int_equal(pgy_model_size_bytes(again), pgy_model_size_bytes(m));
    pgy_model_destroy(again);
    pgy_model_destroy(m);
    scratch_remove();
}

static void count_warnings(pgy_severity severity, const char *text, size_t size, void *user)
{
    (void)size;
    if (severity == PGY_LOG_WARNING && strstr(text, "is a link to")) ++*(int *)user;
}

/* Readers look beside the path they are given: ours, ONNX's and ONNX Runtime. */
static void test_external__moved_out_through_a_link(void **state)
{
    (void)state;
    int warnings = 0;
    pgy_model *m = load("external.onnx"), *again = NULL;
    pgy_model_save_options o = pgy_model_save_options_default();
    o.external_data = true;
    OK(file_write_all(scratch("there/net.onnx"), "", 0, &test_err));
    OK(file_write_all(scratch("here/other.onnx"), "", 0, &test_err));
    assert_int_equal(symlink("../there/net.onnx", scratch("here/net.onnx")), 0);
    assert_int_equal(symlink("other.onnx", scratch("here/beside.onnx")), 0);
    pgy_log_set_sink(count_warnings, &warnings);
    again = save_and_load(m, scratch("here/beside.onnx"), &o);
    assert_weights(again, "w", 600, 0, 599);
    pgy_model_destroy(again);
    OK(pgy_model_save(m, scratch("here/net.onnx"), NULL, &test_err)); /* all in one file */
    assert_int_equal(warnings, 0);
    again = save_and_load(m, scratch("here/net.onnx"), &o);
    assert_weights(again, "w", 600, 0, 599);
    assert_int_equal(warnings, 1);
    OK(pgy_model_save(again, scratch("here/net.onnx"), NULL, &test_err)); /* they stay outside */
    assert_int_equal(warnings, 2);
    pgy_log_set_sink(NULL, NULL);
    assert_int_equal(access(scratch("here/net.onnx.data"), R_OK), 0);
    assert_int_not_equal(access(scratch("there/net.onnx.data"), R_OK), 0);
    pgy_model_destroy(again);
    pgy_model_destroy(m);
    scratch_remove();
}

static void test_external__moved_tensors_are_aligned(void **state)
{
    (void)state;
    str graph = {0};
    enum { BIG = 1 << 20, SMALL = 10 };
    char *data = mem_calloc(1, BIG);
    for (int i = 0; i < 3; i++) {
        str t = {0};
        const char name[2] = {(char)('a' + i), 0};
        put_int(&t, 1, i == 1 ? BIG : SMALL);
        put_int(&t, 2, 2);
        put_text(&t, 8, name);
        data[0] = (char)('A' + i);
        put_block(&t, 9, data, i == 1 ? BIG : SMALL);
        put_message(&graph, 5, &t);
    }
    str bytes = model_of(&graph);
    pgy_model *m = parse(&bytes);
    pgy_model_save_options o = pgy_model_save_options_default();
    o.external_data = true;
    o.size_threshold = 1;
    pgy_model *again = save_and_load(m, scratch("net.onnx"), &o);
    assert_string_equal(location_of(initializer(again, "a"), "offset"), "0");
    assert_string_equal(location_of(initializer(again, "b"), "offset"), "4096");
    assert_string_equal(location_of(initializer(again, "c"), "offset"), "1052672");
    for (int i = 0; i < 3; i++) {
        pgy_tensor *t = NULL;
        const char name[2] = {(char)('a' + i), 0};
        OK(pgy_onnx_tensor_load(&t, again, initializer(again, name), &test_err));
        assert_int_equal(*(char *)pgy_tensor_data(t), 'A' + i);
        pgy_tensor_release(t);
    }
    pgy_model_destroy(again);
    pgy_model_destroy(m);
    mem_free(data);
    scratch_remove();
}

/* Typed lists become raw bytes outside; strings cannot leave. */
static void test_external__every_element_type_moves(void **state)
{
    (void)state;
    pgy_model *m = load("every_element_type.onnx");
    pgy_model_save_options o = pgy_model_save_options_default();
    o.external_data = true;
    o.size_threshold = 0;
    pgy_model *again = save_and_load(m, scratch("net.onnx"), &o);
    const pgy_onnx_graph *g = pgy_model_proto(m)->graph;
    for (size_t i = 0; i < g->initializer_count; i++) {
        pgy_tensor *a = NULL, *b = NULL;
        const pgy_onnx_tensor *t = initializer(again, g->initializers[i]->name);
        assert_int_equal(t->data_location, t->data_type == 8 ? 0 : 1);
        OK(pgy_onnx_tensor_load(&a, m, g->initializers[i], &test_err));
        OK(pgy_onnx_tensor_load(&b, again, t, &test_err));
        assert_int_equal(pgy_tensor_size_bytes(a), pgy_tensor_size_bytes(b));
        if (t->data_type != 8)
            assert_memory_equal(pgy_tensor_data(a), pgy_tensor_data(b), pgy_tensor_size_bytes(a));
        pgy_tensor_release(a);
        pgy_tensor_release(b);
    }
    pgy_model_destroy(again);
    pgy_model_destroy(m);
    scratch_remove();
}

static void test_external__initializers_of_subgraphs_move_and_attributes_stay(void **state)
{
    (void)state;
    pgy_model_save_options o = pgy_model_save_options_default();
    o.external_data = true;
    o.size_threshold = 1;
    pgy_model *loops = load("subgraph_if_loop.onnx"), *attributes = load("attributes.onnx");
    pgy_model *again = save_and_load(loops, scratch("loops.onnx"), &o);
    const pgy_onnx_graph *then = pgy_model_proto(again)->graph->nodes[0]->attributes[1]->g;
    if (!then->initializer_count) then = pgy_model_proto(again)->graph->nodes[0]->attributes[0]->g;
    assert_int_equal(then->initializers[0]->data_location, 1);
    pgy_model_destroy(again);
    OK(pgy_model_save(attributes, scratch("attributes.onnx"), &o, &test_err));
    assert_same_file(scratch("attributes.onnx"), DATA_PATH "attributes.onnx");
    assert_false(file_exists(scratch("attributes.onnx.data")));
    pgy_model_destroy(loops);
    pgy_model_destroy(attributes);
    scratch_remove();
}

/* Neighbours are copied together, if they will be neighbours: bytes follow each other, lie apart,
 * overlap, come in another order, from another file, and are small or large. */
static void test_external__neighbours_move_together(void **state)
{
    (void)state;
    enum { K = 1024, FILE_SIZE = 3 << 20 };
    static const struct {
        int file;
        uint32_t offset, size;
    } PLACES[] = {{0, 0, 70 * K},
                  {0, 70 * K, 100},
                  {0, 70 * K + 100, 80 * K},
                  {0, 160 * K, 66 * K},
                  {0, 66 * K, 66 * K},
                  {1, 132 * K, 66 * K},
                  {0, 198 * K, 66 * K},
                  {0, 264 * K, 66 * K},
                  {0, 1 << 20, 1 << 20},
                  {0, 2 << 20, 1 << 20},
                  {1, 0, 10},
                  {1, 10, 90 * K},
                  {1, 90 * K + 10, 1 << 20},
                  {1, 0, 64 * K},
                  {1, 64 * K, 64 * K}};
    static const char *const FILES[] = {"one.bin", "two.bin"};
    enum { COUNT = sizeof PLACES / sizeof *PLACES };
    uint8_t *data[2];
    str graph = {0};
    for (int i = 0; i < 2; i++) {
        data[i] = mem_alloc(FILE_SIZE);
        for (uint32_t k = 0; k < FILE_SIZE; k++)
            data[i][k] = (uint8_t)(k * 2654435761u >> 24 ^ (uint32_t)i);
        OK(file_write_all(scratch(FILES[i]), data[i], FILE_SIZE, &test_err));
    }
    for (int i = 0; i < COUNT; i++) {
        str t = {0}, name = {0}, offset = {0}, size = {0};
        str_printf(&name, "t%d", i);
        str_printf(&offset, "%u", PLACES[i].offset);
        str_printf(&size, "%u", PLACES[i].size);
        const char *const entries[][2] = {
            {"location", FILES[PLACES[i].file]}, {"offset", offset.data}, {"length", size.data}};
        put_int(&t, 1, PLACES[i].size);
        put_int(&t, 2, 2);
        put_text(&t, 8, name.data);
        for (int k = 0; k < 3; k++) {
            str entry = {0};
            put_text(&entry, 1, entries[k][0]);
            put_text(&entry, 2, entries[k][1]);
            put_message(&t, 13, &entry);
        }
        put_int(&t, 14, 1);
        put_message(&graph, 5, &t);
        str_deinit(&name);
        str_deinit(&offset);
        str_deinit(&size);
    }
    str bytes = model_of(&graph);
    pgy_model *m = NULL;
    OK(file_write_all(scratch("net.onnx"), bytes.data, bytes.size, &test_err));
    OK(pgy_model_load(&m, scratch("net.onnx"), NULL, &test_err));
    pgy_model_save_options o = pgy_model_save_options_default();
    o.external_data = true;
    o.size_threshold = 1;
    pgy_model *again = save_and_load(m, scratch("new.onnx"), &o);
    for (size_t i = 0; i < COUNT; i++) {
        pgy_tensor *t = NULL;
        OK(pgy_onnx_tensor_load(&t, again, pgy_model_proto(again)->graph->initializers[i],
                                &test_err));
        assert_int_equal(pgy_tensor_size_bytes(t), PLACES[i].size);
        assert_memory_equal(pgy_tensor_data(t), data[PLACES[i].file] + PLACES[i].offset,
                            PLACES[i].size);
        pgy_tensor_release(t);
    }
    pgy_model_destroy(again);
    pgy_model_destroy(m);
    str_deinit(&bytes);
    for (int i = 0; i < 2; i++) mem_free(data[i]);
    scratch_remove();
}

/* Three tensors whose names become the same file name. */
static void test_external__one_file_per_tensor(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"fc/w", "fc_w", "../up"};
    static const char *const FILES[] = {"net.onnx.fc_w", "net.onnx.fc_w_2", "net.onnx..._up"};
    str graph = {0};
    for (int i = 0; i < 3; i++) {
        str t = {0};
        put_int(&t, 1, 2);
        put_int(&t, 2, 2);
        put_text(&t, 8, NAMES[i]);
        put_block(&t, 9, "12", 2);
        put_message(&graph, 5, &t);
    }
    str bytes = model_of(&graph);
    pgy_model *m = parse(&bytes);
    pgy_model_save_options o = pgy_model_save_options_default();
    o.external_data = true;
    o.one_file_per_tensor = true;
    o.size_threshold = 1;
    pgy_model *again = save_and_load(m, scratch("net.onnx"), &o);
    for (int i = 0; i < 3; i++) {
        uint64_t size = 0;
        assert_string_equal(location_of(initializer(again, NAMES[i]), "location"), FILES[i]);
        OK(file_size(&size, scratch(FILES[i]), &test_err));
        assert_int_equal(size, 2);
    }
    pgy_model_destroy(again);
    pgy_model_destroy(m);
    scratch_remove();
}

static void test_external__many_files(void **state)
{
    (void)state;
    enum { COUNT = 600 }; /* more than are kept open */
    str graph = {0};
    for (int i = 0; i < COUNT; i++) {
        str t = {0}, name = {0};
        const uint8_t byte = (uint8_t)i;
        str_printf(&name, "t%d", i);
        put_int(&t, 1, 1);
        put_int(&t, 2, 2);
        put_text(&t, 8, name.data);
        put_block(&t, 9, &byte, 1);
        put_message(&graph, 5, &t);
        str_deinit(&name);
    }
    str bytes = model_of(&graph);
    pgy_model *m = parse(&bytes);
    pgy_model_save_options o = pgy_model_save_options_default();
    o.external_data = true;
    o.one_file_per_tensor = true;
    o.size_threshold = 1;
    pgy_model *first = save_and_load(m, scratch("net.onnx"), &o);
    pgy_model *second = save_and_load(first, scratch("net.onnx"), &o); /* over its own files */
    for (size_t i = 0; i < COUNT; i++) {
        pgy_tensor *t = NULL;
        OK(pgy_onnx_tensor_load(&t, second, pgy_model_proto(second)->graph->initializers[i],
                                &test_err));
        assert_int_equal(*(uint8_t *)pgy_tensor_data(t), (uint8_t)i);
        pgy_tensor_release(t);
    }
    pgy_model_destroy(second);
    pgy_model_destroy(first);
    pgy_model_destroy(m);
    scratch_remove();
}

/* The data file that the model reads from is replaced by one of another layout. */
static void test_external__over_its_own_files(void **state)
{
    (void)state;
    pgy_model *m = copied();
    pgy_model_save_options o = pgy_model_save_options_default();
    o.external_data = true;
    o.external_data_path = "external.bin";
    pgy_model *again = save_and_load(m, scratch("net.onnx"), &o);
    assert_weights(again, "w", 600, 0, 599);
    assert_weights(again, "b", 30, 1, 1);
    assert_weights(m, "b", 30, 1, 1); /* the old one still reads its old bytes */
    pgy_model_destroy(again);
    pgy_model_destroy(m);
    scratch_remove();
}

static void test_external__failure_leaves_old_files(void **state)
{
    (void)state;
    pgy_model *m = copied();
    pgy_model_save_options o = pgy_model_save_options_default();
    o.external_data = true;
    o.external_data_path = "external.bin";
    assert_int_equal(mkdir(scratch("folder.onnx"), 0777), 0);
    assert_int_not_equal(pgy_model_save(m, scratch("folder.onnx"), &o, &test_err), PGY_OK);
    assert_same_file(scratch("external.bin"), DATA_PATH "external.bin");
    pgy_model_destroy(m);
    scratch_remove();
}

static void test_external__names_of_data_files(void **state)
{
    (void)state;
    static const char *const BAD[] = {"/abs.bin", "../up.bin", "a/../../b",
                                      "dir/",     "..",        "net.onnx"};
    pgy_model *m = load("external.onnx");
    pgy_model_save_options o = pgy_model_save_options_default();
    o.external_data = true;
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
        o.external_data_path = BAD[i];
        FAILS(pgy_model_save(m, scratch("net.onnx"), &o, &test_err), PGY_E_ARGUMENT, BAD[i]);
        assert_false(file_exists(scratch("net.onnx")));
    }
    o.external_data_path = "weights/w.bin";
    pgy_model *again = save_and_load(m, scratch("net.onnx"), &o);
    assert_weights(again, "w", 600, 0, 599);
    pgy_model_destroy(again);
    pgy_model_destroy(m);
    scratch_remove();
}

/* A model built from messages of one that was loaded finds that one's files. */
static void test_external__through_a_built_model(void **state)
{
    (void)state;
    pgy_model *source = load("external.onnx"), *m = NULL;
    OK(pgy_model_create(&m, &test_err));
    OK(pgy_model_keep(m, source, &test_err));
    pgy_onnx_model *p = pgy_model_alloc(m, 1, sizeof(*p));
    *p = *pgy_model_proto(source);
    p->message.raw = (pgy_bytes){NULL, 0};
    p->doc_string = "changed";
    pgy_model_set_proto(m, p);
    pgy_model_destroy(source);
    assert_weights(m, "w", 600, 0, 599);
    pgy_model *again = save_and_load(m, scratch("net.onnx"), NULL);
    assert_false(pgy_model_has_external_data(again));
    assert_weights(again, "w", 600, 0, 599);
    pgy_model_destroy(again);
    pgy_model_destroy(m);
    scratch_remove();
}
