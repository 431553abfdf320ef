import base64
import json
import queue
import threading
import time
from pathlib import Path

import httpx

VECTORS = Path(__file__).parents[2] / "vectors"


def vectors(name):
    return json.loads((VECTORS / f"{name}.json").read_text())


KEYS, TOKENS = vectors("keys"), vectors("tokens")


class Clock:
    """Stands still during a step."""

    def __init__(self, ms):
        self.ms, self.passed, self.sleep = ms, 0.0, time.sleep

    def time(self):
        return self.ms / 1000

    def monotonic(self):
        return self.passed

    def move(self, ms):
        self.passed, self.ms = self.passed + max(0, ms - self.ms) / 1000, ms


class Stream(httpx.SyncByteStream):
    """A stream that the verifier reads. If it reads again, it has processed what it got before."""

    def __init__(self, service, timeout):
        self.service, self.timeout, self.pieces = service, timeout, queue.Queue()
        self.is_reading, self.is_left, self.began = False, False, 0.0

    def __iter__(self):
        while True:
            self.began, self.is_reading = self.service.clock.monotonic(), True
            piece = self.pieces.get()
            if isinstance(piece, Exception):
                raise piece
            if piece is None:
                return
            yield piece

    def close(self):
        self.is_left = True

    def put(self, piece):
        soon(lambda: self.is_reading or self.is_left, "the verifier reads")
        self.is_reading = False
        self.pieces.put(piece)

    def send(self, piece):
        self.put(piece)
        soon(lambda: self.is_reading or self.is_left, "the verifier has processed what was sent")

    def expire(self):
        """A read that has lasted too long fails."""
        if not self.is_left and self.service.clock.monotonic() - self.began >= self.timeout:
            self.put(httpx.ReadTimeout("timed out"))


class ScriptedService(httpx.BaseTransport):
    """Answers in place of the service, as the steps of a case want it."""

    def __init__(self, clock):
        self.clock, self.stream, self.is_closed = clock, None, False
        self.waiting, self.introspections, self.key_requests = queue.Queue(), 0, 0
        self.publish({"keys": ["k1"]})
        self.introspection = None

    def handle_request(self, request):
        if request.url.path == "/.well-known/jwks.json":
            self.key_requests += 1
            return httpx.Response(self.keys[0], content=self.keys[1])
        if request.url.path == "/oauth2/introspect":
            self.introspections += 1
            if not self.introspection:
                raise httpx.ConnectError("reset")
            return httpx.Response(self.introspection["status"], text=self.introspection["body"])
        answer = queue.Queue()
        self.waiting.put((request, answer))
        return answer.get()

    def publish(self, step):
        keys = {"keys": [KEYS["keys"][kid] for kid in step.get("keys", [])]}
        self.keys = (step.get("status", 200), json.dumps(keys).encode() if "keys" in step else b"")

    def connect(self, step):
        """Returns `Last-Event-ID`."""
        self.await_connection()
        request, answer = self.waiting.get()
        status, headers = step.get("status", 200), step.get("headers", {})
        headers = {"content-type": step.get("type", "text/event-stream"), **headers}
        if status != 200 or "body" in step:
            answer.put(httpx.Response(status, headers=headers, text=step.get("body", "")))
            self.await_connection()
        else:
            self.stream = Stream(self, request.extensions["timeout"]["read"])
            answer.put(httpx.Response(status, headers=headers, stream=self.stream))
        return request.headers.get("last-event-id")

    def await_connection(self):
        if self.stream:
            self.stream.expire()
        soon(lambda: not self.waiting.empty(), "the verifier connects")

    def end(self):
        self.stream.put(None)
        self.await_connection()

    def close_all(self):
        """Ends what the verifier waits for."""
        if self.stream and not self.stream.is_left:
            self.stream.put(None)
        while not self.waiting.empty():
            self.waiting.get()[1].put(httpx.Response(503))


def pieces(step):
    if step["do"] == "repeat":
        texts = [step["text"].replace("{i}", f"{i:012d}") for i in range(step["count"])]
        return ["".join(texts[i : i + 1000]).encode() for i in range(0, len(texts), 1000)]
    return [one.encode() if isinstance(one, str) else base64.b64decode(one["base64"]) for one in step["bytes"]]


def soon(holds, what):
    for _ in range(30_000):
        if holds():
            return
        time.sleep(0.0005)
    raise AssertionError(f"never came true: {what}")


def others_have_ended():
    return not any(one.name.startswith("Thread-") for one in threading.enumerate())
