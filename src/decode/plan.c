/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises the inputs and outputs of a decoder: token ids, positions, masks, lengths, the logits.
 * Caches are in pairs.c. */
#include <string.h>

#include "decode/decode.h"

static pgy_status out_of_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

const decode_input *decode_plan_find(const decode_plan *p, const char *name)
{
    for (size_t i = 0; i < p->input_count; i++)
        if (!strcmp(p->inputs[i].info->name, name)) return &p->inputs[i];
    return NULL;
}

static void put_names(str *out, const pgy_metadata *m)
{
    for (size_t i = 0; i < pgy_metadata_count(m); i++)
        str_printf(out, "%s'%s'", i ? ", " : "", pgy_metadata_at(m, i)->name);
    if (!pgy_metadata_count(m)) str_append(out, "none");
}

static pgy_status refuse(const char *what, const char *which, const pgy_metadata *m, pgy_error *err)
{
    str names = {0};
    put_names(&names, m);
    const pgy_status st =
        pgy_error_set(err, PGY_E_ARGUMENT, "%s; the %s are %s", what, which, str_text(&names));
    str_deinit(&names);
    return st;
}

/* ---- Inputs ---------------------------------------------------------------------------------- */

static pgy_status take_inputs(decode_plan *p, const pgy_metadata *inputs, pgy_error *err)
{
    p->input_count = pgy_metadata_count(inputs);
    p->inputs = arena_alloc_array(&p->memory, p->input_count + 1, sizeof *p->inputs);
    if (!p->inputs) return out_of_memory(err);
    for (size_t i = 0; i < p->input_count; i++) {
        const pgy_tensor_info *info = pgy_metadata_at(inputs, i);
        if (info->form != PGY_FORM_TENSOR)
            return pgy_error_set(err, PGY_E_UNSUPPORTED,
                                 "input '%s' is no tensor, but a sequence or optional, which "
                                 "decoding cannot feed",
                                 info->name);
        p->inputs[i] = (decode_input){.info = info, .role = role_of_input(info)};
    }
    return PGY_OK;
}

/* In a model with an encoder, input_ids and attention_mask are the encoder's. */
static void give_to_encoder(decode_plan *p)
{
    if (!decode_plan_find(p, "decoder_input_ids")) return;
    for (size_t i = 0; i < p->input_count; i++) {
        decode_input *in = &p->inputs[i];
        if (!strcmp(in->info->name, "input_ids")) in->role = ROLE_CONSTANT;
        if (!strcmp(in->info->name, "attention_mask")) in->role = ROLE_ONES;
    }
}

static pgy_status apply_role(decode_plan *p, const pgy_metadata *outputs,
                             const pgy_decode_role *given, pgy_error *err)
{
    decode_role role = ROLE_CONSTANT;
    pgy_status st = role_from_name(&role, given->role, err);
    if (st) return st;
    if (role == ROLE_LOGITS) {
        p->logits = pgy_metadata_find(outputs, given->name);
        if (p->logits) return PGY_OK;
        return pgy_error_set(err, PGY_E_ARGUMENT, "decode.roles: there is no output '%s'",
                             given->name);
    }
    for (size_t i = 0; i < p->input_count; i++) {
        if (strcmp(p->inputs[i].info->name, given->name)) continue;
        p->inputs[i].role = role;
        return PGY_OK;
    }
    return pgy_error_set(err, PGY_E_ARGUMENT, "decode.roles: there is no input '%s'", given->name);
}

static bool is_given_role(const pgy_decode_options *o, const char *name)
{
    for (size_t i = 0; i < o->role_count; i++)
        if (!strcmp(o->roles[i].name, name)) return true;
    return false;
}

