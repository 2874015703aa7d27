/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/registry.h"
#include "stub.h"

static const pgy_backend *const BUILTIN[] = {&STUB};

size_t backends_builtin(const pgy_backend *const **out)
{
    *out = BUILTIN;
    return 1;
}

/* Compiles a shared object that exports `code`, loads it as a backend, and gives the status. */
static pgy_status load(const char *code, pgy_error *err)
{
    char source[512] = TEST_BINARY_DIR "/backend-XXXXXX", object[520], command[2048];
    int fd = mkstemp(source);
    FILE *f = fdopen(fd, "w");
    assert_non_null(f);
    fprintf(f, "#include <polygraphy/backend.h>\n%s\n", code);
    fclose(f);
    snprintf(object, sizeof object, "%s.so", source);
    snprintf(command, sizeof command, "cc -x c -shared -fPIC -I%s/include -o %s %s",
             TEST_SOURCE_DIR, object, source);
    assert_int_equal(system(command), 0);
    pgy_status st = pgy_backend_load(object, err);
    unlink(source);
    unlink(object);
    return st;
}

#define CALLBACKS                                                                                 \
    "static pgy_status create(void **o, const pgy_backend_model *m, const void *p, pgy_error *e)" \
    "{ (void)m; (void)p; (void)e; *o = (void *)1; return PGY_OK; }"                               \
    "static pgy_status activate(void *r, pgy_error *e) { (void)r; (void)e; return PGY_OK; }"      \
    "static pgy_status describe(void *r, pgy_metadata *m, pgy_error *e)"                          \
    "{ (void)r; (void)m; (void)e; return PGY_E_UNSUPPORTED; }"                                    \
    "static const pgy_backend_host *host;"                                                        \
    "static pgy_status infer(void *r, const pgy_tensor_map *f, pgy_tensor_map *o, int64_t *t, "   \
    "pgy_error *e)"                                                                               \
    "{ pgy_tensor *y; int64_t s[] = {2}; (void)r; (void)f; (void)t;"                              \
    "  pgy_status st = host->tensor_create(&y, PGY_F32, 1, s, e);"                                \
    "  return st ? st : host->map_adopt(o, \"y\", y, e); }"                                       \
    "static void end(void *r) { (void)r; }"
#define BACKEND(abi, name)                                                              \
    CALLBACKS                                                                           \
    "static const pgy_backend B = {sizeof(pgy_backend), " abi ", \"" name "\", \"" name \
    "-runner\", \"T\", \"d\","                                                          \
    "0, 0, 0, create, activate, describe, describe, infer, end, end, 0};"               \
    "const pgy_backend *pgy_backend_v1(const pgy_backend_host *h) { host = h; return &B; }"

static void test_registry__builtin(void **state)
{
    (void)state;
    assert_ptr_equal(pgy_backend_at(0), &STUB);
    assert_ptr_equal(pgy_backend_find("stub"), &STUB);
    assert_null(pgy_backend_find("nothing"));
    assert_null(pgy_backend_find(NULL));
    assert_null(pgy_backend_at(pgy_backend_count()));
}

static void test_registry__traits(void **state)
{
    (void)state;
    pgy_backend able = STUB, old = STUB;
    able.traits = old.traits = PGY_BACKEND_RUNS_PLANS | PGY_BACKEND_IS_REFERENCE;
    old.size = offsetof(pgy_backend, traits); /* made before there were traits */
    assert_true(pgy_backend_has(&able, PGY_BACKEND_RUNS_PLANS));
    assert_false(pgy_backend_has(&able, PGY_BACKEND_WITHOUT_MODEL));
    assert_false(pgy_backend_has(&old, PGY_BACKEND_RUNS_PLANS));
    assert_false(pgy_backend_has(NULL, PGY_BACKEND_RUNS_PLANS));
    assert_null(pgy_backend_find_trait(PGY_BACKEND_IS_REFERENCE)); /* the stub has none */
}

static void test_registry__load_and_run(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_runner *r = NULL;
    pgy_tensor_map *feed = NULL, *out = NULL;
    size_t before = pgy_backend_count();
    assert_int_equal(load(BACKEND("PGY_BACKEND_ABI", "outside"), &err), PGY_OK);
    assert_int_equal(pgy_backend_count(), before + 1);
    const pgy_backend *b = pgy_backend_find("outside");
    assert_non_null(b);
    assert_ptr_equal(pgy_backend_at(before), b);
    assert_int_equal(pgy_runner_create(&r, b, NULL, NULL, NULL, &err), PGY_OK);
    assert_int_equal(pgy_runner_activate(r, &err), PGY_OK);
    assert_int_equal(pgy_tensor_map_create(&feed, &err), PGY_OK);
    assert_int_equal(pgy_runner_infer(&out, r, feed, &err), PGY_OK);
    assert_int_equal(pgy_tensor_count(pgy_tensor_map_find(out, "y")), 2);
    pgy_tensor_map_destroy(out);
    pgy_tensor_map_destroy(feed);
    pgy_runner_destroy(r);

    assert_int_equal(load(BACKEND("PGY_BACKEND_ABI", "outside"), &err), PGY_E_BACKEND);
    assert_non_null(strstr(err.text, "another backend already has this name"));
}

static void test_registry__load_refuses(void **state)
{
    (void)state;
    pgy_error err = {0};
    size_t before = pgy_backend_count();
    assert_int_not_equal(pgy_backend_load("/no/such.so", &err), PGY_OK);
    assert_non_null(strstr(err.text, "/no/such.so"));
    assert_int_not_equal(load("int other;", &err), PGY_OK);
    assert_non_null(strstr(err.text, "pgy_backend_v1"));
    assert_int_equal(load(BACKEND("PGY_BACKEND_ABI + 1", "late"), &err), PGY_E_BACKEND);
    assert_non_null(strstr(err.text, "another version"));
    assert_int_equal(load(BACKEND("PGY_BACKEND_ABI", "Bad Name"), &err), PGY_E_BACKEND);
    assert_non_null(strstr(err.text, "name"));
    assert_int_equal(
        load("const pgy_backend *pgy_backend_v1(const pgy_backend_host *h) { (void)h; return 0; }",
             &err),
        PGY_E_BACKEND);
    assert_non_null(strstr(err.text, "does not support this host"));
    assert_int_equal(
        load("static const pgy_backend B = {sizeof(pgy_backend), PGY_BACKEND_ABI, \"e\", \"e\"};"
             "const pgy_backend *pgy_backend_v1(const pgy_backend_host *h) { (void)h; return &B; }",
             &err),
        PGY_E_BACKEND);
    assert_non_null(strstr(err.text, "required callback"));
    assert_int_equal(pgy_backend_count(), before);
}
