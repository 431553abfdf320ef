import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { authenticate } from '../../src/express.js';
import { createVerifier, type VerifierOptions } from '../../src/index.js';

/** An API in its own process. Argument: the verifier's options. Sends its port once the feed is complete. */
const verifier = createVerifier(JSON.parse(process.argv[2]!) as VerifierOptions);
const guard = authenticate(verifier);
const server = createServer((request, response) => {
  void guard(request as Parameters<typeof guard>[0], response, () => response.end('{}'));
});
server.keepAliveTimeout = 60_000; // connections outlive the time for which the process is stopped
server.listen(0, '127.0.0.1', () => {
  const waiting = setInterval(() => {
    if (!verifier.isTold) return;
    clearInterval(waiting);
    process.send!((server.address() as AddressInfo).port);
  }, 10);
});
process.once('disconnect', () => process.exit()); // with the test
