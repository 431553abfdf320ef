"""Verifies access tokens of Latchkey, and follows its feed of ended sessions."""
from .claims import LatchkeyError as LatchkeyError, require_role as require_role
from .resources import ProtectedResource as ProtectedResource, require_scope as require_scope
from .verifier import Verifier as Verifier
