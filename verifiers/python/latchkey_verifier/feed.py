import codecs
import io
import json
import logging
import random
import re
import threading
from datetime import datetime

from .claims import LatchkeyError, as_in_token

SILENCE = 2  # seconds
KEEP = 300  # seconds, by which entries outlive their tokens: this machine's clock may be set back a little
COMMIT = 10  # seconds: a token that was issued so shortly after a change may have the former claims
MOST, LONGEST = (2_000_000, 100_000_000, 1000), 65_536  # sessions, characters of claims, keys; a line


class Feed:
    """Follows `GET /sessions/ended` (docs/ended-sessions.md) in a thread, one connection after another."""

    def __init__(self, client, service_key, tolerance, keys, clock):
        self.client, self.keys, self.clock, self.keep = client, keys, clock, KEEP + tolerance
        self.headers = {"Accept": "text/event-stream", "Authorization": f"Bearer {service_key}"}
        self.sessions, self.changes, self.characters = {}, {}, 0
        self.cursor, self.swept, self.failures, self.refusal = "", 0.0, 0, None
        self.complete = None  # when nothing was missing, by two clocks; None before `ready`
        self.closed = threading.Event()
        threading.Thread(target=self.run, name="latchkey-feed", daemon=True).start()

    @property
    def is_fresh(self):
        """Whether all ended sessions and changed claims are known, except for the last seconds."""
        complete = self.complete
        return complete is not None and self.since(complete) <= SILENCE and not self.was_set_back()

    def replacing(self, token):
        """The claims that replace those of a token, as a token carries them."""
        at, _, claims = self.changes.get(token["sub"], (0, 0, ""))
        return json.loads(claims) if claims and token["iat"] <= int(at) + COMMIT else None

    def is_older(self, token):
        """Whether a token has former claims. Only the service knows it of one issued soon after, for twice as long."""
        at, *_ = self.changes.get(token["sub"], (None,))
        if at is None or token["iat"] > int(at) + COMMIT:
            return False
        return token["iat"] < int(at) or self.clock.time() >= at + 2 * COMMIT

    def now(self):
        return self.clock.monotonic(), self.clock.time()

    def since(self, moment):
        """By the clock with the larger difference: a monotonic one may stop while the machine sleeps."""
        return max(now - then for now, then in zip(self.now(), moment))

    def was_set_back(self):
        return self.clock.time() < self.swept - KEEP

    def run(self):
        while not self.closed.is_set():
            if self.was_set_back():  # sessions that were removed may have valid tokens again
                self.swept, self.cursor = 0.0, ""
            self.sweep()
            try:
                self.read()
            except Exception as error:
                self.complete, self.failures = None, self.failures + 1
                self.refusal = error if isinstance(error, LatchkeyError) else None
                if self.failures == (1 if self.refusal else 2):
                    logging.getLogger(__name__).warning("Sign-outs are not received: %s", error)
            self.closed.wait(min(0.1 * 2 ** min(self.failures - 1, 6), 5) * random.uniform(0.5, 1))

    def read(self):
        """The time that the service has for its first answer doubles with each failure, up to ten seconds."""
        headers = self.headers | ({"Last-Event-ID": self.cursor} if self.cursor else {})
        timeout = min(SILENCE * 2**self.failures, 10)
        with self.client.stream("GET", "/sessions/ended", headers=headers, timeout=timeout) as answer:
            if answer.status_code in (401, 403):
                raise LatchkeyError("service_key_refused")
            kind = answer.headers.get("content-type", "")
            if answer.status_code != 200 or not kind.startswith("text/event-stream"):
                raise ConnectionError(f"the service answered with {answer.status_code}")
            for name, data, cursor in blocks(self.chunks(answer)):
                if name and data is not None:
                    self.take(name, data)
                if cursor is not None:
                    self.take_cursor(cursor)
        raise ConnectionError("the stream has ended, or nothing was received for too long")

    def chunks(self, answer):
        """Bytes after a silence do not count: this process may have been paused. A new connection does."""
        last, self.is_late = self.now(), False
        for chunk in answer.iter_bytes():
            if self.complete and self.since(self.complete) > SILENCE:
                return
            last, self.is_late = self.now(), self.is_late or self.since(last) > SILENCE
            yield chunk

    def take(self, name, data):
        """An event that is unreadable may be a sign-out: the connection fails."""
        if name == "ready":
            if self.is_late:
                raise TimeoutError("nothing was received for too long")
            self.complete, self.failures, self.refusal = self.now(), 0, None
        elif name == "ended":
            session, until = read(data, "session_id", "until")
            if until + self.keep > self.clock.time():
                self.sessions[session] = max(until, self.sessions.get(session, 0))
        elif name == "key_revoked":
            self.keys.revoked.update(read(data, "kid"))
        elif name == "claims_changed":
            user, at, until = read(data, "user_id", "changed_at", "until")
            claims = json.dumps(as_in_token(json.loads(data)["claims"]))
            self.forget(user)  # of several events the last one counts
            if until + self.keep > self.clock.time():
                self.changes[user] = (at, until, claims)
                self.characters += 200 + len(claims)
        elif name == "claims_voided":
            user, at = read(data, "user_id", "voided_at")
            if user in self.changes and self.changes[user][0] <= at:
                self.forget(user)
        sizes = (len(self.sessions), self.characters, len(self.keys.revoked))
        if any(size > most for size, most in zip(sizes, MOST)):
            raise MemoryError("more ended sessions, changed claims or keys than fit into memory")

    def take_cursor(self, cursor):
        """The service has just read its database, and has sent everything before it."""
        self.cursor = cursor if re.fullmatch("[!-~]{1,1024}", cursor) else self.cursor
        if self.was_set_back():
            raise ConnectionError("the clock of this machine was set back")
        self.complete = self.complete and self.now()
        self.sweep()

    def forget(self, user):
        self.characters -= 200 + len(self.changes.pop(user)[2]) if user in self.changes else 0

    def sweep(self):
        """Removes what no valid token needs, once a minute."""
        now = self.clock.time()
        if abs(now - self.swept) >= 60:
            self.swept = now
            self.sessions = {sid: end for sid, end in self.sessions.items() if end + self.keep > now}
            for user in [user for user, (_, end, _) in self.changes.items() if end + self.keep <= now]:
                self.forget(user)


def read(data, *names):
    """The members of an event; times in seconds. Raises an error if one is missing or no text."""
    for name, value in ((name, json.loads(data)[name]) for name in names):
        if not isinstance(value, str):
            raise ValueError("an event is unreadable")
        is_time = name in ("until", "changed_at", "voided_at")
        yield datetime.fromisoformat(value.replace("Z", "+00:00")).timestamp() if is_time else value


def blocks(chunks):
    """Parses `text/event-stream` (HTML standard, 9.2.6). Yields name, data and id of each block."""
    decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder("utf-8-sig")("replace"), True)
    rest, name, data, cursor = "", "", None, None
    for chunk in chunks:
        *lines, last = (rest + decoder.decode(chunk)).split("\n")
        rest = limited(last)
        for line in lines:
            field, _, value = limited(line).partition(":")  # a comment is a field without a name
            value = value[1:] if value.startswith(" ") else value
            if not line:
                yield name, data, cursor
                name, data, cursor = "", None, None
            elif field == "event":
                name = value
            elif field == "id" and "\0" not in value:
                cursor = value
            elif field == "data":
                data = value if data is None else limited(f"{data}\n{value}")


def limited(text):
    if len(text) > LONGEST:
        raise ValueError("a line or an event of the stream is too long")
    return text
