// SPDX-License-Identifier: Apache-2.0
// What a step costs on a GPU, as a kernel of a graph and within one kernel that stays: nvcc -O3 -std=c++17 -gencode=arch=compute_90a,code=sm_90a
// gpu_steps.cu -o gpu_steps && ./gpu_steps (Hopper). Medians, us:
//
// - "small": a step that reads what another block wrote in the step before, and writes as much. A graph of kernels, also with each launched early, beside
//   one kernel with barriers between steps: one counter, a flag of each block, eight counters.
// - "product": 48 products of one row by the weights of GPT-2's layers, 170 MB, in 96 blocks. The weights of a step are in registers before the barrier or
//   the wait. "epochs": no barrier; beside each pair of numbers lies the number of its step, and readers wait for that.
// - "around": 100 early kernels with copies of an input and an output, by the copy engine and by kernels of the graph that read and write pinned memory.
//
// A barrier that waits too long ends the program.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e_ = (x); if (e_) { printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)
enum { LONGEST = 1 << 22, THREADS = 256, BLOCKS = 96, LAYERS = 12, MOST_BLOCKS = 1024 };

// ---- Barriers --------------------------------------------------------------------------------------

enum barrier_kind { COUNTER, FLAGS, COUNTERS };
struct barrier_room { uint32_t counts[8 * 32], flags[MOST_BLOCKS]; };

__device__ uint32_t look(const uint32_t *p)
{
    uint32_t v;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}
__device__ void await(const uint32_t *p, uint32_t wanted)
{
    for (uint32_t n = 0; look(p) < wanted; n++) if (n > LONGEST) __trap();
}
__device__ void add(uint32_t *p) { asm volatile("red.release.gpu.global.add.u32 [%0], 1;" : : "l"(p) : "memory"); }

template <int KIND> __device__ void barrier(barrier_room *r, uint32_t step)
{
    __syncthreads();
    if (KIND == FLAGS) {
        if (threadIdx.x == 0) asm volatile("st.release.gpu.global.u32 [%0], %1;" : : "l"(&r->flags[blockIdx.x]), "r"(step) : "memory");
        for (uint32_t i = threadIdx.x; i < gridDim.x; i += THREADS) await(&r->flags[i], step);
    } else {
        const uint32_t n = KIND == COUNTER ? 1 : 8;
        if (threadIdx.x == 0) add(&r->counts[blockIdx.x % n * 32]);
        if (threadIdx.x < n) await(&r->counts[threadIdx.x * 32], step * ((gridDim.x + n - 1 - threadIdx.x) / n));
    }
    __syncthreads();
}
__device__ void begin_early() { asm volatile("griddepcontrol.launch_dependents;" : : : "memory"); }
__device__ void wait_for_last() { asm volatile("griddepcontrol.wait;" : : : "memory"); }

// ---- Small steps -----------------------------------------------------------------------------------

__device__ void small_step(const float *x, float *y)
{
    y[blockIdx.x * THREADS + threadIdx.x] = __ldcg(x + (blockIdx.x * 37 + 1) % gridDim.x * THREADS + threadIdx.x) + 1;
}
__global__ void small(const float *x, float *y)
{
    begin_early();
    wait_for_last();
    small_step(x, y);
}
template <int KIND> __global__ void small_resident(float *x, float *y, barrier_room *r, int steps)
{
    for (int i = 0; i < steps; i++) {
        small_step(i % 2 ? y : x, i % 2 ? x : y);
        barrier<KIND>(r, (uint32_t)i + 1);
    }
}

// ---- Products of one row: a warp computes N / 768 columns ------------------------------------------

