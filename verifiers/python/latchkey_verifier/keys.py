import json
import threading
import time
from concurrent.futures import Future
from contextlib import suppress

import httpx
import jwt

from .claims import LatchkeyError

FRESH, USABLE = 300, 3600  # seconds; older keys are used while the service is away
TIMEOUT, LONGEST = 2.5, 65_536  # seconds and bytes of an answer; a later one is outdated
MOST_WAITING = 4  # if other keys are known: tokens with made-up key ids must not occupy an API's threads


class Keys:
    """The service's public keys (RFC 7517), fetched at the first use, at most once a second.

    A request may wait for a fetch, never for the pause before the next one (docs/ended-sessions.md#keys).
    """

    def __init__(self, client, clock):
        self.client, self.clock, self.lock = client, clock, threading.Lock()  # not held during a fetch
        self.keys, self.revoked = {}, set()
        self.begun = self.fetched = float("-inf")
        self.fetching, self.waiting, self.has_failed = None, 0, False

    def find(self, kid):
        """The key, or None. Raises LatchkeyError if an unknown one cannot be fetched now."""
        with self.lock:
            now = self.clock.monotonic()
            age = now - self.fetched
            key, is_usable = self.keys.get(kid), age <= USABLE
            if key and age <= FRESH:
                return key
            is_first = self.fetching is None and now - self.begun >= 1
            if is_first:
                fetching = Future()
                threading.Thread(target=self.fetch, args=(fetching,), daemon=True).start()
                self.fetching, self.begun = fetching, now
            if key and is_usable:
                return key
            # While the service is away, one request waits, and only if no other could be answered.
            may_wait = is_first and not is_usable if self.has_failed else not is_usable or self.waiting < MOST_WAITING
            if self.fetching is None or not may_wait:
                raise LatchkeyError("temporarily_unavailable")
            fetching, self.waiting = self.fetching, self.waiting + 1
        keys = fetching.result()  # ends within the timeout
        with self.lock:
            self.waiting -= 1
        if keys is None or kid not in keys and not is_first:  # the service may have made the key since
            raise LatchkeyError("temporarily_unavailable")
        return keys.get(kid)

    def fetch(self, fetching):
        keys = None
        with suppress(Exception):
            headers = {"Cache-Control": "no-cache"}  # a cached answer may lack a new key
            answer, text = call(self.client, "GET", "/.well-known/jwks.json", headers=headers)
            if answer.status_code == 200:
                keys = dict(imported(json.loads(text)["keys"]))
        with self.lock:
            self.fetching, self.has_failed = None, keys is None
            if keys is not None:
                self.keys, self.fetched = keys, self.begun
        fetching.set_result(keys)


def call(client, method, path, **request):
    """The answer, and its bytes. Raises an error after 2.5 s, also if the answer comes in drops."""
    end, text = time.monotonic() + TIMEOUT, b""
    with client.stream(method, path, **request) as answer:
        for chunk in answer.iter_bytes():
            text += chunk
            if len(text) > LONGEST or time.monotonic() > end:
                raise httpx.ReadTimeout("the answer is too long")
    return answer, text


def imported(keys):
    """Ignores keys of other types, and broken ones."""
    for key in keys[:1000]:
        with suppress(Exception):
            if (key["kty"], key["crv"]) == ("EC", "P-256"):
                yield key["kid"], jwt.PyJWK(key, "ES256").key
