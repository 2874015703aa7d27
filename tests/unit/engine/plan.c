/* SPDX-License-Identifier: Apache-2.0 */
/* Plans go to a file and come back; what is damaged, foreign or newer is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "engine/context.h"
#include "engine/plan.h"
#include "engine/plan_format.h"
#include "harness/model_builder.h"

/* A product with packed weights, a view, an operator by its reference, a branch. */
static pgy_model *small_model(const char *shape)
{
    static const int64_t flat[2] = {-1, 6};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, shape);
    builder_floats(&b, "w", "6, 4", NULL);
    builder_ints(&b, "shape", "2", flat);
    builder_node(&b, "Reshape", "x shape", "r");
    builder_node(&b, "MatMul", "r w", "m");
    builder_node(&b, "Asinh", "m", "a");
    builder_node(&b, "Add", "m a", "s");
    builder_output(&b, "s", PGY_F32, NULL);
    builder_output(&b, "r", PGY_F32, NULL);
    return builder_finish_bytes(&b);
}

static pgy_tensor_map *feed_of(int64_t n)
{
    pgy_tensor_map *feed = NULL;
    pgy_tensor *t = NULL;
    const int64_t shape[3] = {n, 2, 3};
    assert_int_equal(pgy_tensor_map_create(&feed, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_create(&t, PGY_F32, 3, shape, NULL), PGY_OK);
    for (size_t i = 0; i < pgy_tensor_count(t); i++)
        ((float *)pgy_tensor_data(t))[i] = (float)(i % 11) - 5;
    assert_int_equal(pgy_tensor_map_adopt(feed, "x", t, NULL), PGY_OK);
    return feed;
}

static pgy_tensor_map *run(context *s, int64_t n)
{
    pgy_tensor_map *feed = feed_of(n), *out = NULL;
    pgy_error err = {0};
    assert_int_equal(pgy_tensor_map_create(&out, NULL), PGY_OK);
    if (context_run(s, feed, out, NULL, &err)) fail_msg("%s", err.text);
    pgy_tensor_map_destroy(feed);
    return out;
}

static void expect_same(pgy_tensor_map *a, pgy_tensor_map *b)
{
    assert_int_equal(pgy_tensor_map_count(a), pgy_tensor_map_count(b));
    for (size_t i = 0; i < pgy_tensor_map_count(a); i++) {
        const pgy_tensor *x = pgy_tensor_map_at(a, i), *y = pgy_tensor_map_at(b, i);
        assert_string_equal(pgy_tensor_map_name(a, i), pgy_tensor_map_name(b, i));
        assert_true(pgy_view_same_shape(pgy_tensor_view(x), pgy_tensor_view(y)));
        assert_memory_equal(pgy_tensor_data(x), pgy_tensor_data(y), pgy_tensor_size_bytes(x));
    }
    pgy_tensor_map_destroy(a);
    pgy_tensor_map_destroy(b);
}

/* A context of its own engine. */
static context *context_of(engine *e)
{
    context *c = NULL;
    pgy_error err = {0};
    if (context_create(&c, e, 2, &err)) fail_msg("%s", err.text);
    engine_release(e);
    return c;
}

static context *create(pgy_model *model)
{
    engine *e = NULL;
    pgy_error err = {0};
    if (engine_build(&e, model, NULL, &err)) fail_msg("%s", err.text);
    return context_of(e);
}

static context *open(const char *path)
{
    engine *e = NULL;
    pgy_error err = {0};
    if (engine_open(&e, path, &err)) fail_msg("%s", err.text);
    return context_of(e);
}

/* Built for n rows of x; from `low` to `high` are allowed. */
static char *save_range(pgy_model *model, int64_t low, int64_t n, int64_t high)
{
    const int64_t min[3] = {low, 2, 3}, opt[3] = {n, 2, 3}, max[3] = {high, 2, 3};
    const pgy_profile_range x = {.name = "x", .count = 3, .min = min, .opt = opt, .max = max};
    const pgy_profile profile = {.ranges = &x, .range_count = 1};
    const pgy_build_config config = {
        .size = sizeof config, .profiles = &profile, .profile_count = 1};
    char *path = NULL;
    engine *e = NULL;
    pgy_error err = {0};
    assert_int_equal(file_temp_path(&path, ".plan", &err), PGY_OK);
    if (engine_build(&e, model, &config, &err)) fail_msg("%s", err.text);
    if (engine_save(e, path, &err)) fail_msg("%s", err.text);
    engine_release(e);
    return path;
}

static char *save(pgy_model *model, int64_t n)
{
    return save_range(model, n, n, n);
}

/* A plan of the small model, in memory. */
static str plan_bytes(void)
{
    str bytes = {0};
    pgy_model *model = small_model("2, 2, 3");
    char *path = save(model, 2);
    assert_int_equal(file_read(&bytes, path, NULL), PGY_OK);
    file_temp_release(path);
    pgy_model_destroy(model);
    return bytes;
}

static pgy_status parse(const str *bytes, size_t size, bool trusted, pgy_error *err)
{
    plan_file *p = NULL;
    program *made = NULL;
    void *data = mem_alloc_aligned(PLAN_ALIGN, size ? size : 1);
    assert_non_null(data);
    memcpy(data, bytes->data, size);
    pgy_status st = plan_parse(&p, data, size, trusted, err);
    if (!st && plan_describe(p)->program_count) st = plan_program_at(&made, p, 0, true, err);
    program_release(made);
    plan_close(p);
    mem_free(data);
    return st;
}

static void sign(str *bytes)
{
    plan_header h;
    memcpy(&h, bytes->data, sizeof h);
    h.hash = 0;
    const uint64_t hash = hash_xxh64(bytes->data + sizeof h, h.section_count * sizeof(plan_section),
                                     hash_xxh64(&h, sizeof h, 0));
    memcpy(bytes->data + offsetof(plan_header, hash), &hash, sizeof hash);
}

/* ---- Round trips ---------------------------------------------------------------------------- */

static void test_plan__comes_back_with_the_same_results(void **state)
{
    (void)state;
    pgy_model *model = small_model("N, 2, 3");
    char *path = save_range(model, 1, 3, 9);
    context *c = create(model), *loaded = open(path);
    for (int64_t n = 1; n < 5; n++) expect_same(run(loaded, n), run(c, n));
    assert_non_null(context_program(loaded));
    context_destroy(loaded);
    context_destroy(c);
    file_temp_release(path);
    pgy_model_destroy(model);
}

static void test_plan__can_be_saved_from_a_plan(void **state)
{
    (void)state;
    pgy_model *model = small_model("N, 2, 3");
    engine *e = NULL;
    char *first = save_range(model, 1, 3, 9), *second = NULL;
    assert_int_equal(file_temp_path(&second, ".plan", NULL), PGY_OK);
    assert_int_equal(engine_open(&e, first, NULL), PGY_OK);
    assert_int_equal(engine_save(e, second, NULL), PGY_OK);
    context *c = create(model), *again = open(second);
    expect_same(run(again, 4), run(c, 4));
    context_destroy(again);
    context_destroy(c);
    engine_release(e);
    file_temp_release(first);
    file_temp_release(second);
    pgy_model_destroy(model);
}

static void test_plan__keeps_what_was_declared(void **state)
{
    (void)state;
    pgy_model *model = small_model("N, 2, 3");
    char *path = save(model, 3), *text = NULL;
    engine *loaded = NULL;
    assert_int_equal(engine_open(&loaded, path, NULL), PGY_OK);
    assert_int_equal(pgy_metadata_text(&text, engine_inputs(loaded), NULL), PGY_OK);
    assert_non_null(strstr(text, "x [dtype=float32, shape=('N', 2, 3)]"));
    pgy_text_free(text);
    assert_int_equal(pgy_metadata_text(&text, engine_outputs(loaded), NULL), PGY_OK);
    assert_non_null(strstr(text, "'N'"));
    pgy_text_free(text);
    engine_release(loaded);
    file_temp_release(path);
    pgy_model_destroy(model);
}

static void test_plan__of_a_graph_that_is_interpreted(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2, 2, 3");
    builder_node(&b, "NonZero", "x", "n");
    builder_output(&b, "n", PGY_I64, NULL);
    pgy_model *model = builder_finish_bytes(&b);
    char *path = save(model, 2);
    context *c = create(model), *loaded = open(path);
    expect_same(run(loaded, 2), run(c, 2));
    assert_null(context_program(loaded));
    context_destroy(loaded);
    context_destroy(c);
    file_temp_release(path);
    pgy_model_destroy(model);
}

static void test_plan__same_model_same_bytes(void **state)
{
    (void)state;
    str a = plan_bytes(), b = plan_bytes();
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    str_deinit(&a);
    str_deinit(&b);
}

/* ---- What is refused ------------------------------------------------------------------------ */

static void test_plan__cut_off_anywhere_is_refused(void **state)
{
    (void)state;
    str bytes = plan_bytes();
    for (size_t size = 0; size < bytes.size; size += size < 4096 ? 1 : 97) {
        pgy_error err = {0};
        assert_int_not_equal(parse(&bytes, size, false, &err), PGY_OK);
        assert_int_not_equal(err.text[0], 0);
        assert_int_not_equal(parse(&bytes, size, true, &err), PGY_OK);
    }
    str_deinit(&bytes);
}

static void test_plan__a_changed_byte_is_found(void **state)
{
    (void)state;
    str bytes = plan_bytes();
    plan_header h;
    memcpy(&h, bytes.data, sizeof h);
    const plan_section *table = (const plan_section *)(bytes.data + sizeof h);
    for (uint32_t i = 0; i < h.header_bytes; i++) {
        bytes.data[i] ^= 0x40;
        assert_int_not_equal(parse(&bytes, bytes.size, false, NULL), PGY_OK);
        bytes.data[i] ^= 0x40;
    }
    for (uint32_t k = 0; k < h.section_count; k++) {
        for (uint64_t i = 0; i < table[k].size_bytes; i += 1 + table[k].size_bytes / 50) {
            plan_file *p = NULL;
            bytes.data[table[k].offset + i] ^= 1;
            pgy_status st = plan_parse(&p, bytes.data, bytes.size, false, NULL);
            if (!st) st = plan_verify(p, NULL);
            assert_int_equal(st, PGY_E_FORMAT);
            plan_close(p);
            bytes.data[table[k].offset + i] ^= 1;
        }
    }
    assert_int_equal(parse(&bytes, bytes.size, false, NULL), PGY_OK);
    str_deinit(&bytes);
}

/* Behind right hashes anything may stand: it is refused or can be used. */
static void test_plan__wrong_numbers_are_refused(void **state)
{
    (void)state;
    static const uint64_t WRONG[] = {0, 1, 63, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, UINT64_MAX};
    str bytes = plan_bytes();
    plan_header h;
    memcpy(&h, bytes.data, sizeof h);
    size_t refused = 0;
    const plan_section *table = (const plan_section *)(bytes.data + sizeof h);
    const uint64_t end = table[PLAN_PARAMS - 1].offset;
    for (uint64_t i = 0; i + 8 <= end; i += 4) {
        for (size_t k = 0; k < 2 * sizeof WRONG / sizeof *WRONG; k++) {
            char kept[8];
            memcpy(kept, bytes.data + i, 8);
            memcpy(bytes.data + i, &WRONG[k / 2], k % 2 ? 8 : 4);
            refused += parse(&bytes, bytes.size, true, NULL) != PGY_OK;
            memcpy(bytes.data + i, kept, 8);
        }
    }
    assert_true(refused > 1000);
    str_deinit(&bytes);
}

static void test_plan__newer_and_foreign_files_are_refused(void **state)
{
    (void)state;
    str bytes = plan_bytes();
    pgy_error err = {0};
    bytes.data[offsetof(plan_header, major)]++;
    sign(&bytes);
    assert_int_equal(parse(&bytes, bytes.size, false, &err), PGY_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "format version 2.0"));
    bytes.data[offsetof(plan_header, major)]--;
    bytes.data[offsetof(plan_header, minor)]++; /* adds what may be left out */
    sign(&bytes);
    assert_int_equal(parse(&bytes, bytes.size, false, NULL), PGY_OK);
    bytes.data[offsetof(plan_header, cpu_level)] = CPU_AVX512 + 1;
    sign(&bytes);
    assert_int_equal(parse(&bytes, bytes.size, false, &err), PGY_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "a newer processor"));
    assert_non_null(strstr(err.text, cpu_level_name(cpu_features())));
    memcpy(bytes.data, "ptrt", 4);
    assert_int_equal(parse(&bytes, bytes.size, false, &err), PGY_E_FORMAT);
    assert_non_null(strstr(err.text, "no plan"));
    str_deinit(&bytes);
}

