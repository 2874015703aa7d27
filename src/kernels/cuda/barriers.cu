// SPDX-License-Identifier: Apache-2.0
// Barriers in shared memory that count arrivals and bytes, from Hopper on. `barrier` is an address in shared memory.
#if !defined(EMULATED) && __CUDA_ARCH__ >= 900
DEVICE void barrier_init(uint32_t barrier, uint32_t arrivals) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(barrier), "r"(arrivals)); }
// Other blocks of the cluster see the barriers that were initialised, once they have waited for this one.
DEVICE void barriers_publish(void) { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
DEVICE void barrier_expect(uint32_t barrier, uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" : : "r"(barrier), "r"(bytes) : "memory");
}
DEVICE void barrier_wait(uint32_t barrier, uint32_t parity)
{
    asm volatile("{\n.reg .pred p;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra DONE;\nbra AGAIN;\nDONE:\n}"
                 : : "r"(barrier), "r"(parity) : "memory");
}
#endif
