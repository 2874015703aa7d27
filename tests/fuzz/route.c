/* SPDX-License-Identifier: Apache-2.0 */
/* Build routes. The first byte chooses: an expression, whose routes must be routes again; the cache
 * of a search, which is written and read back with the same text; or a candidate's figures. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "perf/route.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every route of a space can be parsed and applied. */
static void check_routes(pgy_route_space *s, pgy_route_strategy strategy)
{
    enum { CHECKED = 16 };
    const char *const *routes = NULL;
    size_t count = 0;
    pgy_error err = {0};
    if (pgy_route_space_list(&routes, &count, s, strategy, &err)) return;
    if (!count) abort();
    for (size_t i = 0; i < count && i < CHECKED; i++) {
        pgy_build_config c = {.size = sizeof c};
        pgy_calibration q = {.size = sizeof q};
        pgy_route *r = NULL;
        if (pgy_route_parse(&r, routes[i], &err) || pgy_route_apply(r, &c, &q, &err)) abort();
        pgy_route_destroy(r);
    }
}

static void fuzz_expression(span text)
{
    pgy_route_space *s = NULL;
    pgy_error err = {0};
    char *copy = mem_strndup(text.data, text.size);
    if (copy && !pgy_route_space_create(&s, copy, NULL, NULL, &err)) {
        check_routes(s, PGY_ROUTE_FAST);
        if (s->expression.count <= 8) check_routes(s, PGY_ROUTE_FULL);
        pgy_route_space_destroy(s);
    }
    mem_free(copy);
}

static void fuzz_cache(span text)
{
    route_cache c, again;
    pgy_error err = {0};
    str first = {0}, second = {0};
    if (route_cache_parse(&c, text, "input", &err)) return;
    route_mark_front(c.results, c.count < 100 ? c.count : 100);
    if (route_cache_text(&first, &c, &err)) abort();
    if (route_cache_parse(&again, (span){str_text(&first), first.size}, "output", &err)) abort();
    if (route_cache_text(&second, &again, &err)) abort();
    if (again.count != c.count || strcmp(str_text(&first), str_text(&second)) != 0) abort();
    str_deinit(&first);
    str_deinit(&second);
    route_cache_deinit(&again);
    route_cache_deinit(&c);
}

static void fuzz_answer(span text)
{
    pgy_route_result r = {.error = ""};
    arena memory = {0};
    pgy_error err = {0};
    if (!route_answer_parse(&r, text, "input", &memory, &err))
        if (!(r.gpu_time_ms >= 0) || (r.loss_count && !r.losses)) abort();
    arena_deinit(&memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const span rest = {(const char *)data + 1, size - 1};
    if (!size) return 0;
    if (data[0] == 'e') fuzz_expression(rest);
    if (data[0] == 'c') fuzz_cache(rest);
    if (data[0] == 'a') fuzz_answer(rest);
    return 0;
}
