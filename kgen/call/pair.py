"""A kernel that saves what its gradients need, and the kernel of the gradients: what autograd calls."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import Any

from kgen.argument_types import ArgType
from kgen.call.arguments import bind
from kgen.call.derived import Compiled, key_of
from kgen.call.gradient import Gradient, as_floats
from kgen.diagnostics import error, public
from kgen.explain import Explanation
from kgen.gradients.derive import Request
from kgen.gradients.saved import Saved, backward_text, chosen, forward_text
from kgen.load import load
from kgen.program import Program
from kgen.records import dataclass, replace
from kgen.spec import Spec


@dataclass(frozen=True, slots=True, eq=False)
class Ready:
    """Both kernels for arguments of some types and shapes.

    ``names``: what is saved, arguments included.  ``reasons``: for what is saved, and for what is not.
    """

    pair: Pair
    forward: Any
    request: Request
    types: Mapping[str, ArgType]
    saved: tuple[Saved, ...]
    names: tuple[str, ...]
    reasons: tuple[str, ...]
    specs: Mapping[str, Spec]  # of the outputs that have gradients
    _backward: dict[object, Any] = field(default_factory=dict)

    def backward(self, outputs: Collection[str], again: bool = False) -> Any:
        """The kernel of the gradients, where those of these outputs are given.

        ``again``: one that takes arguments only, and computes what was saved again, so that it can be differentiated.
        """
        key = frozenset(outputs), again
        if key not in self._backward:
            own = self.request.cotangents
            request = replace(self.request, cotangents={o: own[o] for o in own if o in outputs})
            text = backward_text(self.pair.of.program, self.types, request, () if again else self.saved)
            self._backward[key] = self.pair.kernel_of(text, "backward")
        return self._backward[key]

    def for_autograd(self) -> tuple[str, ...]:
        """What autograd saves: ``names``, and what second derivatives need."""
        if not self.saved:
            return self.names
        kernel = self.backward(self.specs, again=True)
        added = [n for n in (*kernel.inputs, *kernel.params) if n in self.types and n not in self.names]
        return *self.names, *added


class SavedValues(dict[str, Any]):
    """Arrays by name: the arguments that the gradients read, and what was computed on the way."""

    def __init__(self, arrays: Mapping[str, Any], ready: Ready) -> None:
        super().__init__(arrays)
        self.ready = ready


class Pair:
    """``save``: the lets and outputs to save, and nothing else; None to decide by what they cost."""

    def __init__(self, of: Compiled, wrt: str | Sequence[str] | None, save: Sequence[str] | None) -> None:
        self.of = of
        self.save = save
        self.gradient = Gradient(of, wrt)
        self._ready: dict[object, Ready] = {}
        self._kernels: dict[str, Any] = {}

    def is_like(self, other: Pair) -> bool:
        """Whether both have the gradients of the same arguments of the same program."""
        mine, theirs = (one.of.program.source.text for one in (self, other))
        return mine == theirs and self.gradient.wrt == other.gradient.wrt

    def ready(self, given: Mapping[str, Any]) -> Ready:
        """Both kernels, for these arguments.

        Raises :class:`~kgen.KgenError`: ``no-derivative``, ``bad-wrt``, ``bad-save``.
        """
        key = tuple((name, key_of(value)) for name, value in given.items())
        found = self._ready.get(key)
        if found is None:
            found = self._ready[key] = self._made(given)
        return found

    def _made(self, given: Mapping[str, Any]) -> Ready:
        specs = self.gradient.specs(given)
        types = self.gradient.types(given)
        request = self.gradient.request(self.of.program, types, specs)
        types = as_floats(types, list(request.results))
        choice = chosen(self.of.program, types, request, self.save)
        outputs = {o.name for o in self.of.program.outputs}
        forward: Any = self.of
        if any(s.name not in outputs for s in choice.saved):
            forward = self.kernel_of(forward_text(self.of.program, types, request, choice.saved), "forward")
        ready = Ready(self, forward, request, types, choice.saved, (), choice.reasons, specs)
        program: Program = ready.backward(specs).program
        read = [*(a.name for a in program.arguments), *(p.name for p in program.parameters)]
        return replace(ready, names=tuple(name for name in read if name not in self.gradient.cotangents.values()))

    def kernel_of(self, text: str, what: str) -> Any:
        """The kernel of a derived program."""
        if text not in self._kernels:
            name = f"{self.of.name}_{what}"
            self._kernels[text] = self.of.derived(load(text, f"<{name}>"), name)
        return self._kernels[text]


def _not_saved(why: str) -> Exception:
    message = f"`saved` is not what the forward half of this pair returned: {why}"
    return error("bad-call", message, "write `out, saved = forward(x)`, then `backward(saved, out_grad=g)`")


class _Half(ABC):
    def __init__(self, pair: Pair) -> None:
        self.pair = pair

    def __repr__(self) -> str:
        return f"<kgen {type(self).__name__} of {self.pair.of.name}>"

    def _at(self, args: Sequence[Any], named: Mapping[str, Any]) -> tuple[Ready, dict[str, Any]]:
        given = bind(self.pair.of.program, args, named)
        return self.pair.ready(given), given

    @abstractmethod
    def kernel(self, /, *args: Any, **named: Any) -> Any: ...

    @public
    def text(self, /, *args: Any, **named: Any) -> str:
        """The program, for arguments of these types, arrays or specs."""
        text: str = self.kernel(*args, **named).program.source.text
        return text


class ForwardHalf(_Half):
    """The program, as a kernel that also returns what its gradients need: ``out, saved = forward(x)``."""

    def __call__(self, /, *args: Any, stream: Any = None, **named: Any) -> tuple[Any, SavedValues]:
        """The outputs, one or a tuple, and the saved values, which the other half takes."""
        ready, given = self._at(args, named)
        found = ready.forward(**given, stream=stream)
        arrays = dict(zip(ready.forward.outputs, found if isinstance(found, tuple) else (found,), strict=True))
        outputs = tuple(arrays[name] for name in self.pair.of.outputs)
        saved = SavedValues({name: given[name] if name in given else arrays[name] for name in ready.names}, ready)
        return outputs if len(outputs) > 1 else outputs[0], saved

    @public
    def kernel(self, /, *args: Any, **named: Any) -> Any:
        """The kernel for arguments of these types (or specs), with ``source``, ``plan`` and ``meta``."""
        return self._at(args, named)[0].forward

    @public
    def explain(self, /, *args: Any, **named: Any) -> Explanation:
        """Which values are saved, which are computed again, and the schedules of the kernel."""
        ready, given = self._at(args, named)
        found: Explanation = ready.forward.explain(**given)
        return replace(found, notes=ready.reasons)


class BackwardHalf(_Half):
    """The gradients of the arguments: ``a_grad, b_grad = backward(saved, out_grad=g)``."""

    def __call__(self, saved: SavedValues, /, *, stream: Any = None, **cotangents: Any) -> Any:
        """``saved``: from the other half.  Takes the gradient of each output ``out`` as ``out_grad``; others do not
        count, and that of the only output, a number, may be left out, and is 1.

        Returns one array, or a tuple of several.  Raises :class:`~kgen.KgenError`: ``bad-cotangent``, ``bad-call`` for
        other saved values.
        """
        if not isinstance(saved, SavedValues):
            raise _not_saved(f"it is a {type(saved).__name__}")
        if not saved.ready.pair.is_like(self.pair):
            raise _not_saved("it is of other gradients")
        ready = saved.ready
        own = self.pair.gradient.cotangents
        self.pair.gradient.check_cotangents(cotangents, ready.specs)
        kernel = ready.backward([output for output, name in own.items() if name in cotangents])
        named = {**saved, **cotangents}
        missing = [name for name in (*kernel.inputs, *kernel.params) if name not in named]
        if missing:
            raise _not_saved(f"`{missing[0]}` is missing")
        return kernel(**{name: named[name] for name in (*kernel.inputs, *kernel.params)}, stream=stream)

    @public
    def kernel(self, /, *args: Any, **named: Any) -> Any:
        """The kernel for arguments of the program of these types (or specs), and gradients of all outputs."""
        ready, _ = self._at(args, named)
        return ready.backward(ready.specs)

    @public
    def explain(self, /, *args: Any, **named: Any) -> Explanation:
        """Which values are saved, which are computed again, and the schedules.  Takes what the program does."""
        ready, given = self._at(args, named)
        made = ready.forward.meta(**given)
        specs = dict(zip(ready.forward.outputs, made if isinstance(made, tuple) else (made,), strict=True))
        specs |= {self.pair.gradient.cotangents[output]: spec for output, spec in ready.specs.items()}
        kernel = ready.backward(ready.specs)
        known = {**specs, **given}
        found: Explanation = kernel.explain(**{name: known[name] for name in (*kernel.inputs, *kernel.params)})
        return replace(found, notes=ready.reasons)
