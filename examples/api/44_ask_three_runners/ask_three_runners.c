/* SPDX-License-Identifier: Apache-2.0 */
/* Asks three runners, and names for each tensor the one that differs from the two others.
 *
 *     ask_three_runners MODEL [OTHER_MODEL_OF_B [REPORT.json]]
 */
#include <stdio.h>

#include <polygraphy/polygraphy.h>

enum { SIDES = 3 };

static pgy_status show(const pgy_vote *vote, pgy_error *err)
{
    char *text = NULL;
    const pgy_vote_tensor *first = pgy_vote_first(vote);
    const pgy_status st = pgy_vote_text(&text, vote, NULL, err);
    if (!st) printf("%s", text);
    if (first && first->odd >= 0)
        printf("side %c is wrong at '%s', %g times farther from float64 than the others\n",
               'A' + first->odd, first->name, first->margin);
    for (size_t i = 0; i < pgy_vote_count(vote); i++) {
        const pgy_vote_tensor *t = pgy_vote_at(vote, i);
        printf("%s: distances from float64 %g, %g and %g\n", t->name, t->referee[0], t->referee[1],
               t->referee[2]);
    }
    for (size_t i = 0; i < pgy_vote_failure_count(vote); i++)
        printf("failure: %s\n", pgy_vote_failure(vote, i));
    pgy_text_free(text);
    return st;
}

int main(int argc, char **argv)
{
    static const char *const RUNNERS[SIDES] = {"trt", "onnxrt", "opref"};
    pgy_error err = {0};
    pgy_model *model = NULL, *other = NULL;
    pgy_where_side sides[SIDES];
    pgy_vote *vote = NULL;
    bool passed = false;
    if (argc < 2) {
        fprintf(stderr, "usage: %s MODEL [OTHER_MODEL_OF_B [REPORT.json]]\n", argv[0]);
        return 2;
    }
    pgy_status st = pgy_model_load(&model, argv[1], NULL, &err);
    if (!st && argc > 2) st = pgy_model_load(&other, argv[2], NULL, &err);
    for (int i = 0; i < SIDES; i++)
        sides[i] = (pgy_where_side){.size = sizeof *sides,
                                    .backend = pgy_backend_find(RUNNERS[i]),
                                    .model = i == 1 && other ? other : model};
    const pgy_where_side *const given[SIDES] = {&sides[0], &sides[1], &sides[2]};
    if (!st) st = pgy_vote_run(&vote, given, NULL, &err);
    if (vote) { /* also if the vote was interrupted: it has what was compared before */
        const pgy_status shown = show(vote, st ? NULL : &err);
        if (!st) st = shown;
    }
    if (!st && argc > 3) st = pgy_vote_save(vote, argv[3], NULL, &err);
    if (!st) passed = pgy_vote_passed(vote);
    if (st) fprintf(stderr, "%s\n", err.text);
    pgy_vote_destroy(vote);
    pgy_model_destroy(other);
    pgy_model_destroy(model);
    return !st && passed ? 0 : 1;
}
