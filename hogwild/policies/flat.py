"""A policy's numbers as one flat vector, so that they move between workers in a single copy."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

ALIGNMENT = 16  # floats, one cache line: convolution kernels dislike weights that straddle lines


class FlatLayout:
    """Where each parameter and buffer of a policy lies in one vector: first all parameters, then all buffers. Buffers
    of whole numbers are no weights: each policy has those that it was made with.

    >>> layout = FlatLayout(nn.Linear(2, 1))
    >>> layout.size, layout.num_parameters, list(layout.slices)
    (32, 32, ['weight', 'bias'])
    """

    def __init__(self, module: nn.Module) -> None:
        self.slices: dict[str, slice] = {}
        self.shapes: dict[str, torch.Size] = {}
        self.size = 0
        for name, parameter in module.named_parameters():
            self._place(name, parameter)
        self.num_parameters = self.size
        for name, buffer in module.named_buffers():
            if buffer.is_floating_point():
                self._place(name, buffer)

    def _place(self, name: str, tensor: Tensor) -> None:
        self.slices[name] = slice(self.size, self.size + tensor.numel())
        self.shapes[name] = tensor.shape
        self.size += -(-tensor.numel() // ALIGNMENT) * ALIGNMENT

    def views(self, vector: Tensor) -> Iterator[tuple[str, Tensor]]:
        """Each tensor by name, as a view into a vector of this layout."""
        for name, where in self.slices.items():
            if where.stop <= len(vector):
                yield name, vector[where].view(self.shapes[name])

    def read(self, module: nn.Module) -> Tensor:
        """A new vector with the module's numbers."""
        tensors = dict(module.named_parameters()) | dict(module.named_buffers())
        vector = torch.zeros(self.size, device=next(iter(tensors.values())).device)
        for name, view in self.views(vector):
            view.copy_(tensors[name].detach())
        return vector

    def bind(self, module: nn.Module) -> Tensor:
        """Move the module's numbers into a new vector and make its parameters and buffers views of it. What was
        frozen stays so, and what several parts share they go on sharing."""
        vector = self.read(module)
        bound = dict(self.views(vector))
        parameters = {parameter: name for name, parameter in module.named_parameters()}
        buffers = {buffer: name for name, buffer in module.named_buffers() if name in bound}
        moved = {p: nn.Parameter(bound[name], requires_grad=p.requires_grad) for p, name in parameters.items()}
        for owner in module.modules():
            for leaf, parameter in owner._parameters.items():
                owner._parameters[leaf] = moved.get(parameter) if parameter is not None else None
            for leaf, buffer in owner._buffers.items():
                if buffer in buffers:
                    owner._buffers[leaf] = bound[buffers[buffer]]
        return vector
