// `npm run start:dev`: compiles and starts again after each change. If a source cannot be compiled, the service before it goes on.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, watch } from 'node:fs';
import { join } from 'node:path';

const WATCHED = ['src', 'packages', 'admin/src', 'demo'];
const OUTPUT = /(?:^|[/\\])(?:dist|node_modules)(?:[-/\\]|$)/;
const run = (...args) => spawn(process.execPath, args, { stdio: 'inherit' });
const ended = (child) =>
  child.exitCode ?? child.signalCode ?? once(child, 'exit').then(([code, signal]) => code ?? signal);

let service;
let isBusy = false;
let isStale = true;
let watchers = [];
let waiting;

/** Each folder by itself: on Linux, `recursive` loses files that an editor has replaced. */
function watchAll() {
  for (const watcher of watchers) watcher.close();
  const below = (folder) =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ parentPath, name }) => join(parentPath, name));
  watchers = WATCHED.flatMap((folder) => [folder, ...below(folder)])
    .filter((folder) => !OUTPUT.test(folder))
    .map((folder) =>
      watch(folder, (_event, file) => {
        if (file === null || OUTPUT.test(file)) return;
        isStale = true;
        clearTimeout(waiting);
        waiting = setTimeout(() => void restart(), 100); // an editor writes more than once
      }),
    );
}

async function restart() {
  if (isBusy) return;
  isBusy = true;
  while (isStale) {
    isStale = false;
    watchAll();
    if ((await ended(run('start.js'))) !== 0) continue;
    service?.kill('SIGTERM');
    if (service) await ended(service);
    service = run('dist/src/main.js', 'serve');
  }
  isBusy = false;
}

async function stop(signal) {
  service?.kill(signal);
  process.exit(service && (await ended(service)) === 0 ? 0 : 1);
}

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void stop(signal));
await restart();
