/* SPDX-License-Identifier: Apache-2.0 */
/* Comparison and post-processing by Python scripts. Each script has its own process (data/python.h)
 * that lives as long as the object. For each iteration the process receives the results and returns
 * verdicts or new outputs. */
#include "base/alloc.h"
#include "compare/judge.h"
#include "data/python.h"

/* ---- Comparison ---- */

static pgy_status take_verdicts(pgy_verdicts *out, python_script *s, pgy_error *err)
{
    uint32_t count;
    pgy_status st = python_take_u32(&count, s, err);
    for (uint32_t i = 0; !st && i < count; i++) {
        char *output = NULL;
        uint8_t passed;
        st = python_take_text(&output, NULL, s, err);
        if (!st) st = python_take_byte(&passed, s, err);
        if (!st) st = pgy_verdicts_set(out, output, passed != 0, err);
        mem_free(output);
    }
    return st;
}

static pgy_status script_compare(pgy_verdicts *out, const pgy_iteration *a, const pgy_iteration *b,
                                 void *user, pgy_error *err)
{
    python_script *s = user;
    char kind;
    pgy_status st = python_ask(s, 'c', err);
    if (!st) st = python_put_results(s, a->runner_name, a->runtime_s, a->outputs, err);
    if (!st) st = python_put_results(s, b->runner_name, b->runtime_s, b->outputs, err);
    if (!st) st = python_answer(&kind, s, err);
    if (!st) st = take_verdicts(out, s, err);
    return st ? pgy_error_prefix(err, st,
                                 "'%s' of the comparison script: ", python_script_symbol(s))
              : PGY_OK;
}

static void free_script(void *user)
{
    python_script_stop(user);
}

pgy_status pgy_compare_script_create(pgy_compare **out, const char *script, pgy_error *err)
{
    python_script *s = NULL;
    pgy_compare *c = NULL;
    pgy_status st = python_script_start(&s, script, "compare_outputs", "compare", err);
    if (st) return st;
    pgy_compare_options options = pgy_compare_options_default(PGY_COMPARE_CALLBACK);
    options.callback = script_compare;
    options.user = s;
    options.label = python_script_symbol(s);
    st = pgy_compare_create(&c, &options, err);
    if (st) {
        python_script_stop(s);
        return st;
    }
    compare_own_user(c, free_script);
    *out = c;
    return PGY_OK;
}

/* ---- Post-processing ---- */

struct pgy_postprocess_script {
    python_script *process;
    pgy_postprocess use;
};

static pgy_status script_postprocess(pgy_iteration *it, void *user, pgy_error *err)
{
    python_script *s = user;
    pgy_tensor_map *outputs = NULL;
    char kind;
    pgy_status st = python_ask(s, 'p', err);
    if (!st) st = python_put_results(s, it->runner_name, it->runtime_s, it->outputs, err);
    if (!st) st = python_answer(&kind, s, err);
    if (!st) st = python_take_map(&outputs, s, err);
    if (st)
        return pgy_error_prefix(err, st,
                                "'%s' of the post-processing script: ", python_script_symbol(s));
    pgy_tensor_map_destroy(it->outputs);
    it->outputs = outputs;
    return PGY_OK;
}

pgy_status pgy_postprocess_script_create(pgy_postprocess_script **out, const char *script,
                                         pgy_error *err)
{
    pgy_postprocess_script *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a script");
    pgy_status st =
        python_script_start(&p->process, script, "postprocess_outputs", "postprocess", err);
    if (st) {
        mem_free(p);
        return st;
    }
    p->use = (pgy_postprocess){.size = sizeof p->use,
                               .callback = script_postprocess,
                               .user = p->process,
                               .name = python_script_symbol(p->process)};
    *out = p;
    return PGY_OK;
}

const pgy_postprocess *pgy_postprocess_script_use(const pgy_postprocess_script *s)
{
    return &s->use;
}

void pgy_postprocess_script_destroy(pgy_postprocess_script *s)
{
    if (!s) return;
    python_script_stop(s->process);
    mem_free(s);
}
