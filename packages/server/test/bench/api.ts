import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { createVerifier } from '../../src/index.js';

/** An API with `jose` alone or with this package. Arguments: which, the service's address and key. */
const [, , which, issuer, serviceKey] = process.argv as [string, string, string, string, string];

type Verify = (token: string) => Promise<{ sub?: string }>;

function withJose(): Verify {
  const keys = createRemoteJWKSet(new URL(`${issuer}/.well-known/jwks.json`));
  const options = { algorithms: ['ES256'], typ: 'at+jwt', issuer, audience: issuer };
  return async (token) => (await jwtVerify(token, keys, options)).payload;
}

function withLatchkey(): Verify {
  const verifier = createVerifier({ issuer, serviceKey });
  setInterval(() => {
    if (!verifier.isNotified) throw new Error('the feed is unavailable: nothing to compare');
  }, 5000).unref();
  return (token) => verifier.verify(token);
}

const verify = which === 'jose' ? withJose() : withLatchkey();
const tokenOf = ({ headers }: IncomingMessage): string => headers.authorization!.slice('Bearer '.length);

const server = createServer((request, response) => {
  verify(tokenOf(request)).then(
    ({ sub }) => response.end(JSON.stringify({ sub })),
    () => response.writeHead(401).end(),
  );
});
server.listen(0, '127.0.0.1', () => process.send!((server.address() as AddressInfo).port));
process.on('message', () => process.send!(process.cpuUsage()));
process.once('disconnect', () => process.exit());
