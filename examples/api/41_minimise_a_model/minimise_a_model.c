/* SPDX-License-Identifier: Apache-2.0 */
/* Searches the smallest part of a model on which a runner differs from the reference by more than a
 * tolerance, and writes a folder for a bug report.
 *
 *     minimise_a_model model.onnx trt 1e-9 folder
 */
#include <stdio.h>
#include <stdlib.h>

#include <polygraphy/polygraphy.h>
#include <polygraphy/record.h>

static pgy_status never_used(bool *passed, const char *candidate, void *user, pgy_error *err)
{
    (void)candidate, (void)user, (void)err;
    *passed = true;
    return PGY_OK;
}

static pgy_status search(pgy_model *model, const char *runner, const pgy_compare *tolerance, const char *folder, pgy_error *err)
{
    const pgy_compare *const list[] = {tolerance};
    pgy_judge_options rules = pgy_judge_options_default();
    rules.comparisons = list;
    rules.comparison_count = 1;
    const pgy_debug_judge_options how = {.size = sizeof how, .runner = runner, .reference = "opref", .judge = &rules};
    const pgy_debug_check check = {.size = sizeof check, .judge = never_used};
    pgy_debug_options o = pgy_debug_options_default();
    pgy_debug_judge *judge = NULL;
    pgy_debug_session *session = NULL;
    pgy_debug_minimum found = {0};
    pgy_tensor_map *feed = NULL;
    o.check = &check;
    pgy_status st = pgy_debug_judge_create(&judge, &how, err);
    if (!st) st = pgy_debug_session_create(&session, &o, err);
    if (!st) st = pgy_record_feed(&feed, model, NULL, err);
    const pgy_tensor_map *const feeds[] = {feed};
    const pgy_debug_minimise_options search = {.size = sizeof search, .judge = judge, .on = PGY_DEBUG_MISMATCH, .record_backend = "opref"};
    if (!st) st = pgy_debug_minimise(&found, session, model, feeds, 1, &search, err);
    if (!st) printf("%zu of %zu nodes are left: %s\n", found.nodes, found.original_nodes, found.finding.text);
    const pgy_debug_repro_options result = {.size = sizeof result, .judge = judge, .runner = runner};
    if (!st) st = pgy_debug_repro_save(folder, &found, &result, err);
    pgy_debug_minimum_free(&found);
    pgy_tensor_map_destroy(feed);
    pgy_debug_session_destroy(session);
    pgy_debug_judge_destroy(judge);
    return st;
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: %s MODEL RUNNER TOLERANCE FOLDER\n", argv[0]);
        return 2;
    }
    const double limit = strtod(argv[3], NULL);
    const pgy_number_entry entry = {.name = "", .value = {.real = limit}};
    pgy_compare_options o = pgy_compare_options_default(PGY_COMPARE_SIMPLE);
    o.atol = o.rtol = (pgy_number_map){.entries = &entry, .count = 1};
    pgy_error err = {0};
    pgy_compare *tolerance = NULL;
    pgy_model *model = NULL;
    pgy_status st = pgy_model_load(&model, argv[1], NULL, &err);
    if (!st) st = pgy_compare_create(&tolerance, &o, &err);
    if (!st) st = search(model, argv[2], tolerance, argv[4], &err);
    if (st) fprintf(stderr, "%s\n", err.text);
    pgy_compare_destroy(tolerance);
    pgy_model_destroy(model);
    return st ? 1 : 0;
}
