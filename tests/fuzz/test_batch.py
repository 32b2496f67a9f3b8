"""What a batch compiles as one text."""

from __future__ import annotations

from tests.fuzz.batch import Batch

KERNEL = """\
namespace kgen_{number} {{
extern "C" __global__ void {name}(float* x_ptr)
{{
    x_ptr[0] = {number};
}}
}}  // namespace kgen_{number}
"""


def test_a_kernel_that_gets_another_name_gets_no_other_kernels() -> None:
    """The third text's kernel is called as the first's is, and the second's as one with a number would be."""
    batch = Batch()
    for number, name in enumerate(("k", "k_2", "k", "k_3", "k")):
        text = KERNEL.format(number=number, name=name)
        batch.texts[text], batch.named[text] = (name,), "program"
    batch.compile()
    assert len({id(batch.loaded(text)._entries[names[0]]) for text, names in batch.texts.items()}) == 5
