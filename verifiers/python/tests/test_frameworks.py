"""The code of README.md, as it is."""
import re
from pathlib import Path

import pytest
from scripted_service import KEYS, TOKENS, Clock, ScriptedService

from latchkey_verifier import LatchkeyError, Verifier

README = (Path(__file__).parents[1] / "README.md").read_text()
GOOD = {"Authorization": f"Bearer {TOKENS['good']['token']}"}
ENDED = {"Authorization": f"Bearer {TOKENS['exp-now']['token']}"}


def page(heading):
    """What the code under a heading defines."""
    code = re.search(rf"## {heading}\n\n```python\n(.*?)```", README, re.DOTALL)[1]
    clock = Clock(KEYS["start"])
    latchkey = Verifier(KEYS["issuer"], clock=clock, transport=ScriptedService(clock))
    names = {"latchkey": latchkey, "LatchkeyError": LatchkeyError, "__name__": __name__}
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
    import json

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
