import { Pool } from 'pg';
import { listen } from '../listen.js';
import { JWKS } from './access-token.js';
import { authorize } from './authorize.js';
import { introspectInBatches, introspectInOne, introspectSignature } from './introspect.js';
import { refreshInBatches } from './refresh-batch.js';
import { refreshInOne } from './refresh-one.js';
import { refreshWithProofs } from './refresh-proof.js';
import { refreshInTwo } from './refresh-two.js';
import { createFloorServer } from './server.js';
import { signInInOne } from './sign-in-one.js';
import { signInInTwo } from './sign-in-two.js';

// The service's work without a framework: node:http, pg with named statements, node:crypto. The distance between this and
// the service is what a framework can cost. The first message tells which kind of floor to be.
const KINDS = {
  two: { refresh: refreshInTwo, signIn: signInInTwo, introspect: introspectInOne },
  one: { refresh: refreshInOne, signIn: signInInOne, introspect: introspectInOne },
  batch: { refresh: refreshInBatches, signIn: signInInOne, introspect: introspectInBatches },
  proof: { refresh: refreshWithProofs, signIn: signInInOne, introspect: introspectInBatches },
  signature: { refresh: refreshInBatches, signIn: signInInOne, introspect: introspectSignature },
};

export interface FloorSettings {
  readonly kind: keyof typeof KINDS;
  readonly databaseUrl: string;
  readonly providerUrl: string;
}

process.once('message', ({ kind, databaseUrl, providerUrl }: FloorSettings) => {
  const { refresh, signIn, introspect } = KINDS[kind];
  const pool = new Pool({
    connectionString: databaseUrl,
    max: 10,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
  });
  const server = createFloorServer(
    new Map([
      ['POST /oauth2/refresh', refresh(pool)],
      ['GET /oauth2/authorize', authorize(pool, providerUrl)],
      ['POST /oauth2/token', signIn(pool, providerUrl)],
      ['POST /oauth2/introspect', introspect(pool)],
      ['GET /.well-known/jwks.json', () => JWKS],
    ]),
  );
  void listen(server);
});
