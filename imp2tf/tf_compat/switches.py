"""What may be switched off in the adapter."""
from __future__ import annotations

PRIVATE_CALLS = True  # False: graphs are called as TensorFlow documents it
