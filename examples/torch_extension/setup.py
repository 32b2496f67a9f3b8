"""A wheel with the operators of ``mine/``, for torch 2.10 and later and every Python from 3.9 on."""

from pathlib import Path

from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

sources = [str(path) for ending in ("*.cu", "*_torch.cpp") for path in sorted(Path("mine").glob(ending))]
extension = CUDAExtension("mine._C", sources, py_limited_api=True)
setup(
    name="mine",
    version="0.1.0",
    packages=["mine"],
    ext_modules=[extension],
    cmdclass={"build_ext": BuildExtension},
    options={"bdist_wheel": {"py_limited_api": "cp39"}},
)
