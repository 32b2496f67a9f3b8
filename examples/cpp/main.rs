//! Calls axpy.k from Rust, without crates.
use std::ffi::{c_char, c_int, c_void, CStr};
use std::ptr::null_mut;

#[repr(C)]
#[derive(Clone, Copy)]
struct DType {
    code: u8,
    bits: u8,
    lanes: u16,
}

#[repr(C)]
struct Array {
    data: *mut c_void,
    device_type: i32,
    device_id: i32,
    ndim: i32,
    dtype: DType,
    shape: *const i64,
    strides: *const i64,
    byte_offset: u64,
}

#[link(name = "kernels")]
extern "C" {
    fn axpy_launch(
        x: *const Array,
        y: *const Array,
        out: *const Array,
        a: f64,
        workspace: *mut c_void,
        workspace_bytes: usize,
        stream: *mut c_void,
    ) -> c_int;
    fn axpy_error_string(status: c_int) -> *const c_char;
}

extern "C" {
    fn cudaMalloc(memory: *mut *mut c_void, bytes: usize) -> c_int;
    fn cudaMemcpy(to: *mut c_void, from: *const c_void, bytes: usize, kind: c_int) -> c_int;
}

const FLOAT32: DType = DType { code: 2, bits: 32, lanes: 1 };
const TO_DEVICE: c_int = 1;
const TO_HOST: c_int = 2;

fn on_device(values: &[f32]) -> *mut c_void {
    let mut memory = null_mut();
    let bytes = std::mem::size_of_val(values);
    let status = unsafe {
        cudaMalloc(&mut memory, bytes) | cudaMemcpy(memory, values.as_ptr().cast(), bytes, TO_DEVICE)
    };
    if status != 0 {
        println!("CUDA's error {status}");
        std::process::exit(2);
    }
    memory
}

fn main() {
    let x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let y = vec![1.0f32; 1000];
    let mut out = vec![0.0f32; 1000];
    let shape = [1000i64];
    let array = |data| Array {
        data,
        device_type: 2,
        device_id: 0,
        ndim: 1,
        dtype: FLOAT32,
        shape: shape.as_ptr(),
        strides: std::ptr::null(),
        byte_offset: 0,
    };
    let (x_array, y_array, out_array) = (array(on_device(&x)), array(on_device(&y)), array(on_device(&out)));
    let status = unsafe { axpy_launch(&x_array, &y_array, &out_array, 2.0, null_mut(), 0, null_mut()) };
    if status != 0 {
        let text = unsafe { CStr::from_ptr(axpy_error_string(status)) };
        panic!("axpy: {}", text.to_string_lossy());
    }
    let status = unsafe { cudaMemcpy(out.as_mut_ptr().cast(), out_array.data, 4000, TO_HOST) };
    assert_eq!(status, 0, "CUDA's error");
    let wrong = (0..1000).filter(|&i| out[i] != 2.0 * x[i] + y[i]).count();
    println!("{wrong} wrong elements");
    std::process::exit(if wrong == 0 { 0 } else { 1 });
}
