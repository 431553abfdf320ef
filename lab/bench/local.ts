import { createRemoteJWKSet, jwtVerify } from 'jose';
import { createVerifier } from '../../packages/server/src/index.js';
import type { Cleanup } from './cleanup.js';
import { ISSUER, SERVICE_KEY } from './names.js';
import type { Options } from './options.js';
import { printTable } from './report.js';
import { interleave, type Turn } from './turn.js';

const AT_ONCE = 64;

/** W2L: an application verifies tokens in its own process, with `@latchkey/server` or with jose alone. */
export async function compareVerifiers(
  options: Options,
  port: number,
  tokens: readonly string[],
  cleanup: Cleanup,
): Promise<void> {
  const url = `http://127.0.0.1:${port}`;
  const latchkey = createVerifier({ issuer: ISSUER, url, serviceKey: SERVICE_KEY });
  cleanup.add(() => latchkey.close());
  const keys = createRemoteJWKSet(new URL(`${url}/.well-known/jwks.json`));
  const expected = { issuer: ISSUER, audience: ISSUER, algorithms: ['ES256'], typ: 'at+jwt' };
  const verifiers = [
    { name: 'jose', verify: (token: string): Promise<unknown> => jwtVerify(token, keys, expected) },
    { name: 'latchkey', verify: (token: string): Promise<unknown> => latchkey.verify(token) },
  ];
  await latchkey.verify(tokens[0]!);
  while (!latchkey.isTold) await new Promise((resolve) => setTimeout(resolve, 10));
  for (const { verify } of verifiers) await turn(verify, tokens, 1);
  const turns = await interleave(verifiers, options.rounds, ({ verify }) =>
    turn(verify, tokens, options.seconds),
  );
  printTable('W2L verify in the application', AT_ONCE, ['jose'], turns);
}

async function turn(
  verify: (token: string) => Promise<unknown>,
  tokens: readonly string[],
  seconds: number,
): Promise<Turn> {
  const [start, before] = [performance.now(), process.cpuUsage()];
  let count = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (performance.now() < start + seconds * 1000) await verify(tokens[count++ % tokens.length]!);
    }),
  );
  const { user, system } = process.cpuUsage(before);
  const requestsPerSecond = (count * 1000) / (performance.now() - start);
  return { requestsPerSecond, p50: NaN, p99: NaN, serviceCpu: (user + system) / count, databaseCpu: NaN };
}
