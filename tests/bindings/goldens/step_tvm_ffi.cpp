// Made by kgen 0.1.0 from the text below. Do not edit; remake it with
//     kgen compile - -o step.cu --dtype p=f32,g=bf16 --layout any --name step --abi tvm-ffi
//
//     inout p; param lr: float; param on: bool = true; p = on ? p - lr * g : p; big = g > 1
//
// The launcher of step as a function of TVM-FFI: step(p, g, big, lr, on).
// Results are arguments, in tensors that the caller allocates.  It runs on the current stream of their device.
#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdio.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

#include "step.h"

namespace kgen_step_tvm_ffi {

static_assert(sizeof(kgen_array) == sizeof(DLTensor) &&
                  offsetof(kgen_array, byte_offset) == offsetof(DLTensor, byte_offset),
              "the launcher takes DLPack's tensors as they are");

// Raises an error in the caller.
static int fail(const char* kind, const char* message)
{
    const char* parts[] = {"step: ", message};
    TVMFFIErrorSetRaisedFromCStrParts(kind, parts, 2);
    return -1;
}

static int fail_at(const char* name, const char* expected)
{
    char text[256];
    snprintf(text, sizeof(text), "%s: not %s", name, expected);
    return fail("TypeError", text);
}

// The tensor of an argument; null where that is none.
static const DLTensor* read_tensor(const TVMFFIAny& from)
{
    if (from.type_index == kTVMFFITensor) {
        return reinterpret_cast<const DLTensor*>(reinterpret_cast<const char*>(from.v_obj) + sizeof(TVMFFIObject));
    }
    return from.type_index == kTVMFFIDLTensorPtr ? static_cast<const DLTensor*>(from.v_ptr) : nullptr;
}

// Reads 3 tensors, which have to be on one CUDA device.
static int read_tensors(const TVMFFIAny* from, const DLTensor** tensors)
{
    static const char* const names[] = {"p", "g", "big"};
    for (int i = 0; i < 3; ++i) {
        tensors[i] = read_tensor(from[i]);
        if (tensors[i] == nullptr) return fail_at(names[i], "a tensor");
        const DLDevice device = tensors[i]->device;
        if (device.device_type != kDLCUDA && device.device_type != kDLCUDAManaged) {
            return fail_at(names[i], "a tensor on a CUDA device");
        }
        if (device.device_id != tensors[0]->device.device_id) {
            return fail_at(names[i], "on the device of p");
        }
    }
    return 0;
}

static bool read_float(const TVMFFIAny& from, double* to)
{
    const bool is_integer = from.type_index == kTVMFFIInt || from.type_index == kTVMFFIBool;
    *to = is_integer ? static_cast<double>(from.v_int64) : from.v_float64;
    return is_integer || from.type_index == kTVMFFIFloat;
}

template <typename T>
static bool read_integer(const TVMFFIAny& from, T* to)
{
    *to = static_cast<T>(from.v_int64);
    return from.type_index == kTVMFFIInt || from.type_index == kTVMFFIBool;
}

// What a status of the launcher means, as an error.
static int check(int status)
{
    if (status == KGEN_SUCCESS) return 0;
    return fail(status < 0 ? "RuntimeError" : "ValueError", step_error_string(status));
}

// Makes a device the current one, while this object lives.
class DeviceGuard {
public:
    explicit DeviceGuard(int device)
    {
        cudaGetDevice(&before_);
        has_changed_ = before_ != device && cudaSetDevice(device) == cudaSuccess;
    }
    ~DeviceGuard()
    {
        if (has_changed_) cudaSetDevice(before_);
    }
    DeviceGuard(const DeviceGuard&) = delete;
    DeviceGuard& operator=(const DeviceGuard&) = delete;

private:
    int before_ = 0;
    bool has_changed_ = false;
};

}  // namespace kgen_step_tvm_ffi

extern "C" TVM_FFI_DLL_EXPORT int __tvm_ffi_step(void* /* handle */, const TVMFFIAny* args, int32_t num_args,
                                                 TVMFFIAny* result)
{
    using namespace kgen_step_tvm_ffi;
    const DLTensor* tensors[3];
    if (num_args != 5) return fail("TypeError", "takes 5 arguments: p, g, big, lr, on");
    if (const int status = read_tensors(args, tensors)) return status;
    const kgen_array* const p_array = reinterpret_cast<const kgen_array*>(tensors[0]);
    const kgen_array* const g_array = reinterpret_cast<const kgen_array*>(tensors[1]);
    const kgen_array* const big_array = reinterpret_cast<const kgen_array*>(tensors[2]);
    double lr_value = 0;
    if (!read_float(args[3], &lr_value)) {
        return fail_at("lr", "a float");
    }
    int on_value = 0;
    if (!read_integer(args[4], &on_value)) {
        return fail_at("on", "an integer");
    }
    const DLDevice device = tensors[0]->device;
    const DeviceGuard guard(device.device_id);
    const cudaStream_t stream = static_cast<cudaStream_t>(TVMFFIEnvGetStream(kDLCUDA, device.device_id));
    result->type_index = kTVMFFINone;
    return check(step_launch(p_array, g_array, big_array, lr_value, on_value, nullptr, 0, stream));
}
