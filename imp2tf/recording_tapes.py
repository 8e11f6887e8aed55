"""Which tapes of the program record what is traced now."""
from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from imp2tf.session import active
from imp2tf.tf_compat import tape_may_record, watching

__all__ = ["has_first_order_only", "recording_tapes"]

SEVERAL = 2


def recording_tapes() -> list[tf.GradientTape]:
    """The tapes that were made in this trace and record."""
    session = active()
    if session is None or not tape_may_record():
        return []
    return [one for one in session.kept if isinstance(one, tf.GradientTape) and _is_recording(one)]


def has_first_order_only(tensors: Sequence[tf.Tensor] | None = None) -> bool:
    """Whether one tape alone records what is done with some tensors, though TensorFlow counts with gradients of gradients.

    It does if the tape is persistent. Where such a tape is asked while it, or another one, records, see `imp2tf.unrecorded`.
    """
    if not tape_may_record() or (tensors is not None and watching(tensors) != SEVERAL):
        return False
    for tape in recording_tapes():
        with tape.stop_recording():
            return not tape_may_record()
    return False


def _is_recording(tape: tf.GradientTape) -> bool:
    try:
        with tape.stop_recording():
            return True
    except (RuntimeError, ValueError):
        return False
