import { isFree } from '../../packages/embedded-postgres/src/address.js';

// Below the ports that systems give to outgoing connections (Linux: from 32768 on, others: from 49152 on), of which every
// test opens hundreds: one of them could take the port before its server does. Each of Jest's workers has its own share,
// also beside another run of Jest on the same machine, and goes round in it from a random place: so the port of a service that
// was killed is still free when it starts again.
const FIRST = 20_000;
const SHARE = 120;
const SHARES = 100;
const worker = process.ppid * 4 + Number(process.env['JEST_WORKER_ID'] ?? 0);
const share = FIRST + (worker % SHARES) * SHARE;
let next = Math.floor(Math.random() * SHARE);

/** Returns a port without a listener that no other worker will take. */
export async function freePort(): Promise<number> {
  for (let tried = 0; tried < SHARE; tried++) {
    const port = share + (next++ % SHARE);
    if (await isFree(port)) return port;
  }
  throw new Error('no port is free');
}