template <int N, int K> struct part {
    enum { COLUMNS = N / (BLOCKS * THREADS / 32), PACKS = K / 256 };
    uint4 w[COLUMNS * PACKS];
    float sum[COLUMNS];
    __device__ int first() const { return ((int)blockIdx.x * (THREADS / 32) + (int)threadIdx.x / 32) * COLUMNS; }
    __device__ void bring(const uint4 *from)
    {
#pragma unroll
        for (int i = 0; i < COLUMNS * PACKS; i++) {
            const uint4 *at = from + (size_t)(first() + i / PACKS) * (K / 8) + i % PACKS * 32 + threadIdx.x % 32;
            asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(w[i].x), "=r"(w[i].y), "=r"(w[i].z), "=r"(w[i].w) : "l"(at));
        }
    }
    template <typename LOAD> __device__ void compute(LOAD load)
    {
        uint4 x[PACKS];
#pragma unroll
        for (int l = 0; l < PACKS; l++) x[l] = load(l * 32 + (int)threadIdx.x % 32);
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            sum[c] = 0;
#pragma unroll
            for (int i = 0; i < PACKS * 4; i++) {
                const float2 a = __half22float2(((const half2 *)x)[i]), b = __half22float2(((const half2 *)(w + c * PACKS))[i]);
                sum[c] += a.x * b.x + a.y * b.y;
            }
#pragma unroll
            for (int lanes = 16; lanes; lanes /= 2) sum[c] += __shfl_xor_sync(~0u, sum[c], lanes);
        }
    }
    __device__ void run(const half *x, half *y)
    {
        compute([&](int i) { return __ldcg((const uint4 *)x + i); });
        for (int c = 0; c < COLUMNS && threadIdx.x % 32 == 0; c++) y[first() + c] = __float2half(sum[c]);
    }
    // x and y: pairs of numbers, each with the number of the step that wrote it. A block brings all of x to shared memory.
    __device__ void run_by_epochs(const uint4 *x, uint2 *y, uint32_t epoch, uint32_t *room)
    {
        enum { COUNT = K / 4, EACH = (COUNT + THREADS - 1) / THREADS, OWN = THREADS / 32 * COLUMNS / 2 };
        __shared__ half out[THREADS / 32 * 4];
        uint4 v[EACH];
        bool there = false;
        for (uint32_t n = 0; !there; n++) {
            there = true;
#pragma unroll
            for (int i = 0; i < EACH; i++) {
                const int at = (int)threadIdx.x + i * THREADS;
                if (at >= COUNT) continue;
                asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v[i].x), "=r"(v[i].y), "=r"(v[i].z), "=r"(v[i].w) : "l"(x + at) : "memory");
                there &= v[i].y == epoch && v[i].w == epoch;
            }
            if (n > LONGEST) __trap();
        }
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const int at = (int)threadIdx.x + i * THREADS;
            if (at < COUNT) room[at * 2] = v[i].x, room[at * 2 + 1] = v[i].z;
        }
        __syncthreads();
        compute([&](int i) { return ((const uint4 *)room)[i]; });
        for (int c = 0; c < COLUMNS && threadIdx.x % 32 == 0; c++) out[threadIdx.x / 32 * COLUMNS + c] = __float2half(sum[c]);
        __syncthreads();
        if (threadIdx.x < OWN)
            asm volatile("st.relaxed.gpu.global.v2.u32 [%0], {%1, %2};" : : "l"(y + blockIdx.x * OWN + threadIdx.x), "r"(((const uint32_t *)out)[threadIdx.x]), "r"(epoch + 1) : "memory");
    }
};
typedef part<2304, 768> part_qkv;
typedef part<768, 768> part_out;
typedef part<3072, 768> part_up;
typedef part<768, 3072> part_down;

template <typename PART> __global__ void product(const uint4 *w, const half *x, half *y)
{
    PART p;
    begin_early();
    p.bring(w);
    wait_for_last();
    p.run(x, y);
}
struct layer { const uint4 *qkv, *out, *up, *down; };
struct layers { layer at[LAYERS]; };

template <int KIND> __global__ void __launch_bounds__(THREADS) products(const __grid_constant__ layers m, half *x, half *y, barrier_room *r)
{
    part_qkv qkv;
    part_out out;
    part_up up;
    part_down down;
    uint32_t step = 0;
    qkv.bring(m.at[0].qkv);
#pragma unroll 1
    for (int l = 0; l < LAYERS; l++) {
        qkv.run(x, y);
        out.bring(m.at[l].out);
        barrier<KIND>(r, ++step);
        out.run(y, x);
        up.bring(m.at[l].up);
        barrier<KIND>(r, ++step);
        up.run(x, y);
        down.bring(m.at[l].down);
        barrier<KIND>(r, ++step);
        down.run(y, x);
        qkv.bring(m.at[l + 1 < LAYERS ? l + 1 : l].qkv);
        barrier<KIND>(r, ++step);
    }
}
__global__ void __launch_bounds__(THREADS) products_by_epochs(const __grid_constant__ layers m, uint4 *a, uint4 *b, uint4 *c, uint4 *d, uint32_t epoch)
{
    __shared__ __align__(16) uint32_t room[2][1536];
    part_qkv qkv;
    part_out out;
    part_up up;
    part_down down;
    qkv.bring(m.at[0].qkv);
#pragma unroll 1
    for (int l = 0; l < LAYERS; l++) {
        qkv.run_by_epochs(a, (uint2 *)b, epoch++, room[0]);
        out.bring(m.at[l].out);
        out.run_by_epochs(b, (uint2 *)c, epoch++, room[1]);
        up.bring(m.at[l].up);
        up.run_by_epochs(c, (uint2 *)d, epoch++, room[0]);
        down.bring(m.at[l].down);
        down.run_by_epochs(d, (uint2 *)a, epoch++, room[1]);
        qkv.bring(m.at[l + 1 < LAYERS ? l + 1 : l].qkv);
    }
}
__global__ void begin_epochs(uint4 *a, uint32_t epoch) { a[threadIdx.x] = make_uint4(0x3c003c00, epoch, 0x3c003c00, epoch); }

