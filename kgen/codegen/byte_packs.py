"""Groups of bytes that a kernel loads as words; of some it takes elements out as integers that become floats."""

from __future__ import annotations

from kgen.codegen.c_types import storage_type
from kgen.codegen.helpers import BYTE_PACK
from kgen.dtypes import FLOAT32, INT8, UINT8, DType
from kgen.ir.graph import IndexMap
from kgen.partition.step import Step
from kgen.schedule.schedule import Schedule
from kgen.schedule.target import WORD


def converted_bytes(step: Step) -> frozenset[int]:
    """The accesses to integers of 8 bits that are only read, and of which every use is a conversion to float32.

    Not what is reduced itself: sums of bytes are sums of integers.
    """
    found = enumerate(step.accesses)
    return frozenset(i for i, t in found if not t.writes and _is_byte(step, i) and _is_converted(step, i))


def pack_type(step: Step, schedule: Schedule, access: int, alignment: int) -> str:
    """The type of a group of an operand."""
    kind = "BytePack" if access in byte_packs(step, schedule) else "Pack"
    dtype = step.graph.operands[step.accesses[access].operand].dtype
    return f"{kind}<{storage_type(dtype)}, {schedule.group}, {alignment}>"


def byte_packs(step: Step, schedule: Schedule) -> frozenset[int]:
    """The accesses of which a kernel has groups of several words.  One word compilers take apart as well."""
    if schedule.group % WORD or schedule.group == WORD:
        return frozenset()
    planned = schedule.accesses
    return frozenset(
        i for i in converted_bytes(step) if planned[i].kind == "vector" and planned[i].alignment % WORD == 0
    )


def byte_movers(step: Step, schedule: Schedule) -> tuple[str, ...]:
    """The helper for these groups, if there are any."""
    return (BYTE_PACK,) if byte_packs(step, schedule) else ()


#: Bytes of the smallest groups that are loaded as words.
_FEWEST_BYTES = 8


def are_words(dtype: DType, group: int, alignment: int) -> bool:
    """Whether a group is loaded as words, by ``load_words``: groups of bytes, which then take fewer instructions.

    For sm_90 and earlier, NVRTC of CUDA 12.1 to 13.5 and nvcc 13.0 do not extend the sign of a sum of signed bytes that
    are the first of each four of a vector load of 16: a fourth of the elements of ``a + b > 3`` was wrong (*Bytes of
    vector loads*).
    """
    return dtype.size == 1 and min(group, alignment) >= _FEWEST_BYTES


def is_only_moved(step: Step, access: int) -> bool:
    """Whether all loads of an operand are stored as they are: then groups need not be taken apart."""
    loads, users = _uses(step, access)
    return bool(loads) and all(step.graph.ops[n].name == "store" for n in users)


def _is_byte(step: Step, access: int) -> bool:
    return step.graph.operands[step.accesses[access].operand].dtype in (INT8, UINT8)


def _is_converted(step: Step, access: int) -> bool:
    """Whether that holds for all loads of the operand."""
    ops, (loads, casts) = step.graph.ops, _uses(step, access)
    reduced = any(op.name == "reduce" and casts & {*op.args} for op in ops)
    return bool(loads) and not reduced and all(ops[n].name == "cast" and ops[n].dtype is FLOAT32 for n in casts)


def _uses(step: Step, access: int) -> tuple[set[int], set[int]]:
    """All loads of an access's operand, and the ops that use these."""
    ops, operand = step.graph.ops, step.accesses[access].operand
    attrs = ((number, op.attr) for number, op in enumerate(ops) if op.name == "load")
    loads = {number for number, attr in attrs if isinstance(attr, IndexMap) and attr.operand == operand}
    return loads, {number for number, op in enumerate(ops) if loads & {*op.args}}
