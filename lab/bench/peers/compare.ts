import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { ask, startChild } from '../child.js';
import type { Cleanup } from '../cleanup.js';
import { accessTokens, introspections, refreshes, startStubProvider, VERIFIED } from '../compare.js';
import { residentMemory } from '../cpu-time.js';
import { startDatabase } from '../database.js';
import { fill, fillUsers } from '../fill.js';
import { startLatchkey } from '../latchkey-target.js';
import type { LoadOrder } from '../load/generator.js';
import type { LoadResult } from '../load/run.js';
import { PEERS, type Only, type Options, type PeerName } from '../options.js';
import { medianOf, printHeading, printTable, speedsOf } from '../report.js';
import type { Service } from '../service.js';
import { compareSockets } from '../sockets.js';
import { interleave, measure } from '../turn.js';
import { betterAuth } from './better-auth.js';
import { hydra } from './hydra.js';
import { keycloak } from './keycloak.js';
import { nodeOidcProvider } from './node-oidc-provider.js';
import type { Operation, Peer, Surroundings, Task } from './peer.js';
import { saveResults, type Footprint } from './results.js';

const WARM_UP_MS = 5000;
const CONNECTIONS = [64];
const STARTS = 3;
const IDLE_MS = 10_000;
const TITLES: Readonly<Record<Operation, string>> = {
  refresh: 'refresh',
  introspection: 'introspection',
  signIn: 'whole sign-in',
};
const KINDS: Readonly<Record<PeerName, (around: Surroundings) => Promise<Peer | undefined>>> = {
  'better-auth': betterAuth,
  keycloak,
  hydra,
  'node-oidc-provider': nodeOidcProvider,
};

interface Target extends Service {
  readonly tasks: Readonly<Record<Operation, Task>>;
}

/** Measures Latchkey beside each peer; one peer runs at a time. */
export async function compareWithPeers(options: Options, cleanup: Cleanup): Promise<void> {
  const { url, admin, pid } = await startDatabase(cleanup);
  const providerUrl = await startStubProvider(cleanup);
  const known = await fill(admin, url, options.sessions);
  await fillUsers(admin);
  const footprints: Footprint[] = [];
  const own = await startMeasured(
    {
      installed: installedFiles(),
      start: () => startLatchkey(url, providerUrl, cleanup),
      tasks: async ({ port }) => ({
        refresh: { work: refreshes(known) },
        introspection: {
          work: introspections(await accessTokens(port, known.refreshTokens.slice(0, VERIFIED))),
        },
        signIn: { work: { signInAt: 'latchkey' } },
      }),
    },
    footprints,
  );
  const generator = startChild('./load/generator.js', cleanup);
  const generate = (order: LoadOrder) => ask<LoadResult>(generator, order);
  await printHeading(HEADING, options, admin);
  const measured = (name: Only): boolean => options.only?.includes(name) ?? true;
  for (const name of PEERS.filter(measured)) {
    const place = name.replaceAll('-', '_');
    await admin.query(`CREATE DATABASE ${place}`);
    const databaseUrl = new URL(url);
    databaseUrl.pathname = `/${place}`;
    const database = new Client(databaseUrl.href);
    await database.connect();
    cleanup.add(() => database.end());
    const around = { databaseUrl, database, providerUrl, sessions: options.sessions, cleanup };
    const kind = await KINDS[name](around);
    if (!kind) {
      console.log(`\n${name} is left out: it cannot be installed here (docs/benchmark.md).`);
      continue;
    }
    const peer = await startMeasured(kind, footprints);
    for (const operation of Object.keys(TITLES) as Operation[]) {
      const run = (target: Target, milliseconds: number, connections: number) => {
        const { port, tasks } = target;
        return generate({ run: target.name, port, ...tasks[operation].at, connections, milliseconds });
      };
      for (const target of [own, peer]) {
        await generate({ learn: target.name, work: target.tasks[operation].work });
        await run(target, WARM_UP_MS, 16);
      }
      for (const one of [admin, database]) await one.query('VACUUM (ANALYZE)');
      for (const connections of options.connections ?? CONNECTIONS) {
        const turns = await interleave([own, peer], options.rounds, (target) =>
          measure(target, {
            databasePid: pid,
            seconds: options.seconds,
            tidy: async () => void (await admin.query('CHECKPOINT')),
            run: (one, milliseconds) => run(one, milliseconds, connections),
          }),
        );
        printTable(TITLES[operation], connections, ['latchkey'], turns);
        saveResults(speedsOf(TITLES[operation], connections, 'latchkey', turns));
      }
    }
    await peer.stop();
  }
  saveResults(footprints);
  if (measured('sockets') && options.workloads.includes('W4'))
    await compareSockets(options, 'W4', url, providerUrl, cleanup);
}

/** Starts a prepared service several times; the last one stays, and is idle for a while before its first request. */
async function startMeasured(peer: Peer, footprints: Footprint[]): Promise<Target> {
  const seconds: number[] = [];
  let service!: Service;
  for (let i = 0; i < STARTS; i++) {
    if (i > 0) await service.stop();
    const begun = performance.now();
    service = await peer.start();
    seconds.push((performance.now() - begun) / 1000);
  }
  await delay(IDLE_MS);
  footprints.push({
    target: service.name,
    startSeconds: medianOf(seconds),
    idleMiB: residentMemory(service.pid) / 1024,
    installedMiB: sizeOf(peer.installed),
  });
  return { ...service, tasks: await peer.tasks(service) };
}

/** In MiB on disk. */
function sizeOf(paths: readonly string[]): number {
  const lines = execFileSync('du', ['-ck', ...paths], { encoding: 'utf8' })
    .trimEnd()
    .split('\n');
  return parseInt(lines.at(-1)!, 10) / 1024;
}

/** Latchkey's package, and the packages that `npm ci --omit=dev` installs on this platform. */
function installedFiles(): string[] {
  const { files } = JSON.parse(readFileSync('package.json', 'utf8')) as { files: string[] };
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Record<string, { dev?: boolean; link?: boolean }>;
  };
  const modules = Object.entries(packages).filter(
    ([path, { dev, link }]) => path.startsWith('node_modules/') && !dev && !link && existsSync(path),
  );
  return [...files, ...modules.map(([path]) => path)];
}

const HEADING = `Peers beside this service, each in its own database, with the same load; one peer runs at a time.
What is equal and what is not: lab/bench/README.md.`;
