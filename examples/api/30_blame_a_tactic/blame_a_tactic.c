/* SPDX-License-Identifier: Apache-2.0 */
/* Reads tactic replays of several builds: the kernel of each layer, and the kernels that only
 * builds with bad results have. `polygraphy run --save-tactics` and pgy_build_config.save_tactics
 * write these files.
 *
 *     blame_a_tactic replay.json good/ bad/
 */
#include <stdio.h>

#include <polygraphy/polygraphy.h>

static pgy_status show(const char *path, pgy_error *err)
{
    pgy_tactic_replay *replay = NULL;
    char *text = NULL;
    pgy_status st = pgy_tactic_replay_load(&replay, path, err);
    if (!st) st = pgy_tactic_replay_text(&text, replay, err);
    if (!st) printf("%zu layers\n%s\n", pgy_tactic_replay_count(replay), text);
    pgy_text_free(text);
    pgy_tactic_replay_destroy(replay);
    return st;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: %s replay.json good/ bad/\n", argv[0]);
        return 2;
    }
    pgy_error err = {0};
    pgy_tactic_set *good = NULL, *bad = NULL;
    pgy_tactic_suspects *suspects = NULL;
    char *json = NULL;
    pgy_status st = show(argv[1], &err);
    if (!st) st = pgy_tactic_set_load(&good, argv[2], &err);
    if (!st) st = pgy_tactic_set_load(&bad, argv[3], &err);
    if (!st) printf("%zu good replays, %zu bad ones\n", pgy_tactic_set_count(good), pgy_tactic_set_count(bad));
    if (!st) st = pgy_tactic_suspects_find(&suspects, good, bad, &err);
    for (size_t i = 0; !st && i < pgy_tactic_suspects_count(suspects); i++) {
        const pgy_tactic_suspect *s = pgy_tactic_suspects_at(suspects, i);
        printf("%s: %zu suspects, the first: %s\n", s->layer, s->algorithm_count, s->algorithms[0]);
    }
    if (!st) st = pgy_tactic_suspects_json(&json, suspects, &err);
    if (!st) puts(json);
    if (st) fprintf(stderr, "error: %s\n", err.text);
    const bool found = !st && pgy_tactic_suspects_count(suspects) > 0;
    pgy_text_free(json);
    pgy_tactic_suspects_destroy(suspects);
    pgy_tactic_set_destroy(bad);
    pgy_tactic_set_destroy(good);
    return !found;
}
