ERRORS = {
    "invalid_token": (401, "the access token is invalid, or its session has ended"),
    "insufficient_scope": (403, "the user does not have the right to do this"),
    "insufficient_user_authentication": (401, "the user has to sign in again for this"),
    "temporarily_unavailable": (503, "the sign-in service cannot be reached at the moment: try again later"),
    "service_key_refused": (500, "the service key was refused: it is unknown, or has no right read"),
}
LISTS, TEXTS = ("roles", "groups", "entitlements"), ("name", "email", "preferred_username")
NAMES = (*LISTS, *TEXTS, "claims")


class LatchkeyError(Exception):
    """The only error of this package. Answer with its status: 401 is about the caller's token alone."""

    def __init__(self, code, challenge="", retry_after="1"):
        self.code, (self.status, self.description) = code, ERRORS[code]
        super().__init__(f"{code}: {self.description}")
        self.body = {"error": code, "error_description": self.description}
        challenge = challenge or f'Bearer error="{code}"'
        self.headers = {"WWW-Authenticate": challenge} if self.status in (401, 403) else {}
        self.headers |= {"Retry-After": retry_after} if self.status == 503 else {}


def as_in_token(flat):
    """Arranges claims as a token has them: six names at the top level, all others in `claims`."""
    top = {name: value for name, value in flat.items() if name in LISTS + TEXTS}
    others = {name: value for name, value in flat.items() if name not in top}
    return {**top, "claims": others} if others else top


def with_user_claims(token, source):
    """Replaces the user's claims of a token. Those of a wrong type are left out: fewer rights, never more."""
    current = {name: value for name, value in token.items() if name not in NAMES}
    return current | {name: source[name] for name in NAMES if is_valid(name, source.get(name))}


def is_valid(name, value):
    if name in LISTS:
        return isinstance(value, list) and all(isinstance(one, str) for one in value)
    return isinstance(value, str if name in TEXTS else dict)


def require_role(claims, *roles):
    """Requires one of the roles, in the claims that `verify()` has returned. Raises LatchkeyError."""
    if not set(roles) & set(claims.get("roles", ())):
        raise LatchkeyError("insufficient_scope")
