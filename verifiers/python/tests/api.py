"""An API for test/verifiers/python.spec.ts; the tests start it."""
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from latchkey_verifier import LatchkeyError, Verifier, require_role  # noqa: E402

latchkey = Verifier(
    os.environ["ISSUER"],
    os.environ["SERVICE_KEY"],
    url=os.environ["SERVICE_URL"],
    when_away=os.environ["WHEN_AWAY"],
)


class Api(BaseHTTPRequestHandler):
    def do_GET(self):
        try:
            body = latchkey.authenticate(self.headers["Authorization"])
            if self.path == "/admin":
                require_role(body, "admin")
            self.answer(200, body)
        except LatchkeyError as error:
            self.answer(error.status, error.body, error.headers)

    def answer(self, status, body, headers=()):
        text = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(text)), **dict(headers)}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    """A request that waits takes one of eight threads from all others (test/verifiers/made-up-tokens.ts)."""

    threads = ThreadPoolExecutor(8)

    def process_request(self, request, client_address):
        self.threads.submit(self.process_request_thread, request, client_address)


server = Server(("127.0.0.1", 0), Api)
print(server.server_port, flush=True)
server.serve_forever()
