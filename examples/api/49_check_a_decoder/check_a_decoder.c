/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes with two models, token by token, and names the first step that differs.
 *
 *     check_a_decoder MODEL OTHER_MODEL [STEPS [REPORT.json]]
 */
#include <stdio.h>
#include <stdlib.h>

#include <polygraphy/polygraphy.h>

static pgy_status make_runner(pgy_runner **out, const char *path, const char *name, pgy_error *err)
{
    pgy_model_source source = {0};
    const pgy_status st = pgy_source_from_path(&source, path, err);
    return st ? st : pgy_runner_create(out, pgy_backend_find("opref"), &source, NULL, name, err);
}

static pgy_status show(const pgy_decode_report *r, pgy_error *err)
{
    char *text = NULL;
    pgy_decode_latency latency;
    const pgy_decode_comparison *first = pgy_decode_report_first(r, 0);
    size_t step, row;
    pgy_status st = pgy_decode_report_text(&text, r, false, err);
    if (!st) printf("%s\n", text);
    if (first)
        printf("step %zu differs: logits by %g, caches by %g\n", first->step, first->logits.max_rel,
               first->caches.max_rel);
    if (pgy_decode_report_parting(&step, &row, r, 0))
        printf("the choices differ after step %zu: %lld and %lld\n", step,
               (long long)pgy_decode_report_choice(r, 0, row, step),
               (long long)pgy_decode_report_choice(r, 1, row, step));
    if (!st) st = pgy_decode_report_latency(&latency, r, 1, err);
    if (!st) printf("%zu steps, %g ms each\n", latency.count, latency.median_ms);
    if (!pgy_decode_report_passed(r)) printf("failed: %s\n", pgy_decode_report_reason(r));
    pgy_text_free(text);
    return st;
}

int main(int argc, char **argv)
{
    pgy_error err = {0};
    pgy_runner *runners[2] = {NULL, NULL};
    pgy_tensor *ids = NULL;
    pgy_decode_report *report = NULL;
    pgy_decode_options o = pgy_decode_options_default();
    static const char PROMPT[] = "3 1 4 1";
    bool passed = false;
    if (argc < 3) {
        fprintf(stderr, "usage: %s MODEL OTHER_MODEL [STEPS [REPORT.json]]\n", argv[0]);
        return 2;
    }
    pgy_status st = make_runner(&runners[0], argv[1], "first", &err);
    if (!st) st = make_runner(&runners[1], argv[2], "second", &err);
    if (!st) st = pgy_decode_ids_parse(&ids, PROMPT, sizeof PROMPT - 1, "prompt", &err);
    o.steps = argc > 3 ? strtoul(argv[3], NULL, 10) : 16;
    o.ids = ids;
    if (!st) st = pgy_decode(&report, runners, 2, &o, &err);
    if (!st) st = show(report, &err);
    if (!st && argc > 4) st = pgy_decode_report_save(report, argv[4], argv[2], &err);
    if (!st) passed = pgy_decode_report_passed(report);
    if (st) fprintf(stderr, "%s\n", err.text);
    pgy_decode_report_destroy(report);
    pgy_tensor_release(ids);
    pgy_runner_destroy(runners[0]);
    pgy_runner_destroy(runners[1]);
    return !st && passed ? 0 : 1;
}
