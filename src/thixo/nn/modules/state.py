"""A module's state as a flat dictionary of tensors, and back."""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple

import thixo as tx
from thixo.errors import ArgumentError, SerializationError, describe
from thixo.nn.parameter import Parameter
from thixo.tensor import RemovableHandle, Tensor

_EXTRA = "_extra_state"


class IncompatibleKeys(NamedTuple):
    """What `load_state_dict` found missing, and what it had no place for."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return (
            f"IncompatibleKeys(missing_keys={self.missing_keys}, "
            f"unexpected_keys={self.unexpected_keys})"
        )


class StateDict:
    """What a Module knows of saving and loading."""

    _version = 1  # of what a module saves; kept in the state dict's _metadata

    def get_extra_state(self) -> Any:
        """More state than tensors, to be saved with them; a subclass may define it."""
        raise NotImplementedError(f"{type(self).__name__} has no get_extra_state")

    def set_extra_state(self, state: Any) -> None:
        """Take back what `get_extra_state` gave."""
        raise NotImplementedError(f"{type(self).__name__} has no set_extra_state")

    def _has_extra(self, method: str) -> bool:
        return getattr(type(self), method) is not getattr(StateDict, method)

    # ---- saving

    def state_dict(
        self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> Any:
        """All parameters and persistent buffers by dotted name, sharing their memory.

        >>> list(tx.nn.Linear(2, 1).state_dict())
        ['weight', 'bias']
        """
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata: dict[str, Any] = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in list(self._hooks_of("state_pre").values()):  # type: ignore[attr-defined]
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():  # type: ignore[attr-defined]
            if module is not None:
                module.state_dict(
                    destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        for hook in list(self._hooks_of("state").values()):  # type: ignore[attr-defined]
            changed = hook(self, destination, prefix, metadata)
            if changed is not None:
                destination = changed
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """This module's own part; a subclass may override it."""
        for name, tensor in self._own_state().items():
            if tensor is not None:
                destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if self._has_extra("get_extra_state"):
            destination[prefix + _EXTRA] = self.get_extra_state()

    def _own_state(self) -> dict[str, Any]:
        buffers = {
            name: buffer
            for name, buffer in self._buffers.items()  # type: ignore[attr-defined]
            if name not in self._non_persistent  # type: ignore[attr-defined]
        }
        return {**self._parameters, **buffers}  # type: ignore[attr-defined]

    def register_state_dict_pre_hook(self, hook: Any) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before the state is collected."""
        return self._add_hook("state_pre", hook)  # type: ignore[attr-defined]

    def register_state_dict_post_hook(self, hook: Any) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, metadata)` after; it may change the dictionary."""
        return self._add_hook("state", hook)  # type: ignore[attr-defined]

    _register_state_dict_hook = register_state_dict_post_hook

    # ---- loading

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copy a state dict into this module's tensors (with `assign`, put its tensors in their place).

        With `strict`, every key must be there and none left over.

        >>> a, b = tx.nn.Linear(2, 1), tx.nn.Linear(2, 1)
        >>> a.load_state_dict(b.state_dict())
        <All keys matched successfully>
        """
        if not isinstance(state_dict, Mapping):
            raise ArgumentError(
                f"load_state_dict: a dictionary is needed, got {describe(state_dict)}"
            )
        given: OrderedDict[str, Any] = OrderedDict(state_dict)
        metadata = getattr(state_dict, "_metadata", None)
        missing: list[str] = []
        unexpected: list[str] = []
        errors: list[str] = []

        hooked: list[Any] = []

        def load(module: Any, prefix: str, state: Any) -> None:
            local = {} if metadata is None else metadata.get(prefix[:-1], {})
            if assign:
                local = {**local, "assign_to_params_buffers": True}
            module._load_from_state_dict(state, prefix, local, True, missing, unexpected, errors)
            for name, child in module._modules.items():
                if child is not None:
                    below = f"{prefix}{name}."
                    part = {k: v for k, v in state.items() if k.startswith(below)}
                    load(child, below, part)
            if module._hooks_of("load"):
                hooked.append(module)

        with tx.no_grad(), _Writes() as writes:
            load(self, "", given)
            # a state that does not fit changes nothing; a hook may still forgive missing keys
            if errors or (strict and not hooked and (missing or unexpected)):
                raise _misfit(self, errors, missing, unexpected, strict)
            writes.carry_out()
        for module in hooked:
            for hook in list(module._hooks_of("load").values()):
                hook(module, IncompatibleKeys(missing, unexpected))
        if strict and (missing or unexpected):
            raise _misfit(self, errors, missing, unexpected, strict)
        return IncompatibleKeys(missing, unexpected)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """This module's own part; a subclass may override it."""
        lists = (missing_keys, unexpected_keys, error_msgs)
        for hook in list(self._hooks_of("load_pre").values()):  # type: ignore[attr-defined]
            hook(self, state_dict, prefix, local_metadata, strict, *lists)
        own = self._own_state()
        for name, mine in own.items():
            key = prefix + name
            if mine is None:
                continue
            if key not in state_dict:
                missing_keys.append(key)
            else:
                assign = local_metadata.get("assign_to_params_buffers", False)
                self._load_one(name, key, mine, state_dict[key], assign, error_msgs)
        if self._has_extra("set_extra_state"):
            if prefix + _EXTRA in state_dict:
                self.set_extra_state(state_dict[prefix + _EXTRA])
            else:
                missing_keys.append(prefix + _EXTRA)
        for key in state_dict:
            if not key.startswith(prefix):
                continue
            first, *more = key[len(prefix) :].split(".")
            if first == _EXTRA and not more and self._has_extra("set_extra_state"):
                continue
            is_own = not more and own.get(first) is not None
            if (not is_own and first not in self._modules) or (not more and not is_own):  # type: ignore[attr-defined]
                unexpected_keys.append(key)

    def _load_one(
        self, name: str, key: str, mine: Tensor, given: Any, assign: bool, errors: list[str]
    ) -> None:
        if not isinstance(given, Tensor):
            errors.append(f"{key}: a Tensor is needed, got {describe(given)}")
        elif tuple(given.shape) != tuple(mine.shape):
            errors.append(
                f"{key}: size mismatch: the state has {describe(given)}, {describe(mine)} is needed"
            )
        elif not assign:
            _Writes.add(lambda: mine.copy_(given))
        elif isinstance(mine, Parameter):
            if not isinstance(given, Parameter):
                given = Parameter(given, mine.requires_grad)
            _Writes.add(lambda: self._parameters.update({name: given}))  # type: ignore[attr-defined]
        else:
            _Writes.add(lambda: self._buffers.update({name: given}))  # type: ignore[attr-defined]

    def register_load_state_dict_pre_hook(self, hook: Any) -> RemovableHandle:
        """Call the hook before this module's part is loaded, with the arguments of `_load_from_state_dict`."""
        return self._add_hook("load_pre", hook)  # type: ignore[attr-defined]

    def register_load_state_dict_post_hook(self, hook: Any) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after loading; it may change the two lists."""
        return self._add_hook("load", hook)  # type: ignore[attr-defined]


class _Writes:
    """Collects what loading will write, so that it all happens or none of it."""

    current: "_Writes | None" = None

    def __enter__(self) -> "_Writes":
        self.outer = _Writes.current
        self.pending: list[Any] = []
        _Writes.current = self
        return self

    def __exit__(self, *_: object) -> None:
        _Writes.current = self.outer

    @staticmethod
    def add(write: Any) -> None:
        """Write later, or at once outside of `load_state_dict`."""
        if _Writes.current is None:
            write()
        else:
            _Writes.current.pending.append(write)

    def carry_out(self) -> None:
        """Do all that was collected."""
        for write in self.pending:
            write()


def _misfit(
    module: Any, errors: list[str], missing: list[str], unexpected: list[str], strict: bool
) -> SerializationError:
    lines = []
    if strict and unexpected:
        lines.append("unexpected keys: " + ", ".join(map(repr, unexpected)))
    if strict and missing:
        lines.append("missing keys: " + ", ".join(map(repr, missing)))
    text = "\n    ".join(lines + errors)
    return SerializationError(
        f"load_state_dict: the state does not fit {type(module).__name__}:\n    {text}"
    )