/* Without a known name: the only input of integers of rank 1 or 2 that has no other role. */
static pgy_status find_tokens(decode_plan *p, const pgy_metadata *inputs,
                              const pgy_decode_options *o, pgy_error *err)
{
    size_t named = 0, others = 0;
    decode_input *other = NULL;
    for (size_t i = 0; i < p->input_count; i++) {
        decode_input *in = &p->inputs[i];
        if (in->role == ROLE_TOKENS) {
            p->tokens = in->info;
            named++;
        }
        if (in->role != ROLE_CONSTANT || is_given_role(o, in->info->name)) continue;
        if (!pgy_dtype_is_integer(in->info->dtype)) continue;
        if (in->info->rank == 1 || in->info->rank == 2) other = in, others++;
    }
    if (named > 1) return refuse("several inputs are token ids", "inputs", inputs, err);
    if (named) return PGY_OK;
    if (others != 1)
        return refuse("no input is known to be the token ids; name it with decode.roles (role "
                      "tokens)",
                      "inputs", inputs, err);
    other->role = ROLE_TOKENS;
    p->tokens = other->info;
    return PGY_OK;
}

static pgy_status check_tokens(const decode_plan *p, pgy_error *err)
{
    const pgy_tensor_info *t = p->tokens;
    if (pgy_dtype_is_integer(t->dtype) && (t->rank == 1 || t->rank == 2)) return PGY_OK;
    return pgy_error_set(err, PGY_E_TYPE,
                         "input '%s' holds token ids, so it must be integers of shape [batch, "
                         "sequence] or [sequence], but it is %s of rank %d",
                         t->name, pgy_dtype_name(t->dtype), (int)t->rank);
}

/* ---- Logits ---------------------------------------------------------------------------------- */

static bool can_be_logits(const pgy_tensor_info *t)
{
    return t->form == PGY_FORM_TENSOR && pgy_dtype_is_float(t->dtype);
}

static bool is_cache_output(const decode_plan *p, const char *name)
{
    for (size_t i = 0; i < p->cache_count; i++)
        if (!strcmp(p->caches[i].output, name)) return true;
    return false;
}

/* By name; else the only output of floats of rank 3 that feeds no cache. */
static pgy_status find_logits(decode_plan *p, const pgy_metadata *outputs, pgy_error *err)
{
    const pgy_tensor_info *best = NULL;
    size_t count = 0;
    for (size_t i = 0; !p->logits && i < pgy_metadata_count(outputs); i++) {
        const pgy_tensor_info *t = pgy_metadata_at(outputs, i);
        if (!strcmp(t->name, "logits")) p->logits = t;
        if (!can_be_logits(t) || (t->rank != 3 && t->rank != -1) || is_cache_output(p, t->name))
            continue;
        best = t;
        count++;
    }
    if (!p->logits && count == 1) p->logits = best;
    if (!p->logits)
        return refuse("no output is known to be the logits, floats of shape [batch, sequence, "
                      "vocabulary]; name it with decode.roles (role logits)",
                      "outputs", outputs, err);
    if (can_be_logits(p->logits) && (p->logits->rank == -1 || p->logits->rank >= 2) &&
        p->logits->rank <= 3)
        return PGY_OK;
    return pgy_error_set(err, PGY_E_TYPE,
                         "output '%s' cannot be the logits: expected floats of shape [batch, "
                         "sequence, vocabulary] or [batch, vocabulary], but it is %s of rank %d",
                         p->logits->name, pgy_dtype_name(p->logits->dtype), (int)p->logits->rank);
}

/* ---- The plan -------------------------------------------------------------------------------- */

pgy_status decode_plan_create(decode_plan *out, const pgy_metadata *inputs,
                              const pgy_metadata *outputs, const pgy_decode_options *options,
                              pgy_error *err)
{
    decode_plan p = {0};
    pgy_status st = take_inputs(&p, inputs, err);
    if (!st) give_to_encoder(&p);
    for (size_t i = 0; !st && i < options->role_count; i++)
        st = apply_role(&p, outputs, &options->roles[i], err);
    if (!st) st = find_tokens(&p, inputs, options, err);
    if (!st) st = check_tokens(&p, err);
    if (!st && p.tokens->rank == 2 && p.tokens->dim_names) p.batch_name = p.tokens->dim_names[0];
    if (!st) st = pairs_find(&p, outputs, options, err);
    if (!st) st = find_logits(&p, outputs, err);
    if (st)
        decode_plan_deinit(&p);
    else
        *out = p;
    return st;
}

void decode_plan_deinit(decode_plan *p)
{
    arena_deinit(&p->memory);
    strvec_deinit(&p->patterns);
    *p = (decode_plan){0};
}
