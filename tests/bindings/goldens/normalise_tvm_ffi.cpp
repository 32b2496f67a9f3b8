// Made by kgen 0.1.0 from the text below. Do not edit; remake it with
//     kgen compile - -o normalise.cu --dtype x=f32 --shape x=64x100000 --name normalise --abi tvm-ffi
//
//     out = x - max(x) + sum(x)
//
// The launcher of normalise as a function of TVM-FFI: normalise(x, out, workspace=None).
// Results are arguments, in tensors that the caller allocates.  It runs on the current stream of their device.
// Without a workspace (a tensor of uint8) it allocates one, of normalise_workspace_size(x, out) bytes.
#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdio.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

#include "normalise.h"

namespace kgen_normalise_tvm_ffi {

static_assert(sizeof(kgen_array) == sizeof(DLTensor) &&
                  offsetof(kgen_array, byte_offset) == offsetof(DLTensor, byte_offset),
              "the launcher takes DLPack's tensors as they are");

// Raises an error in the caller.
static int fail(const char* kind, const char* message)
{
    const char* parts[] = {"normalise: ", message};
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

// Reads 2 tensors, which have to be on one CUDA device.
static int read_tensors(const TVMFFIAny* from, const DLTensor** tensors)
{
    static const char* const names[] = {"x", "out"};
    for (int i = 0; i < 2; ++i) {
        tensors[i] = read_tensor(from[i]);
        if (tensors[i] == nullptr) return fail_at(names[i], "a tensor");
        const DLDevice device = tensors[i]->device;
        if (device.device_type != kDLCUDA && device.device_type != kDLCUDAManaged) {
            return fail_at(names[i], "a tensor on a CUDA device");
        }
        if (device.device_id != tensors[0]->device.device_id) {
            return fail_at(names[i], "on the device of x");
        }
    }
    return 0;
}

// What a status of the launcher means, as an error.
static int check(int status)
{
    if (status == KGEN_SUCCESS) return 0;
    return fail(status < 0 ? "RuntimeError" : "ValueError", normalise_error_string(status));
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

// Memory for one call: an argument, or of the environment's allocator.
class Workspace {
public:
    ~Workspace()
    {
        if (owner_ != nullptr) TVMFFIObjectDecRef(owner_);
    }
    Workspace() = default;
    Workspace(const Workspace&) = delete;
    Workspace& operator=(const Workspace&) = delete;

    void take(const DLTensor* given)
    {
        int64_t size = given->dtype.bits / 8;
        for (int i = 0; i < given->ndim; ++i) size *= given->shape[i];
        align(given, size);
    }

    int allocate(DLDevice device, size_t needed)
    {
        if (needed == 0) return 0;
        int64_t size = static_cast<int64_t>(needed) + 255;
        DLTensor like = {nullptr, device, 1, {kDLUInt, 8, 1}, &size, nullptr, 0};
        if (const int status = TVMFFIEnvTensorAlloc(&like, &owner_)) return status;
        TVMFFIAny made = {};
        made.type_index = kTVMFFITensor;
        made.v_obj = static_cast<TVMFFIObject*>(owner_);
        align(read_tensor(made), size);
        return 0;
    }

    void* address = nullptr;
    size_t bytes = 0;

private:
    // The part from the first multiple of 256 bytes on.
    void align(const DLTensor* tensor, int64_t size)
    {
        char* const start = static_cast<char*>(tensor->data) + tensor->byte_offset;
        const size_t skipped = (256 - reinterpret_cast<uintptr_t>(start) % 256) % 256;
        address = start + skipped;
        bytes = static_cast<size_t>(size) > skipped ? static_cast<size_t>(size) - skipped : 0;
    }

    TVMFFIObjectHandle owner_ = nullptr;
};

}  // namespace kgen_normalise_tvm_ffi

extern "C" TVM_FFI_DLL_EXPORT int __tvm_ffi_normalise(void* /* handle */, const TVMFFIAny* args, int32_t num_args,
                                                      TVMFFIAny* result)
{
    using namespace kgen_normalise_tvm_ffi;
    const DLTensor* tensors[2];
    const bool is_given = num_args == 3 && args[2].type_index != kTVMFFINone;
    if (num_args != 2 && num_args != 3) {
        return fail("TypeError", "takes 2 arguments and a workspace: x, out, workspace=None");
    }
    if (const int status = read_tensors(args, tensors)) return status;
    const kgen_array* const x_array = reinterpret_cast<const kgen_array*>(tensors[0]);
    const kgen_array* const out_array = reinterpret_cast<const kgen_array*>(tensors[1]);
    const DLDevice device = tensors[0]->device;
    const DeviceGuard guard(device.device_id);
    const cudaStream_t stream = static_cast<cudaStream_t>(TVMFFIEnvGetStream(kDLCUDA, device.device_id));
    Workspace memory;
    if (is_given) {
        const DLTensor* const given = read_tensor(args[2]);
        if (given == nullptr) return fail_at("workspace", "a tensor");
        memory.take(given);
    } else {
        size_t needed = 0;
        if (const int status = check(normalise_workspace_size(x_array, out_array, &needed))) return status;
        if (const int status = memory.allocate(device, needed)) return status;
    }
    void* const workspace = memory.address;
    const size_t workspace_bytes = memory.bytes;
    result->type_index = kTVMFFINone;
    return check(normalise_launch(x_array, out_array, workspace, workspace_bytes, stream));
}

// The bytes that a workspace of any address needs.
extern "C" TVM_FFI_DLL_EXPORT int __tvm_ffi_normalise_workspace_size(void* /* handle */, const TVMFFIAny* args,
                                                                     int32_t num_args, TVMFFIAny* result)
{
    using namespace kgen_normalise_tvm_ffi;
    const DLTensor* tensors[2];
    if (num_args != 2) return fail("TypeError", "the size of the workspace takes x, out");
    if (const int status = read_tensors(args, tensors)) return status;
    const kgen_array* const x_array = reinterpret_cast<const kgen_array*>(tensors[0]);
    const kgen_array* const out_array = reinterpret_cast<const kgen_array*>(tensors[1]);
const DeviceGuard guard(tensors[0]->device.device_id);
    size_t needed = 0;
    if (const int status = check(normalise_workspace_size(x_array, out_array, &needed))) return status;
    result->type_index = kTVMFFIInt;
    result->v_int64 = needed == 0 ? 0 : static_cast<int64_t>(needed) + 255;
    return 0;
}
