"""CONTRIBUTING.md's "Add a kernel family", followed in a copy of kgen: as ``strided``, in two blocks that loop."""

from __future__ import annotations

from pathlib import Path

from tests.recipes.harness import Copy, files_of

FAMILY = '''"""``looped``: as ``strided``, in a few blocks, whose threads take element after element."""

from __future__ import annotations

from dataclasses import replace

from kgen.codegen.elementwise.linear import ONE_BY_ONE, LinearWriter
from kgen.codegen.family import Family, Unit, Written
from kgen.schedule.operand_summary import classes
from kgen.schedule.elementwise.launch import linear_rule
from kgen.schedule.elementwise.strided import strided
from kgen.schedule.expressions import minimum
from kgen.schedule.facts import Choice, Facts
from kgen.schedule.launch import Labels, Rule
from kgen.schedule.schedule import Schedule, ranked_suffix

BLOCKS = 2


def choose(facts: Facts) -> Choice | None:
    """More elements than threads."""
    found = strided(facts)
    if facts.space.numel <= BLOCKS * found.schedule.block:
        return None
    reason = f"looped: {BLOCKS} blocks take all elements"
    return Choice(replace(found.schedule, template="looped", group=1), found.space, (reason, *found.reasons))


def launch(schedule: Schedule, labels: Labels) -> Rule:
    rule = linear_rule(schedule, labels)
    return replace(rule, grid=(minimum(rule.grid[0], BLOCKS), *rule.grid[1:]))


class Writer(LinearWriter):
    def launch(self) -> str:
        block = self.schedule.block
        return f"Launch: min(ceil(n / {block}), {BLOCKS}) blocks of {block} threads, for n elements."


def write(unit: Unit[Schedule]) -> Written:
    return Writer(unit, replace(ONE_BY_ONE, template="looped.cu.j2")).write()


FAMILY = Family("looped", Facts, choose=choose, launch=launch, write=write, suffix=ranked_suffix, classes=classes)
'''

#: How the body of ``templates/strided.cu.j2`` begins, and the whole body of the copy of it.
BODY = "    const {{ k.index }} i = {{ k.first }};\n"
LOOP = """    wait_for_earlier_kernels();
    for ({{ k.index }} i = {{ k.first }}; i < n; i += gridDim.x * {{ k.block }}u) {
{{ coordinates.coordinates_at(k.layout, 'i', 8) -}}
{{ coordinates.offsets(k.offsets, 8) -}}
{% for line in k.direct_at_i %}
        {{ line }}
{% endfor %}
    }
    let_next_kernel_start();
}
"""

CASE = """target: portable
out = a - b
a: f32[5, 30, 7]
b: f32[5, 30, 7] strides 450 1 60
out: f32[5, 30, 7] strides 600 14 2
---
"""

#: Run with the kgen that has it.
PROGRAM = """
import numpy as np
import kgen

a = np.arange(5 * 30 * 7, dtype=np.float32).reshape(5, 30, 7)
b = np.ones((7, 5, 30), np.float32).cumsum(axis=2).transpose(1, 2, 0)
out = np.zeros((5, 30, 14), np.float32)[:, :, ::2]
k = kgen.jit("out = a - b", device="cpu")
np.testing.assert_array_equal(k(a, b, out=out), a - b)
print("looped: 2 blocks take all elements" in str(k.explain(a, b, out=out)))
"""


def test_a_kernel_family_is_a_record_and_a_template(tmp_path: Path) -> None:
    """It is chosen where it says, each element is computed once, and its case holds."""
    copy = Copy(tmp_path)
    copy.create("kgen/families/looped.py", FAMILY)
    strided = (tmp_path / "templates/strided.cu.j2").read_text(encoding="utf-8")
    head, found, _ = strided.partition(BODY)
    assert found
    copy.create("templates/looped.cu.j2", head + LOOP)
    families, case = "kgen/families/__init__.py", "tests/cases/schedule/looped.txt"
    copy.insert(families, '"strided",', '"looped", ')
    copy.create(case, CASE)
    copy.insert(
        "docs/kernels.md", "| [strided](#strided) |", "| looped | everything else, where it is large | once |\n"
    )
    assert copy.pytest("--bless", "tests/schedule/test_goldens.py", "-k", "looped or every_decision") == 2
    assert '"template": "looped"' in (tmp_path / case).read_text(encoding="utf-8")
    assert copy.python("-c", PROGRAM) == "True\n"
    changed = {"kgen/families/looped.py", "templates/looped.cu.j2", families, case, "docs/kernels.md"}
    assert copy.changed() == changed
    assert changed <= files_of("Add a kernel family", name="looped")
