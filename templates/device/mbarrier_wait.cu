// Waits until all bytes of this phase of this block's mbarrier have arrived.
// parity: the number of the phase, modulo 2.
static __device__ __forceinline__ void mbarrier_wait(unsigned long long& arrived, unsigned int parity)
{
    const unsigned int at = (unsigned int)__cvta_generic_to_shared(&arrived);
    unsigned int done = 0;
    while (!done) {
        asm volatile("{\n"
                     ".reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, p;\n"
                     "}" : "=r"(done) : "r"(at), "r"(parity) : "memory");
    }
}
