/* SPDX-License-Identifier: Apache-2.0 */
/* The table of kernels, and what all of them share. Look-ups happen when a program is built, so
 * the table is walked from front to back. */
#include "kernels/kernel.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "kernels/half_adapter.h"
#include "kernels/plugin.h"

#define KERNEL(family) extern const kernel KERNELS_##family[];
#include "kernels/kernels.def"
#undef KERNEL

static const kernel *const FAMILIES[] = {
#define KERNEL(family) KERNELS_##family,
#include "kernels/kernels.def"
#undef KERNEL
    NULL,
};

/* All families, and behind them what is made of them. */
static const kernel *tables[sizeof FAMILIES / sizeof *FAMILIES + 1];

static void gather(void)
{
    const size_t count = sizeof FAMILIES / sizeof *FAMILIES - 1;
    memcpy(tables, FAMILIES, sizeof FAMILIES);
    tables[count] = half_adapter_table(FAMILIES);
}

static const kernel *const *all_tables(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, gather);
    return tables;
}

/* Is "domain:op" (or "op" for ONNX's domain) a word of `ops`? */
static bool lists(const char *ops, const char *domain, const char *op)
{
    const size_t domain_size = strlen(domain), op_size = strlen(op);
    for (const char *word = ops; *word;) {
        const size_t size = strcspn(word, " ");
        const char *name = word;
        size_t name_size = size;
        bool same = domain_size == 0;
        if (domain_size && size > domain_size && word[domain_size] == ':') {
            same = memcmp(word, domain, domain_size) == 0;
            name += domain_size + 1;
            name_size -= domain_size + 1;
        }
        if (same && name_size == op_size && memcmp(name, op, op_size) == 0) return true;
        word += size;
        word += strspn(word, " ");
    }
    return false;
}

const kernel *kernel_for(const char *domain, const char *op, size_t i)
{
    const cpu_level has = cpu_features();
    for (const kernel *const *family = all_tables(); *family; family++)
        for (const kernel *k = *family; k->name; k++)
            if (k->needs <= has && lists(k->ops, domain, op) && i-- == 0) return k;
    const kernel *k = NULL;
    for (size_t n = 0; (k = plugin_kernel(n)); n++)
        if (lists(k->ops, domain, op) && i-- == 0) return k;
    return NULL;
}

const kernel *kernel_at(size_t i)
{
    const cpu_level has = cpu_features();
    for (const kernel *const *family = all_tables(); *family; family++)
        for (const kernel *k = *family; k->name; k++)
            if (k->needs <= has && i-- == 0) return k;
    return plugin_kernel(i);
}

const kernel *kernel_find(const char *name, uint16_t version)
{
    const cpu_level has = cpu_features();
    for (const kernel *const *family = all_tables(); *family; family++)
        for (const kernel *k = *family; k->name; k++)
            if (strcmp(k->name, name) == 0 && k->version == version && k->needs <= has) return k;
    const kernel *k = NULL;
    for (size_t n = 0; (k = plugin_kernel(n)); n++)
        if (strcmp(k->name, name) == 0 && k->version == version) return k;
    return NULL;
}

void kernel_plan_deinit(kernel_plan *p)
{
    mem_free(p->params);
    mem_free(p->packed);
    *p = (kernel_plan){0};
}

/* ---- Sizes ---------------------------------------------------------------------------------- */

size_t kernel_block(kernel_layout layout)
{
    return layout == KERNEL_BLOCKED_16 ? 16 : layout == KERNEL_BLOCKED_8 ? 8 : 1;
}

size_t kernel_count(const kernel_tensor *t)
{
    size_t count = 1;
    for (int32_t i = 0; i < t->rank; i++) count *= (size_t)t->shape[i];
    return count;
}

size_t kernel_size_bytes(const kernel_tensor *t)
{
    const size_t block = kernel_block(t->layout), bits = pgy_dtype_describe(t->dtype)->bits;
    size_t count = 1;
    for (int32_t i = 0; i < t->rank; i++) {
        const size_t size = (size_t)t->shape[i];
        count *= i == 1 ? (size + block - 1) / block * block : size;
    }
    return (count * bits + 7) / 8;
}

/* ---- Running -------------------------------------------------------------------------------- */

void kernel_share(size_t *from, size_t *to, size_t count, uint32_t part, uint32_t parts)
{
    const size_t each = count / parts, rest = count % parts;
    *from = each * part + (part < rest ? part : rest);
    *to = *from + each + (part < rest);
}

pgy_status kernel_fault_status(int kind)
{
    return kind == KERNEL_FAULT_PLUGIN ? PGY_E_BACKEND : PGY_E_SHAPE;
}

const char *kernel_fault_text(pgy_status status)
{
    return status == PGY_E_BACKEND ? "its plug-in failed" : "an index is out of range";
}

void kernel_run_alone(const kernel *k, const kernel_plan *p, void *const *tensors, uint32_t parts)
{
    void *workspace = mem_alloc_aligned(64, p->workspace_bytes + 64);
    void *scratch = mem_alloc_aligned(64, p->scratch_bytes + 64);
    if (parts > p->parts) parts = p->parts;
    for (uint32_t phase = 0; workspace && scratch && phase < p->phases; phase++) {
        for (uint32_t part = 0; part < parts; part++) {
            const kernel_run r = {.self = k,
                                  .params = p->params,
                                  .packed = p->packed,
                                  .tensors = tensors,
                                  .workspace = workspace,
                                  .scratch = scratch,
                                  .phase = phase,
                                  .part = part,
                                  .parts = parts};
            k->run(&r);
        }
    }
    mem_free(workspace);
    mem_free(scratch);
}
