import { setTimeout as delay } from 'node:timers/promises';
import { authenticate } from '../../packages/server/src/express.js';
import { createVerifier, LatchkeyError, requireRole } from '../../packages/server/src/index.js';
import { serve } from '../../packages/server/test/support/apis.js';
import { TcpProxy } from '../../test/support/tcp-proxy.js';
import type { World } from '../world/world.js';

/** An application's API that answers with the claims of its caller, and with whether `requireRole('admin')` lets the caller in. */
export type Api = Awaited<ReturnType<typeof startApi>>;

/** @param instance that the API calls. Resolves if the API receives the feed */
export async function startApi({ serviceKey, instances }: World, instance: number) {
  const proxy = await TcpProxy.before(instances[instance]!.url);
  const url = `http://127.0.0.1:${proxy.port}`;
  const options = { issuer: 'http://latchkey.test', url, serviceKey, onWarning: () => undefined };
  const verifier = createVerifier(options);
  const [guard, onlyAdmins] = [authenticate(verifier), requireRole('admin')];
  const server = await serve((plain, response) => {
    const request = plain as Parameters<typeof guard>[0];
    void guard(request, response, () => {
      let isAdmin = true;
      try {
        onlyAdmins(request.claims);
      } catch (error) {
        isAdmin = !(error instanceof LatchkeyError);
      }
      response.end(JSON.stringify({ ...request.claims, isAdmin }));
    });
  });
  while (!verifier.isTold) await delay(20);
  return {
    url: server.url,
    /** For so long nothing comes through connections that are open, and the feed is silent on new ones. */
    async cutOff(milliseconds: number): Promise<void> {
      proxy.strand();
      proxy.toServer.drops = (chunk) => chunk.includes('GET /sessions/ended');
      await delay(milliseconds);
      await proxy.restore();
    },
    async close(): Promise<void> {
      verifier.close();
      await Promise.all([server.close(), proxy.refuse()]);
    },
  };
}
