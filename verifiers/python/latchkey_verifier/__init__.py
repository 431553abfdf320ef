"""Verifies access tokens of Latchkey, and follows its feed of ended sessions."""
from .claims import LatchkeyError as LatchkeyError, require_role as require_role
from .verifier import Verifier as Verifier