// ---- Copies ----------------------------------------------------------------------------------------

__global__ void copy(uint4 *to, const uint4 *from, int count)
{
    begin_early();
    wait_for_last();
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < count; i += gridDim.x * THREADS) {
        uint4 v;
        asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(from + i));
        to[i] = v;
    }
}

// ---- Measuring -------------------------------------------------------------------------------------

static cudaStream_t stream;

static double middle(std::vector<double> t)
{
    std::sort(t.begin(), t.end());
    return t[t.size() / 2];
}
template <typename F> static double device_us(F f)
{
    cudaEvent_t begin, end;
    std::vector<double> t;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    for (int i = 0; i < 33; i++) {
        float ms;
        CHECK(cudaEventRecord(begin, stream));
        f();
        CHECK(cudaEventRecord(end, stream));
        CHECK(cudaEventSynchronize(end));
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        if (i >= 3) t.push_back(ms * 1e3);
    }
    return middle(t);
}
template <typename F> static double host_us(F f)
{
    typedef std::chrono::steady_clock clock;
    std::vector<double> t;
    for (int i = 0; i < 220; i++) {
        const clock::time_point begin = clock::now();
        f();
        if (i >= 20) t.push_back(std::chrono::duration<double, std::micro>(clock::now() - begin).count());
    }
    return middle(t);
}
template <typename F> static cudaGraphExec_t capture(F f)
{
    cudaGraph_t g;
    cudaGraphExec_t made;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    f();
    CHECK(cudaStreamEndCapture(stream, &g));
    CHECK(cudaGraphInstantiateWithFlags(&made, g, 0));
    return made;
}
template <typename... P, typename... A> static void launch(void (*kernel)(P...), int blocks, bool early, A... a)
{
    cudaLaunchAttribute attribute;
    cudaLaunchConfig_t c = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    c.gridDim = blocks;
    c.blockDim = THREADS;
    c.stream = stream;
    c.attrs = &attribute;
    c.numAttrs = early;
    CHECK(cudaLaunchKernelEx(&c, kernel, P(a)...));
}
static void launch_together(const void *kernel, int blocks, void **arguments, barrier_room *r)
{
    if (r) CHECK(cudaMemsetAsync(r, 0, sizeof *r, stream));
    CHECK(cudaLaunchCooperativeKernel(kernel, dim3(blocks), dim3(THREADS), arguments, 0, stream));
}
template <typename T> static T *room_of(size_t bytes, int byte)
{
    T *made;
    CHECK(cudaMalloc(&made, bytes));
    CHECK(cudaMemset(made, byte, bytes));
    return made;
}

static void measure_small(int blocks, barrier_room *r)
{
    float *x = room_of<float>(1 << 20, 0), *y = room_of<float>(1 << 20, 0);
    const void *const residents[] = {(const void *)small_resident<COUNTER>, (const void *)small_resident<FLAGS>, (const void *)small_resident<COUNTERS>};
    double t[2];
    printf("small, %d blocks:", blocks);
    for (int early = 0; early < 2; early++) {
        for (int i = 0; i < 2; i++) {
            cudaGraphExec_t g = capture([&] { for (int k = 0; k < (i ? 220 : 20); k++) launch(small, blocks, early, k % 2 ? y : x, k % 2 ? x : y); });
            t[i] = device_us([&] { CHECK(cudaGraphLaunch(g, stream)); });
        }
        printf(" %s %.3f;", early ? "launched early" : "graph", (t[1] - t[0]) / 200);
    }
    for (int kind = 0; kind < 3; kind++) {
        for (int i = 0; i < 2; i++) {
            int steps = i ? 1100 : 100;
            void *arguments[] = {&x, &y, &r, &steps};
            t[i] = device_us([&] { launch_together(residents[kind], blocks, arguments, r); });
        }
        printf(" %s %.3f;", kind == COUNTER ? "counter" : kind == FLAGS ? "flags" : "eight counters", (t[1] - t[0]) / 1000);
    }
    printf("\n");
}

