"""The code of README.md, as it is."""
import asyncio
import json
import os
import re
from pathlib import Path

import pytest
from scripted_service import KEYS, TOKENS, Clock, ScriptedService

from latchkey_verifier import LatchkeyError, Verifier, require_scope

README = (Path(__file__).parents[1] / "README.md").read_text()
GOOD = {"Authorization": f"Bearer {TOKENS['good']['token']}"}
ENDED = {"Authorization": f"Bearer {TOKENS['exp-now']['token']}"}


def page(heading, **more):
    """What the code under a heading defines."""
    code = re.search(rf"## {heading}\n.*?```python\n(.*?)```", README, re.DOTALL)[1]
    clock = Clock(KEYS["start"])
    latchkey = Verifier(KEYS["issuer"], clock=clock, transport=ScriptedService(clock))
    names = {"latchkey": latchkey, "LatchkeyError": LatchkeyError, "__name__": __name__}
    names |= {"os": os, "Verifier": Verifier, "require_scope": require_scope, **more}
    exec(code, names)
    return names


def check(get):
    """`get(headers)` returns status, body and headers of `GET /me`."""
    status, body, _ = get(GOOD)
    assert (status, body["sub"], body["roles"]) == (200, "ada", ["admin"])
    status, body, headers = get(ENDED)
    assert (status, body["error"]) == (401, "invalid_token")
    assert headers["WWW-Authenticate"] == 'Bearer error="invalid_token"'
    status, _, headers = get({})
    assert (status, headers["WWW-Authenticate"]) == (401, "Bearer")


def test_fastapi():
    pytest.importorskip("fastapi")
    from fastapi.testclient import TestClient

    client = TestClient(page("FastAPI")["app"])

    def get(headers):
        answer = client.get("/me", headers=headers)
        return answer.status_code, answer.json(), answer.headers

    check(get)


def test_flask():
    pytest.importorskip("flask")
    client = page("Flask")["app"].test_client()

    def get(headers):
        answer = client.get("/me", headers=headers)
        return answer.status_code, answer.json, answer.headers

    check(get)


def test_django():
    django = pytest.importorskip("django")
    from django.conf import settings
    from django.test import RequestFactory

    settings.configure()
    django.setup()
    names = page("Django")
    view = names["latchkey_middleware"](names["me"])

    def get(headers):
        answer = view(RequestFactory().get("/me", headers=headers))
        return answer.status_code, json.loads(answer.content), answer.headers

    check(get)


def test_a_recent_sign_in(monkeypatch):
    require = page("A recent sign-in")["require_recent_sign_in"]
    monkeypatch.setattr("time.time", lambda: 1000)
    require({"auth_time": 700}, 300)
    for claims in ({"auth_time": 699}, {}):  # without the claim nobody knows when it was
        with pytest.raises(LatchkeyError) as caught:
            require(claims, 300)
        code = "insufficient_user_authentication"
        assert (caught.value.status, caught.value.body["error"]) == (401, code)
        assert caught.value.headers["WWW-Authenticate"] == f'Bearer error="{code}", max_age="300"'


RESOURCE = "https://api.example.com/mcp"
METADATA = {
    "resource": RESOURCE,
    "authorization_servers": ["https://id.example"],
    "scopes_supported": ["orders:read"],
    "bearer_methods_supported": ["header"],
}


def test_programs_of_third_parties(monkeypatch):
    monkeypatch.setenv("LATCHKEY_KEY", "")

    def verifier(issuer, _key, **options):
        return Verifier(issuer, transport=ScriptedService(Clock(KEYS["start"])), **options)

    names = page("Programs of third parties", Verifier=verifier)
    api, latchkey = names["api"], names["latchkey"]
    with pytest.raises(LatchkeyError) as caught:
        latchkey.authenticate(None)
    metadata = 'resource_metadata="https://api.example.com/.well-known/oauth-protected-resource/mcp"'
    assert caught.value.headers["WWW-Authenticate"] == f'Bearer {metadata}, scope="orders:read"'
    for path in ("/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"):
        for answer in (asgi(api, "GET", path), wsgi(api, "GET", path)):
            assert answer == (200, "application/json", json.dumps(METADATA).encode())
        assert [asgi(api, "HEAD", path)[2], wsgi(api, "HEAD", path)[2]] == [b"", b""]
    for method, path in (("POST", "/.well-known/oauth-protected-resource/mcp"), ("GET", "/mcp")):
        assert [asgi(api, method, path), wsgi(api, method, path)] == ["the app", "the app"]


def asgi(api, method, path):
    sent = []

    async def app(scope, receive, send):
        return "the app"

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": method, "path": path, "headers": [(b"host", b"evil.example")]}
    result = asyncio.run(api.asgi(app)(scope, None, send))
    if result:
        return result
    start, body = sent
    return start["status"], dict(start["headers"])[b"content-type"].decode(), body["body"]


def wsgi(api, method, path):
    started = []
    paths = {"SCRIPT_NAME": path[:11], "PATH_INFO": path[11:]}
    environ = {"REQUEST_METHOD": method, **paths, "HTTP_HOST": "evil.example"}
    result = api.wsgi(lambda environ, start: "the app")(environ, lambda *answer: started.append(answer))
    if not started:
        return result
    [(status, headers)] = started
    return int(status[:3]), dict(headers)["Content-Type"], b"".join(result)


@pytest.mark.parametrize("audience", [None, "", [], [RESOURCE, None]])
def test_an_audience_that_is_not_set(audience):
    with pytest.raises(ValueError, match="audience"):
        Verifier(KEYS["issuer"], audience=audience)


@pytest.mark.parametrize(
    ("resource", "scopes"),
    [
        ("https://other.example", ["a"]),
        ("orders", ["a"]),
        (f"{RESOURCE}#x", ["a"]),
        (RESOURCE, []),
        (RESOURCE, "orders:read"),
        (RESOURCE, ["a b"]),
        (RESOURCE, ['a", error="x']),
    ],
)
def test_a_resource_that_is_none(resource, scopes):
    verifier = Verifier(KEYS["issuer"], audience=[RESOURCE, "orders", f"{RESOURCE}#x"])
    with pytest.raises(ValueError, match="is a"):
        verifier.protected_resource(resource, scopes)


@pytest.mark.parametrize("scopes", [(), ("a b",), ("",), (7,)])
def test_a_scope_that_is_none(scopes):
    with pytest.raises(ValueError, match="scope"):
        require_scope({"iss": "a", "aud": "b"}, *scopes)
