"""The vectors that all verifiers share (verifiers/vectors/README.md)."""
import json

import pytest
from scripted_service import KEYS, TOKENS, Clock, ScriptedService, others_have_ended, pieces, soon, vectors

from latchkey_verifier import LatchkeyError, Verifier, require_scope

FILES = ("signatures", "sessions", "claims", "away", "wire", "agents")
CASES = [(file, case) for file in FILES for case in vectors(file)["cases"]]


@pytest.mark.parametrize("case", [case for _, case in CASES], ids=[f"{file}: {case['name']}" for file, case in CASES])
def test_vector(case):
    clock = Clock(KEYS["start"])
    service = ScriptedService(clock)
    options = case["options"]
    key = {"service_key": "a-service-key"} if "serviceKey" in options else {}
    verifier = Verifier(
        KEYS["issuer"],
        **key,
        when_away=options.get("whenAway", "introspect"),
        clock_tolerance=options.get("clockTolerance", 0),
        audience=options.get("audience", ...),
        clock=clock,
        transport=service,
    )
    resources = [verifier.protected_resource(**one) for one in options.get("resources", [])]
    try:
        for i, step in enumerate(case["steps"]):
            clock.move(step["now"])
            assert (i, step["do"], run(step, verifier, service, resources)) == (i, step["do"], expected(step))
    finally:
        verifier.close()
        service.close_all()


def run(step, verifier, service, resources):
    match step["do"]:
        case "connect":
            cursor = service.connect(step)
            return cursor if "cursor" in step else None
        case "send" | "repeat":
            for piece in pieces(step):
                service.stream.send(piece)
        case "end":
            service.end()
        case "keys":
            service.publish(step)
        case "introspection":
            service.introspection = step
        case "verify":
            outcome = outcome_of(verifier, step)
            soon(others_have_ended, "the keys were fetched")
            return None if step["expect"] == "any" else outcome
        case "metadata":
            found = [one.metadata("GET", step["path"]) for one in resources]
            return next((json.loads(text) for text in found if text), None)
        case "state":
            assert service.key_requests <= step.get("mostKeyRequests", 1000)
            feed = verifier.feed
            state = {
                "notified": verifier.is_notified,
                "sessions": feed and len(feed.sessions),
                "users": feed and len(feed.changes),
                "introspections": service.introspections,
            }
            return {name: value for name, value in state.items() if name in step}


def outcome_of(verifier, step):
    try:
        claims = verifier.verify(TOKENS[step["token"]]["token"])
        if "scopes" in step:
            require_scope(claims, *step["scopes"])
        return {"claims": claims}
    except LatchkeyError as error:
        is_compared = "challenge" in step["expect"]
        challenge = {"challenge": error.headers["WWW-Authenticate"]} if is_compared else {}
        return {"error": error.code, "status": error.status, **challenge}


def expected(step):
    match step["do"]:
        case "connect":
            return step.get("cursor")
        case "metadata":
            return step["expect"]
        case "verify":
            return None if step["expect"] == "any" else step["expect"]
        case "state":
            return {name: step[name] for name in step if name not in ("now", "do", "mostKeyRequests")}
