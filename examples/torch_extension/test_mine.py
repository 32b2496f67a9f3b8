"""The operator alone, and in a function that torch.compile compiles."""

import mine
import torch


def test_axpy() -> None:
    x = torch.arange(12.0, device="cuda").reshape(3, 4)
    y = torch.ones(4, device="cuda")
    assert torch.equal(mine.axpy(x, y, a=3.0), 3 * x + y)
    compiled = torch.compile(lambda x, y: mine.axpy(2 * x, y, a=3.0) + 1, fullgraph=True)
    assert torch.equal(compiled(x, y), 6 * x + y + 1)
    torch.library.opcheck(mine.axpy.default, (x, y), {"a": 3.0})


if __name__ == "__main__":
    test_axpy()
    print("ok")
