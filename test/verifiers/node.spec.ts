import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { underMadeUpTokens } from './made-up-tokens.js';
import { againstTheService, type Api, type ApiOptions, ROOT } from './real-service.js';

type Package = typeof import('../../packages/server/src/index.js');
const { createVerifier, LatchkeyError, requireRole } = (await import(
  join(ROOT, 'packages/server/src/index.ts')
)) as Package;

/** The row that the others are compared with. */
describe('@latchkey/server', () => {
  againstTheService('@latchkey/server', startApi);
  underMadeUpTokens('@latchkey/server', startApi);
});

async function startApi({ issuer, url, serviceKey, whenAway }: ApiOptions): Promise<Api> {
  const latchkey = createVerifier({ issuer, url, serviceKey, whenAway, onWarning: () => undefined });
  const isAdmin = requireRole('admin');
  const server = createServer((request, response) => {
    const answer = async (): Promise<void> => {
      const claims = await latchkey.authenticate(request);
      if (request.url === '/admin') isAdmin(claims);
      response.end(JSON.stringify(claims));
    };
    answer().catch((error: unknown) => {
      if (!(error instanceof LatchkeyError)) throw error;
      response.writeHead(error.status, error.headers).end(JSON.stringify(error.body));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      latchkey.close();
      server.closeAllConnections();
      server.close();
    },
  };
}
