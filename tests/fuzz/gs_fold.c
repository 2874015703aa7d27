/* SPDX-License-Identifier: Apache-2.0 */
/* A model file is opened for surgery and folded, in a way that its size chooses, twice, with the
 * edges checked in between; then it is cleaned and written, and what was written can be read. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <polygraphy/gs.h>

#include "harness/gs_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const pgy_gs_graph *g)
{
    const char *wrong = gs_check(g);
    if (!wrong) return;
    fprintf(stderr, "%s\n", wrong);
    abort();
}

static bool is_odd(const pgy_gs_node *n, void *user)
{
    (void)user;
    return n->name[0] & 1;
}

static pgy_gs_fold_options options_for(size_t size)
{
    pgy_gs_fold_options o = pgy_gs_fold_options_default();
    o.partitioning = (pgy_gs_partitioning)(size % 3);
    o.size_threshold = size % 5 ? 1 << 12 : UINT64_MAX;
    if (size % 7 == 0) o.exclude = is_odd;
    o.keep_ifs = size % 11 == 0;
    return o;
}

static void read_again(pgy_gs_graph *g)
{
    pgy_error err = {0};
    pgy_model *model = NULL, *again = NULL;
    void *bytes = NULL;
    size_t size = 0;
    const pgy_gs_export_options untyped = {.size = sizeof untyped, .no_type_check = true};
    pgy_status st = pgy_gs_export(&model, g, &untyped, &err);
    if (!st) st = pgy_model_serialize(&bytes, &size, model, &err);
    if (!st && pgy_model_parse(&again, bytes, size, true, NULL, &err) == PGY_E_FORMAT) abort();
    pgy_model_destroy(again);
    pgy_text_free(bytes);
    pgy_model_destroy(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pgy_model *model = NULL;
    pgy_gs_graph *g = NULL;
    pgy_error err = {0};
    const pgy_gs_fold_options o = options_for(size);
    pgy_set_max_memory(64 << 20);
    if (pgy_model_parse(&model, data, size, true, NULL, &err)) return 0;
    pgy_status st = pgy_gs_import(&g, model, &err);
    for (int i = 0; !st && i < 2; i++) {
        st = pgy_gs_fold_constants(g, &o, &err);
        check(g);
    }
    if (!st) st = pgy_gs_cleanup(g, NULL, &err);
    if (!st) read_again(g);
    pgy_gs_destroy(g);
    pgy_model_destroy(model);
    return 0;
}
