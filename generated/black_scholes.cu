// Made by kgen 0.1.0 from black_scholes.k. Do not edit; remake it with
//     kgen compile black_scholes.k -o black_scholes.cu --dtype spot=f64,strike=f64,years=f64 --layout contiguous
//
//     # European options by Black and Scholes: spot price, strike, years to expiry; one rate and volatility for all.
//     input spot, strike, years
//     param rate = 0.02                                   # no dtype: it takes that of the arrays
//     param volatility = 0.3
//
//     def cdf(d) = 0.5 * erfc(-d / sqrt(2))              # of the normal distribution
//
//     let spread = volatility * sqrt(years)
//     let d1 = (log(spot / strike) + (rate + volatility ** 2 / 2) * years) / spread
//     let d2 = d1 - spread
//     let discounted = strike * exp(-rate * years)
//
//     call_price = spot * cdf(d1) - discounted * cdf(d2)
//     put_price  = discounted * cdf(-d2) - spot * cdf(-d1)
//
// Inputs:  spot: float64, strike: float64, years: float64, volatility: float64 (by value), rate: float64 (by value)
// Outputs: call_price: float64, put_price: float64
//
// Layout: contiguous.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

namespace kgen_black_scholes {

// N consecutive elements, loaded and stored by accesses of Bytes bytes.
template <typename T, int N, int Bytes>
struct alignas(Bytes) Pack {
    T at[N];
};

// Programmatic dependent launch: waits until the kernels before this one are complete and their writes are visible.
// Every thread calls it before its first access to global memory.
static __device__ __forceinline__ void wait_for_earlier_kernels()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Programmatic dependent launch: the next kernel in the stream may start once all blocks are here or have ended.  It
// waits for this one before it accesses memory.
static __device__ __forceinline__ void let_next_kernel_start()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

// One element.
static __device__ __forceinline__ void
black_scholes_element(const double spot_v,
                      const double strike_v,
                      const double years_v,
                      const double volatility_v,
                      const double rate_v,
                      double& call_price_v,
                      double& put_price_v)
{
    // let spread = volatility * sqrt(years)
    const double spread_v = volatility_v * sqrt(years_v);
    // let d1 = (log(spot / strike) + (rate + volatility ** 2 / 2) * years) / spread
    const double t = log(spot_v / strike_v) + (rate_v + volatility_v * volatility_v * 0.5) * years_v;
    const double d1_v = t / spread_v;
    // let d2 = d1 - spread
    const double d2_v = d1_v - spread_v;
    // let discounted = strike * exp(-rate * years)
    const double discounted_v = strike_v * exp(-rate_v * years_v);
    // call_price = spot * cdf(d1) - discounted * cdf(d2)
    const double t2 = -d1_v / 1.4142135623730951;
    const double t3 = erfc(fabs(t2));
    const double t4 = 2.0 - t3;
    const bool t5 = t2 < 0.0;
    const double t6 = -d2_v / 1.4142135623730951;
    const double t7 = erfc(fabs(t6));
    const double t8 = 2.0 - t7;
    const bool t9 = t6 < 0.0;
    call_price_v = spot_v * (0.5 * (t5 ? t4 : t3)) - discounted_v * (0.5 * (t9 ? t8 : t7));
    // put_price  = discounted * cdf(-d2) - spot * cdf(-d1)
    put_price_v = discounted_v * (0.5 * (t9 ? t7 : t8)) - spot_v * (0.5 * (t5 ? t3 : t4));
}

// Operands in memory order, 2 elements a thread.
// Launch: ceil(n / 512) blocks of 256 threads (a divisor of every SM's threads), for n < 2^31 elements.
// Alignment, in bytes: 16 for call_price, put_price, spot, strike and years.
// No other operand may overlap call_price and put_price in memory.
extern "C" __global__ void __launch_bounds__(256)
black_scholes_contiguous(const double* spot_ptr,
                         const double* strike_ptr,
                         const double* years_ptr,
                         double* __restrict__ call_price_ptr,
                         double* __restrict__ put_price_ptr,
                         const double volatility_v,
                         const double rate_v,
                         const unsigned int n)
{
    const unsigned int i = 2u * (blockIdx.x * 256u + threadIdx.x);  // the first of this thread's 2 elements
    wait_for_earlier_kernels();
    if (i + 2 <= n) {
        const auto spot_vec = *reinterpret_cast<const Pack<double, 2, 16>*>(spot_ptr + i);
        const auto strike_vec = *reinterpret_cast<const Pack<double, 2, 16>*>(strike_ptr + i);
        const auto years_vec = *reinterpret_cast<const Pack<double, 2, 16>*>(years_ptr + i);
        Pack<double, 2, 16> call_price_vec;
        Pack<double, 2, 16> put_price_vec;
        #pragma unroll
        for (int j = 0; j < 2; ++j) {
            black_scholes_element(spot_vec.at[j], strike_vec.at[j], years_vec.at[j], volatility_v,
                                  rate_v, call_price_vec.at[j], put_price_vec.at[j]);
        }
        *reinterpret_cast<Pack<double, 2, 16>*>(call_price_ptr + i) = call_price_vec;
        *reinterpret_cast<Pack<double, 2, 16>*>(put_price_ptr + i) = put_price_vec;
    } else {
        #pragma unroll 1
        for (unsigned int e = i; e < n; ++e) {
            black_scholes_element(spot_ptr[e], strike_ptr[e], years_ptr[e], volatility_v, rate_v,
                                  call_price_ptr[e], put_price_ptr[e]);
        }
    }
    let_next_kernel_start();
}

// Operands in memory order, 2 elements a thread. Indices are 64-bit.
// Launch: ceil(n / 512) blocks of 256 threads (a divisor of every SM's threads), for n elements.
// Alignment, in bytes: 16 for call_price, put_price, spot, strike and years.
// No other operand may overlap call_price and put_price in memory.
extern "C" __global__ void __launch_bounds__(256)
black_scholes_contiguous_64bit(const double* spot_ptr,
                               const double* strike_ptr,
                               const double* years_ptr,
                               double* __restrict__ call_price_ptr,
                               double* __restrict__ put_price_ptr,
                               const double volatility_v,
                               const double rate_v,
                               const long long n)
{
    const long long i = 2 * (blockIdx.x * 256ll + threadIdx.x);  // the first of this thread's 2 elements
    wait_for_earlier_kernels();
    if (i + 2 <= n) {
        const auto spot_vec = *reinterpret_cast<const Pack<double, 2, 16>*>(spot_ptr + i);
        const auto strike_vec = *reinterpret_cast<const Pack<double, 2, 16>*>(strike_ptr + i);
        const auto years_vec = *reinterpret_cast<const Pack<double, 2, 16>*>(years_ptr + i);
        Pack<double, 2, 16> call_price_vec;
        Pack<double, 2, 16> put_price_vec;
        #pragma unroll
        for (int j = 0; j < 2; ++j) {
            black_scholes_element(spot_vec.at[j], strike_vec.at[j], years_vec.at[j], volatility_v,
                                  rate_v, call_price_vec.at[j], put_price_vec.at[j]);
        }
        *reinterpret_cast<Pack<double, 2, 16>*>(call_price_ptr + i) = call_price_vec;
        *reinterpret_cast<Pack<double, 2, 16>*>(put_price_ptr + i) = put_price_vec;
    } else {
        #pragma unroll 1
        for (long long e = i; e < n; ++e) {
            black_scholes_element(spot_ptr[e], strike_ptr[e], years_ptr[e], volatility_v, rate_v,
                                  call_price_ptr[e], put_price_ptr[e]);
        }
    }
    let_next_kernel_start();
}

}  // namespace kgen_black_scholes
