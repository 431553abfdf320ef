import { Pool } from 'pg';
import { listen } from '../parent.js';
import { JWKS } from './access-token.js';
import { authorize } from './authorize.js';
import { introspectInBatches } from './introspect.js';
import { refreshInBatches } from './refresh-batch.js';
import { refreshWithProofs } from './refresh-proof.js';
import { createFloorServer } from './server.js';
import { signInInOne } from './sign-in-one.js';

// The service's work without a framework: node:http, pg with named statements, node:crypto. The distance between this and
// the service is what a framework can cost. The first message has the kind of floor.
const REFRESHES = {
  one: refreshInBatches,
  batch: refreshInBatches,
  proof: refreshWithProofs,
};

export interface FloorSettings {
  readonly kind: keyof typeof REFRESHES;
  readonly databaseUrl: string;
  readonly providerUrl: string;
}

process.once('message', ({ kind, databaseUrl, providerUrl }: FloorSettings) => {
  const pool = new Pool({
    connectionString: databaseUrl,
    max: 10,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
  });
  const server = createFloorServer(
    new Map([
      ['POST /oauth2/refresh', REFRESHES[kind](pool)],
      ['GET /oauth2/authorize', authorize(pool, providerUrl)],
      ['POST /oauth2/token', signInInOne(pool, providerUrl)],
      ['POST /oauth2/introspect', introspectInBatches(pool)],
      ['GET /.well-known/jwks.json', () => JWKS],
    ]),
  );
  void listen(server);
});
