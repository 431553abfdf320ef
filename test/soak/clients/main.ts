import { Backend } from './backend.js';
import { Beyond } from './beyond.js';
import { Http } from './http.js';
import { Newcomers } from './newcomers.js';
import { OpenIdPeople } from './open-id-people.js';
import { People } from './people.js';
import type { Lives } from './place.js';
import { SamplePeople } from './sample-people.js';
import { startSchedule } from './schedule.js';
import { Sitters } from './sitters.js';
import { StockClients } from './stock-clients.js';
import { StreamReader } from './stream-reader.js';
import { Strangers } from './strangers.js';
import { Tally } from './tally.js';

/** How a soak's clients, a process of their own, are told to begin; after that, when `started` has come back: `report`, `stop`. */
export interface Start {
  readonly do: 'start';
  /** Of the instances. */
  readonly urls: readonly string[];
  /** Address of the provider (provider.ts). */
  readonly provider: string;
  readonly serviceKey: string;
  readonly lives: Lives;
  readonly users: number;
  /** How many newcomers, and people of the provider of OpenID Connect, there are before the first of them has to go. */
  readonly stay: number;
  readonly perSecond: number;
  /** By those who go beyond limits, in turn. */
  readonly beyondPerSecond: number;
  readonly sockets: number;
}

export type Order = Start | { readonly do: 'report' } | { readonly do: 'stop' };

const tally = new Tally();
let stop: () => Promise<void> = () => Promise.resolve();

process.once('disconnect', () => process.exit(0));
process.on('SIGINT', () => undefined); // Ctrl-C reaches the parent as well, which ends this process in its turn
process.on('message', (order: Order) => {
  if (order.do === 'start') void begin(order);
  else if (order.do === 'report') process.send!(tally.take());
  else void stop().then(() => process.send!(tally.take()));
});

async function begin(order: Start): Promise<void> {
  stop = await start(order);
  process.send!('started');
}

/** @returns what ends it */
async function start(order: Start): Promise<() => Promise<void>> {
  const { urls, serviceKey, lives, users, stay, sockets } = order;
  const http = new Http(urls, tally);
  const people = new People(users, lives, http);
  const backend = new Backend(serviceKey, people, http);
  const strangers = new Strangers(http, tally);
  const newcomers = new Newcomers(stay, serviceKey, http);
  const stockClients = new StockClients(users, http);
  const openIdPeople = new OpenIdPeople(users, stay, order.provider, http);
  const samplePeople = new SamplePeople(http);
  const beyond = new Beyond(users, lives, http, tally);
  const sitters = new Sitters(people, http, tally);
  const readers = urls.map((url) => new StreamReader(url, serviceKey, tally));
  await beyond.signIn();
  const failed = (error: Error): void => tally.wrong(`a client: ${error.message}`);
  const endSchedule = startSchedule(
    order.perSecond,
    [
      [40, (due) => people.refresh(due)],
      [25, (due) => people.readMe(due)],
      [12, (due) => people.listDevices(due)],
      [5, (due) => people.rename(due)],
      [8, (due) => people.signIn(due)],
      [4, (due) => people.beginOnly(due)],
      [4, (due) => people.signOut(due)],
      [2, (due) => newcomers.come(due)],
      [2, (due) => newcomers.go(due)],
      [2, (due) => stockClients.signIn(due)],
      [1, (due) => openIdPeople.signIn(due)],
      [1, (due) => openIdPeople.logOut(due)],
      [2, (due) => samplePeople.signIn(due)],
      [18, (due) => backend.push(due)],
      [2, (due) => backend.pushOnce(due)],
      [8, (due) => backend.introspect(due)],
      [13, (due) => strangers.ask(due)],
      [1, (due) => strangers.connect(due)],
    ],
    failed,
  );
  const endBeyond = startSchedule(
    order.beyondPerSecond,
    [
      [1, (due) => beyond.authorize(due)],
      [1, (due) => beyond.token(due)],
      [1, (due) => beyond.refresh(due)],
      [1, (due) => beyond.badToken(due)],
      [1, (due) => beyond.connect(due)],
      [1, (due) => beyond.write(due)],
      [2, (due) => beyond.password(due)], // of which each instance counts its own
    ],
    failed,
  );
  const running = [sitters.run(sockets), ...readers.map((reader) => reader.run())];
  return async () => {
    await Promise.all([endSchedule(), endBeyond()]);
    await Promise.all([newcomers.removeAll(), openIdPeople.logOutAll()]);
    sitters.stop();
    for (const reader of readers) reader.stop();
    await Promise.all(running);
    http.close();
  };
}
