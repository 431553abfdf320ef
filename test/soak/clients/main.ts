import { Backend } from './backend.js';
import { Http } from './http.js';
import { People } from './people.js';
import type { Lives } from './place.js';
import { startSchedule } from './schedule.js';
import { Sitters } from './sitters.js';
import { StreamReader } from './stream-reader.js';
import { Strangers } from './strangers.js';
import { Tally } from './tally.js';

/** How a soak's clients, a process of their own, are told to begin; after that: `report`, `stop`. */
export interface Start {
  readonly do: 'start';
  /** Of the instances. */
  readonly urls: readonly string[];
  readonly serviceKey: string;
  readonly lives: Lives;
  readonly users: number;
  readonly perSecond: number;
  readonly sockets: number;
}

export type Order = Start | { readonly do: 'report' } | { readonly do: 'stop' };

const tally = new Tally();
let stop: () => Promise<void> = () => Promise.resolve();

process.once('disconnect', () => process.exit(0));
process.on('SIGINT', () => undefined); // Ctrl-C reaches the parent as well, which ends this process in its turn
process.on('message', (order: Order) => {
  if (order.do === 'start') stop = start(order);
  else if (order.do === 'report') process.send!(tally.take());
  else void stop().then(() => process.send!(tally.take()));
});

function start({ urls, serviceKey, lives, users, perSecond, sockets }: Start): () => Promise<void> {
  const http = new Http(tally);
  const people = new People(users, urls, lives, http, tally);
  const backend = new Backend(serviceKey, people, http);
  const strangers = new Strangers(urls, http, tally);
  const sitters = new Sitters(people, tally);
  const readers = urls.map((url) => new StreamReader(url, serviceKey, tally));
  const endSchedule = startSchedule(perSecond, [
    [45, (due) => people.refresh(due)],
    [30, (due) => people.readMe(due)],
    [12, (due) => people.listDevices(due)],
    [5, (due) => people.rename(due)],
    [8, (due) => people.signIn(due)],
    [4, (due) => people.beginOnly(due)],
    [4, (due) => people.signOut(due)],
    [20, (due) => backend.push(due)],
    [8, (due) => backend.introspect(due)],
    [13, (due) => strangers.ask(due)],
    [1, (due) => strangers.connect(due)],
  ]);
  const running = [sitters.run(sockets), ...readers.map((reader) => reader.run())];
  return async () => {
    await endSchedule();
    sitters.stop();
    for (const reader of readers) reader.stop();
    await Promise.all(running);
    http.close();
  };
}
