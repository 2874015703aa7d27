/* SPDX-License-Identifier: Apache-2.0 */
/* The table of kernels, and functions that all kernels share. Look-ups only happen when a program
 * is built, so a linear search is fast enough. */
#include "kernels/kernel.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "kernels/half_adapter.h"
#include "kernels/launch.h"
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

/* All families, then the 16-bit adapters made from them. */
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
    if (!strstr(ops, op)) return false; /* rejects most lists without splitting them into words */
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

/* ---- Kernels of devices --------------------------------------------------------------------- */

enum { MAX_OFFERED = 256 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const kernel *offered[MAX_OFFERED];
static size_t offered_count;

pgy_status kernel_offer(const kernel *table, pgy_error *err)
{
    pthread_mutex_lock(&lock);
    const bool room = offered_count < MAX_OFFERED;
    if (room) offered[offered_count++] = table;
    pthread_mutex_unlock(&lock);
    return room ? PGY_OK
                : pgy_error_set(err, PGY_E_MEMORY,
                                "there is no room for another table of kernels: a process has at "
                                "most %d",
                                MAX_OFFERED);
}

void kernel_withdraw(const kernel *table)
{
    pthread_mutex_lock(&lock);
    size_t kept = 0;
    for (size_t i = 0; i < offered_count; i++)
        if (offered[i] != table) offered[kept++] = offered[i];
    offered_count = kept;
    pthread_mutex_unlock(&lock);
}

static const kernel *offered_kernel(size_t i)
{
    const kernel *found = NULL;
    pthread_mutex_lock(&lock);
    for (size_t t = 0; !found && t < offered_count; t++)
        for (const kernel *k = offered[t]; !found && k->name; k++)
            if (i-- == 0) found = k;
    pthread_mutex_unlock(&lock);
    return found;
}

/* Kernels added at run time: those of plug-ins, then those of devices. */
static const kernel *added_kernel(size_t i)
{
    size_t plugins = 0;
    const kernel *k = plugin_kernel(i);
    if (k) return k;
    while (plugin_kernel(plugins)) plugins++;
    return offered_kernel(i - plugins);
}

/* ---- Look-ups ------------------------------------------------------------------------------- */

const kernel *kernel_for(const char *domain, const char *op, size_t i)
{
    const cpu_level has = cpu_features();
    for (const kernel *const *family = all_tables(); *family; family++)
        for (const kernel *k = *family; k->name; k++)
            if (k->needs <= has && lists(k->ops, domain, op) && i-- == 0) return k;
    const kernel *k = NULL;
    for (size_t n = 0; (k = added_kernel(n)); n++)
        if (lists(k->ops, domain, op) && i-- == 0) return k;
    return NULL;
}

const kernel *kernel_at(size_t i)
{
    const cpu_level has = cpu_features();
    for (const kernel *const *family = all_tables(); *family; family++)
        for (const kernel *k = *family; k->name; k++)
            if (k->needs <= has && i-- == 0) return k;
    return added_kernel(i);
}

const kernel *kernel_find(const char *name, uint16_t version)
{
    const cpu_level has = cpu_features();
    for (const kernel *const *family = all_tables(); *family; family++)
        for (const kernel *k = *family; k->name; k++)
            if (strcmp(k->name, name) == 0 && k->version == version && k->needs <= has) return k;
    const kernel *k = NULL;
    for (size_t n = 0; (k = added_kernel(n)); n++)
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
    launch l = launch_of(k, p, parts);
    l.run.tensors = tensors;
    l.run.workspace = workspace;
    l.scratch = scratch;
    if (workspace && scratch) (void)launch_alone(&l);
    mem_free(workspace);
    mem_free(scratch);
}