/* The same plan with one more section in its table; what lies behind moves by a page. */
static void add_section(str *bytes, const plan_section *more)
{
    plan_header h;
    plan_section table[PLAN_MAX_SECTIONS];
    str larger = {0};
    memcpy(&h, bytes->data, sizeof h);
    memcpy(table, bytes->data + sizeof h, h.section_count * sizeof *table);
    for (uint32_t i = 0; i < h.section_count; i++) table[i].offset += PLAN_BULK_ALIGN;
    table[h.section_count++] = *more;
    h.header_bytes += sizeof *more;
    h.file_bytes += PLAN_BULK_ALIGN;
    str_append_fill(&larger, 0, PLAN_BULK_ALIGN);
    str_append_n(&larger, bytes->data, bytes->size);
    memcpy(larger.data, &h, sizeof h);
    memcpy(larger.data + sizeof h, table, h.section_count * sizeof *table);
    str_deinit(bytes);
    *bytes = larger;
    sign(bytes);
}

static void test_plan__unknown_sections_are_skipped_if_optional(void **state)
{
    (void)state;
    plan_section more = {.kind = 77, .version = 9, .flags = PLAN_OPTIONAL, .offset = 0};
    str bytes = plan_bytes();
    pgy_error err = {0};
    add_section(&bytes, &more);
    if (parse(&bytes, bytes.size, false, &err)) fail_msg("%s", err.text);
    more.flags = 0;
    add_section(&bytes, &more);
    assert_int_equal(parse(&bytes, bytes.size, false, &err), PGY_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "section 77"));
    str_deinit(&bytes);
}