static void measure_products(barrier_room *r)
{
    std::vector<half> numbers(3072 * 768);
    for (half &v : numbers) v = __float2half((rand() % 2001 - 1000) * 3e-5f);
    layers m;
    const uint4 **const all = (const uint4 **)&m;
    for (int i = 0; i < LAYERS * 4; i++) {
        void *w = room_of<void>(numbers.size() * sizeof(half), 0);
        CHECK(cudaMemcpy(w, numbers.data(), numbers.size() * sizeof(half), cudaMemcpyHostToDevice));
        all[i] = (const uint4 *)w;
    }
    half *x = room_of<half>(16384, 0x30), *y = room_of<half>(16384, 0x30);
    printf("product:");
    for (int early = 0; early < 2; early++) {
        cudaGraphExec_t g = capture([&] {
            for (const layer &l : m.at) {
                launch(product<part_qkv>, BLOCKS, early, l.qkv, x, y);
                launch(product<part_out>, BLOCKS, early, l.out, y, x);
                launch(product<part_up>, BLOCKS, early, l.up, x, y);
                launch(product<part_down>, BLOCKS, early, l.down, y, x);
            }
        });
        printf(" %s %.1f;", early ? "launched early" : "graph", device_us([&] { CHECK(cudaGraphLaunch(g, stream)); }));
    }
    void *arguments[] = {&m, &x, &y, &r};
    const double clearing = device_us([&] { CHECK(cudaMemsetAsync(r, 0, sizeof *r, stream)); });
    printf(" counter %.1f;", device_us([&] { launch_together((const void *)products<COUNTER>, BLOCKS, arguments, r); }) - clearing);
    uint4 *q[4];
    for (uint4 *&v : q) v = room_of<uint4>(32768, 0);
    uint32_t epoch = 1;
    void *others[] = {&m, &q[0], &q[1], &q[2], &q[3], &epoch};
    const double starting = device_us([&] { begin_epochs<<<1, 192, 0, stream>>>(q[0], epoch); });
    printf(" epochs %.1f\n", device_us([&] {
        epoch += 100;
        begin_epochs<<<1, 192, 0, stream>>>(q[0], epoch);
        launch_together((const void *)products_by_epochs, BLOCKS, others, NULL);
    }) - starting);
}

static void measure_around(int in, int out)
{
    float *x = room_of<float>(1 << 20, 0), *y = room_of<float>(1 << 20, 0);
    std::vector<char> user(1 << 20, 1);
    char *pinned;
    CHECK(cudaHostAlloc(&pinned, 2 << 20, cudaHostAllocPortable | cudaHostAllocMapped));
    char *const back = pinned + (1 << 20);
    const auto kernels = [&] { for (int k = 0; k < 100; k++) launch(small, 132, true, k % 2 ? y : x, k % 2 ? x : y); };
    cudaGraphExec_t alone = capture(kernels), whole = capture([&] {
        launch(copy, 64, true, (uint4 *)x, (const uint4 *)pinned, in / 16);
        kernels();
        launch(copy, 16, true, (uint4 *)back, (const uint4 *)x, out / 16);
    });
    const double bare = host_us([&] { CHECK(cudaGraphLaunch(alone, stream)); CHECK(cudaStreamSynchronize(stream)); });
    const double engine = host_us([&] {
        memcpy(pinned, user.data(), in);
        CHECK(cudaMemcpyAsync(x, pinned, in, cudaMemcpyHostToDevice, stream));
        CHECK(cudaGraphLaunch(alone, stream));
        CHECK(cudaMemcpyAsync(back, x, out, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamSynchronize(stream));
        memcpy(user.data(), back, out);
    });
    const double kernel = host_us([&] {
        memcpy(pinned, user.data(), in);
        CHECK(cudaGraphLaunch(whole, stream));
        CHECK(cudaStreamSynchronize(stream));
        memcpy(user.data(), back, out);
    });
    printf("around, %d bytes in, %d out: no copies %.1f; copy engine %.1f; kernels %.1f\n", in, out, bare, engine, kernel);
}

int main()
{
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    barrier_room *r = room_of<barrier_room>(sizeof *r, 0);
    for (int blocks : {132, 264, 528}) measure_small(blocks, r);
    measure_products(r);
    measure_around(16, 100512);
    measure_around(301056, 2000);
    measure_around(602112, 2000);
    return 0;
}
