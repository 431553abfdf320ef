"""APIs that programs of third parties use for a user (RFC 9728)."""
import json
import re
from urllib.parse import urlsplit

from .claims import LatchkeyError

WELL_KNOWN = "/.well-known/oauth-protected-resource"
HEADERS = {"Content-Type": "application/json", "Access-Control-Allow-Origin": "*"}  # clients in browsers read it, too
declared = {}  # all resources of this process, by identifier


is_origin = re.compile("(https?://[^/?#]+)/?").fullmatch


def identifier(text):
    """The form in which two identifiers are compared: an origin has no slash."""
    origin = is_origin(text)
    return origin[1] if origin else text


def accepted(audience):
    """All values of `aud` for an audience, or a list: origins with and without a slash."""
    texts = [audience] if isinstance(audience, str) else list(audience or ())
    if not texts or not all(isinstance(one, str) and one for one in texts):  # or a variable that is not set
        raise ValueError("audience is a text or a list of texts, none of them empty; or leave it out")
    return {identifier(one) for one in texts} | {f"{identifier(one)}/" for one in filter(is_origin, texts)}


def is_scope(text):
    """RFC 6749 §3.3."""
    return isinstance(text, str) and re.fullmatch(r"[!#-\[\]-~]{1,255}", text) is not None


class ProtectedResource:
    """Serves the metadata of an API. Made by `Verifier.protected_resource()`."""

    def __init__(self, resource, scopes, issuer, audience):
        self.scopes, url = list(scopes), urlsplit(resource)
        is_address = url.scheme in ("http", "https") and url.netloc and not url.query + url.fragment
        if not is_address or resource not in audience:
            raise ValueError("resource is an http(s) address without query, and one of the verifier's audience")
        if isinstance(scopes, str) or not self.scopes or not all(map(is_scope, self.scopes)):
            raise ValueError("scopes is a list of texts without spaces and quotes, and not empty")
        self.origin = f"{url.scheme}://{url.netloc}"
        self.path = WELL_KNOWN + ("" if url.path == "/" else url.path)  # RFC 9728 §3.1
        self.parameter = f'resource_metadata="{self.origin}{self.path}"'  # never of a request's Host
        members = {"resource": resource, "authorization_servers": [issuer], "scopes_supported": self.scopes}
        self.document = json.dumps({**members, "bearer_methods_supported": ["header"]}).encode()
        declared[identifier(resource)] = self

    def metadata(self, method, path):
        """The body of the answer with `HEADERS`; None for another request. A host's root is that of its only API."""
        is_only = all(one is self or one.origin != self.origin for one in list(declared.values()))
        is_found = path == self.path or path == WELL_KNOWN and is_only
        return self.document if is_found and method in ("GET", "HEAD") else None

    def asgi(self, app):
        """Middleware of ASGI: Starlette, FastAPI, Django, Quart."""

        async def middleware(scope, receive, send):
            found = scope["type"] == "http" and self.metadata(scope["method"], scope["path"])
            if not found:
                return await app(scope, receive, send)
            headers = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else found})

        return middleware

    def wsgi(self, app):
        """Middleware of WSGI: Flask, Django, Bottle."""

        def middleware(environ, start_response):
            path = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
            found = self.metadata(environ["REQUEST_METHOD"], path)
            if not found:
                return app(environ, start_response)
            start_response("200 OK", list(HEADERS.items()))
            return [b"" if environ["REQUEST_METHOD"] == "HEAD" else found]

        return middleware


def challenge(error, audience):
    """Adds metadata and scopes to an error with 401, unless several of the verifier's APIs have some."""
    known = {one for one in map(declared.get, map(identifier, audience)) if one}
    if error.status == 401 and len(known) == 1:
        [one] = known
        header = error.headers["WWW-Authenticate"]
        separator = "," if "=" in header else ""
        error.headers["WWW-Authenticate"] = f'{header}{separator} {one.parameter}, scope="{" ".join(one.scopes)}"'


def require_scope(claims, *scopes):
    """Requires that the user has allowed all scopes to the program. Tokens of the application itself need none.

    Raises LatchkeyError, which names the token's scopes and the missing ones: clients ask for exactly these.
    """
    if not scopes or not all(map(is_scope, scopes)):
        raise ValueError("require_scope() needs a scope: a text without spaces and quotes")
    audience, text = claims["aud"], claims.get("scope")
    if audience == claims["iss"]:
        return
    granted = [one for one in text.split(" ") if is_scope(one)] if isinstance(text, str) else []
    missing = [one for one in scopes if one not in granted]
    if missing:
        one = declared.get(identifier(audience)) if isinstance(audience, str) else None
        known = [one.parameter] if one else []
        parameters = ['error="insufficient_scope"', *known, f'scope="{" ".join(granted + missing)}"']
        raise LatchkeyError("insufficient_scope", "Bearer " + ", ".join(parameters))
