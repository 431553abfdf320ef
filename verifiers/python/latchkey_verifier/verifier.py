import json
import os
import re
import threading
import time
from concurrent.futures import Future

import httpx
import jwt

from .claims import NAMES, LatchkeyError, with_user_claims
from .feed import Feed
from .keys import Keys, call
from .resources import ProtectedResource, accepted, challenge

MAX_TOKEN, TYPES = 16_384, ("at+jwt", "application/at+jwt")
IDS, NUMBERS, UNVERIFIED = ("sub", "sid", "jti"), (int, float), {"verify_signature": False}
WAYS = ("introspect", "accept", "refuse")
MOST_ANSWERS = 10_000


class Verifier:
    """Verifies access tokens: one for each process. Without a service key only signature and expiry count."""

    def __init__(self, issuer, service_key=..., url=None, when_away="introspect", clock_tolerance=0, *, audience=..., **test):
        ok = re.fullmatch(r"https?://[^/?#@]+", issuer) and when_away in WAYS and 0 <= clock_tolerance <= 300
        if not ok or not service_key:  # an empty key is most likely a variable that is not set
            raise ValueError(f"issuer is an origin, service_key not empty or left out, when_away of {WAYS}")
        self.issuer, self.url, self.service_key = issuer, url or issuer, service_key
        self.when_away, self.tolerance = when_away, clock_tolerance
        self.audience = {issuer} if audience is ... else accepted(audience)
        self.clock, self.transport = test.get("clock", time), test.get("transport")
        self.start()

    def start(self):
        self.pid, self.lock, self.answers = os.getpid(), threading.Lock(), {}
        self.client = httpx.Client(base_url=self.url, timeout=2.5, transport=self.transport)
        self.keys = Keys(self.client, self.clock)
        inside = (self.client, self.service_key, self.tolerance, self.keys, self.clock)
        self.feed = Feed(*inside) if self.service_key is not ... else None

    @property
    def is_notified(self):
        """Whether sign-outs are received at this moment; otherwise `when_away` applies."""
        return self.feed is not None and self.feed.is_fresh

    def authenticate(self, authorization):
        """`verify()` for the value of an `Authorization` header, or None."""
        scheme, _, token = (authorization or "").partition(" ")
        if scheme.lower() != "bearer":
            error = LatchkeyError("invalid_token", "Bearer")  # without an error, since there is no token
            challenge(error, self.audience)
            raise error
        return self.verify(token.strip(" "))

    def verify(self, token):
        """Returns the claims of a valid access token, with the user's current ones. Raises LatchkeyError."""
        try:
            return self.current(token)
        except LatchkeyError as error:
            challenge(error, self.audience)
            raise

    def protected_resource(self, resource, scopes):
        """Declares an API for programs of third parties: errors with 401 name its metadata. Raises ValueError."""
        return ProtectedResource(resource, scopes, self.issuer, self.audience)

    def current(self, token):
        if self.pid != os.getpid():
            self.start()  # this process was forked: the feed's thread is of the other one
        claims, kid = self.signed(token)
        self.refuse_ended(claims, kid)
        answer = None
        is_away = self.feed and not self.feed.is_fresh
        if is_away and self.when_away == "refuse":
            raise self.feed.refusal or LatchkeyError("temporarily_unavailable")
        is_unclear = self.feed and carries_claims_of_resource(claims) and self.feed.replacing(claims) is not None
        if is_unclear or is_away and self.when_away == "introspect":
            answer = self.introspect(token)
            self.refuse_ended(claims, kid, answer["active"])
        # If the feed has returned during the introspection, it is as current as the answer, or more so.
        is_fed = self.feed and is_of_application(claims) and (answer is None or self.feed.is_fresh)
        new = self.feed.replacing(claims) if is_fed else None
        return with_user_claims(claims, next(one for one in (new, answer, claims) if one is not None))

    def signed(self, token):
        """The claims of a token, and the id of its key. Keys are fetched only for a token that may be valid."""
        try:
            token = token if len(token) <= MAX_TOKEN else ""
            header, claims = jwt.get_unverified_header(token), jwt.decode(token, options=UNVERIFIED)
            kid, now, to, begin = header["kid"], self.clock.time(), claims["aud"], claims.get("nbf", 0)
            texts, times = [kid, *map(claims.get, IDS)], [claims["iat"], claims["exp"], begin]
            is_good = (
                header["typ"].lower() in TYPES and "crit" not in header
                and self.issuer == claims["iss"] and not self.audience.isdisjoint([to] if isinstance(to, str) else to)
                and all(isinstance(one, str) for one in texts) and all(type(one) in NUMBERS for one in times)
                and claims["exp"] + self.tolerance > now and begin <= now + self.tolerance
            )
        except Exception:  # whatever a token can cause
            is_good = False
        if not is_good:
            raise LatchkeyError("invalid_token")
        if kid in self.keys.revoked:
            raise LatchkeyError("invalid_token")
        key = self.keys.find(kid)
        try:
            jwt.PyJWS().decode(token, key, algorithms=["ES256"])
        except Exception:
            raise LatchkeyError("invalid_token") from None
        return claims, kid

    def close(self):
        if self.feed:
            self.feed.closed.set()  # its thread ends within ten seconds, and never keeps the process alive

    def refuse_ended(self, claims, kid, is_active=True):
        if not is_active or kid in self.keys.revoked or self.feed and claims["sid"] in self.feed.sessions:
            raise LatchkeyError("invalid_token")
        if self.feed and carries_claims_of_resource(claims) and self.feed.is_older(claims):
            raise LatchkeyError("invalid_token")

    def introspect(self, token):
        """The service's answer about a token, which counts for a second. Concurrent requests share it."""
        mine = self.clock.monotonic(), Future()
        with self.lock:  # not held during the call
            self.remove_old(mine[0])
            question = self.answers.setdefault(token, mine)
        if question is mine:
            try:
                mine[1].set_result(self.ask(token))
            except BaseException as error:
                with self.lock:  # no answer: the next request asks again
                    if self.answers.get(token) is mine:
                        del self.answers[token]
                mine[1].set_exception(error)
        return question[1].result()

    def remove_old(self, now):
        """Answers are in the order of their calls."""
        while self.answers:
            token, (asked, _) = next(iter(self.answers.items()))
            if now - asked < 1 and len(self.answers) < MOST_ANSWERS:
                return
            del self.answers[token]

    def ask(self, token):
        try:
            headers = {"Authorization": f"Bearer {self.service_key}"}
            response, text = call(self.client, "POST", "/oauth2/introspect", headers=headers, json={"token": token})
            answer = json.loads(text) if response.status_code == 200 else None
        except (httpx.HTTPError, ValueError):
            raise LatchkeyError("temporarily_unavailable") from None
        if response.status_code in (401, 403):
            raise LatchkeyError("service_key_refused")
        if not isinstance(answer, dict) or not isinstance(answer.get("active"), bool):
            retry_after = response.headers.get("retry-after", "1")
            raise LatchkeyError("temporarily_unavailable", retry_after=retry_after)
        return answer


def is_of_application(claims):
    """Whether a token is of the application itself, not of a program that acts for the user at one API."""
    return claims["aud"] == claims["iss"]


def carries_claims_of_resource(claims):
    """Whether a token has claims that only the service may replace: it knows which of them a program may have."""
    return not is_of_application(claims) and any(name in claims for name in NAMES)
