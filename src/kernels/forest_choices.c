/* SPDX-License-Identifier: Apache-2.0 */
/* Tests for membership of one row: the categories of a feature are few, so for each of them there
 * is what all tests of that feature leave of the words of all trees. */
#include <string.h>

#include "base/alloc.h"
#include "kernels/forest.h"

enum { MOST_WORDS = 1 << 20 };

static forest_choice *choice_of(const forest_sweeps *s, const forest_params *p, uint32_t feature)
{
    for (size_t i = 0; i < p->choices; i++)
        if (s->choices[i].feature == feature) return &s->choices[i];
    return NULL;
}

bool forest_choice_add(forest_sweeps *s, forest_params *p, uint32_t feature, const uint32_t *set)
{
    forest_choice *c = choice_of(s, p, feature);
    const uint64_t last = ((uint64_t)set[0] + set[1]) * FOREST_WORD - 1;
    if (last > FOREST_MOST_CHOICE) return false;
    if (!c) {
        if (p->choices == FOREST_MOST_CHOICES) return false;
        c = &s->choices[p->choices++];
        *c = (forest_choice){.feature = feature};
    }
    if (last > c->last) c->last = (uint32_t)last;
    return true;
}

static uint64_t stride_of(const forest_params *p)
{
    return extent_round_up(p->roots, FOREST_GROUP);
}

/* There is one row of words for each place, and one for other numbers. */
bool forest_choices_place(forest_sweeps *s, forest_params *p)
{
    p->choice_words = 0;
    for (size_t i = 0; i < p->choices; i++) {
        s->choices[i].first = (uint32_t)p->choice_words;
        p->choice_words += ((uint64_t)s->choices[i].last + 2) * stride_of(p);
        if (p->choice_words > MOST_WORDS) return false;
    }
    return true;
}

void forest_choice_clear(forest_sweeps *s, const forest_params *p, size_t tree, uint32_t feature,
                         const uint32_t *set, uint32_t clears)
{
    const forest_choice *c = choice_of(s, p, feature);
    uint32_t *words = s->choice_words + c->first + tree;
    for (uint32_t place = 0; place <= c->last + 1; place++)
        if (place > c->last || !forest_has(set, place)) words[place * stride_of(p)] &= ~clears;
}

void forest_choose(uint32_t *chosen, const forest_view *v, const float *x)
{
    for (size_t i = 0; i < v->p->choices; i++) {
        const forest_choice *c = &v->choices[i];
        const uint32_t place = forest_place_of(x[c->feature]);
        const uint32_t row = place <= c->last ? place : c->last + 1;
        chosen[i] = c->first + row * (uint32_t)stride_of(v->p);
    }
}
