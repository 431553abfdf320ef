import threading
from contextlib import suppress

import jwt

from .claims import LatchkeyError

FRESH, USABLE = 300, 3600  # seconds; older keys are used while the service is away


class Keys:
    """The service's public keys (RFC 7517), fetched at the first use, at most once a second."""

    def __init__(self, client, clock):
        self.client, self.clock, self.lock = client, clock, threading.Lock()
        self.keys, self.revoked = {}, set()
        self.begun = self.fetched = float("-inf")

    def find(self, kid):
        """The key, or None. Raises LatchkeyError if an unknown one cannot be fetched."""
        asked = self.clock.monotonic()
        if asked - self.fetched > FRESH and kid in self.keys and self.lock.acquire(blocking=False):
            threading.Thread(target=lambda: (self.fetch(), self.lock.release()), daemon=True).start()
        if kid not in self.keys or asked - self.fetched > USABLE:
            with self.lock:  # others that wait take the answer of the first
                if self.begun < asked and (kid not in self.keys or asked - self.fetched > USABLE):
                    self.fetch()
            if self.fetched < self.begun:
                raise LatchkeyError("temporarily_unavailable")
        return self.keys.get(kid)

    def fetch(self):
        self.clock.sleep(max(0, self.begun + 1 - self.clock.monotonic()))
        self.begun = self.clock.monotonic()
        with suppress(Exception):  # then `fetched` is older than `begun`
            answer = self.client.get("/.well-known/jwks.json", headers={"Cache-Control": "no-cache"})
            self.keys, self.fetched = dict(imported(answer.json()["keys"])), self.begun


def imported(keys):
    """Ignores keys of other types, and broken ones."""
    for key in keys[:1000]:
        with suppress(Exception):
            if (key["kty"], key["crv"]) == ("EC", "P-256"):
                yield key["kid"], jwt.PyJWK(key, "ES256").key
