import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import request from 'supertest';
import { bearer } from '../../test/support/sign-in.js';
import { until } from '../../test/support/waiting.js';
import { isRefresh } from './judgement.js';
import type { StormWorld } from './storm-world.js';
import type { Tab } from './tab.js';

const MINUTE = 60_000;
/** Longer than a token is used. */
const AN_HOUR = 61 * MINUTE;
/** As many as there are, but while one that was closed is not opened again. */
export const TABS = 3;
/** Longer than the service takes, and less than a request may (service.ts: ten seconds), one after the other; and longer than that. */
const SECONDS = [4000, 1500];
const GIVEN_UP = 11_000;

/** What a step needs of the storm. */
export interface Dice {
  /** A whole number below. */
  readonly pick: (below: number) => number;
}

type Step = () => Promise<unknown>;

export const NOT_NOW = Symbol('nothing was done');

/**
 * What can happen to a browser, by its name. A step leaves network and service as they should be; tabs may stay frozen or hidden, and
 * the device's clock stays wrong.
 */
export function stormSteps(world: StormWorld, { pick }: Dice): Record<string, Step> {
  const { gate, context } = world;
  const awake = (): Tab[] => world.tabs.filter(({ isFrozen }) => !isFrozen);
  const any = (): Tab => awake()[pick(awake().length)]!;
  const ask = (tab: Tab): Promise<unknown> => tab.page.evaluate('latchkey.accessToken().catch(() => 0)');
  const moment = (): Promise<unknown> => delay(50 + pick(250));
  const elapse = (milliseconds: number): Promise<void> => world.elapse(milliseconds, pick(2) === 0);
  const inMidRefresh = async (): Promise<() => void> => {
    await thaw(world); // one that was frozen in a refresh has the lock
    const release = gate.keepRefreshes();
    await elapse(AN_HOUR);
    for (const tab of awake()) void ask(tab).catch(() => undefined);
    await until(() => gate.kept > 0);
    return release;
  };
  /** Refresh tokens of other devices. */
  const others: string[] = [];
  /** Two are left. */
  const canClose = (): boolean => world.tabs.length === TABS;

  return {
    'open a tab': async () => (world.tabs.length < TABS ? world.open() : NOT_NOW),
    'close a tab': async () => (canClose() && awake().length > 1 ? world.closeTab(any()) : NOT_NOW),
    'reload a tab': () => any().page.reload(),
    'freeze a tab': async () => (awake().length > 1 ? world.freeze(any(), true) : NOT_NOW),
    'thaw the tabs': async () => (awake().length < world.tabs.length ? thaw(world) : NOT_NOW),
    'hide a tab, show another': async () => {
      await any().hide(true);
      await any().hide(false);
    },
    'time passes': async () => {
      const jumps = 1 + pick(6);
      for (let n = 0; n < jumps; n++) {
        await elapse(pick(12) * MINUTE);
        await moment();
      }
    },
    'the device sleeps': async () => {
      if (pick(2)) gate.cut();
      await elapse(pick(240) * MINUTE);
      if (pick(2)) await any().hide(false); // comes to the foreground
    },
    'the device sleeps in a refresh': async () => {
      const release = await inMidRefresh();
      await elapse((20 + pick(180)) * MINUTE);
      release();
    },
    'the clock is set forward': () => world.setClock((1 + pick(180)) * MINUTE),
    'the clock is set back': () => world.setClock(-(1 + pick(180)) * MINUTE),
    'the network is away': () =>
      world.trouble('the network was away', async () => {
        await context.setOffline(true);
        await world.push('offline');
        if (pick(2)) await elapse(pick(120) * MINUTE);
        await moment();
        await context.setOffline(false);
      }),
    'the service is away': () =>
      world.trouble('the service was away', async () => {
        gate.away = true;
        gate.cut();
        if (pick(2)) await elapse(pick(120) * MINUTE);
        await moment();
        gate.calm();
      }),
    'connections break': () =>
      world.trouble('connections broke', async () => {
        gate.cut();
        await world.push('broken');
        await moment();
      }),
    'answers are slow': async () => {
      gate.slowMs = 200 + pick(600);
      if (pick(2)) await elapse(AN_HOUR);
      await moment();
      gate.calm();
    },
    'the network works in one direction': () =>
      world.trouble('answers did not come', async () => {
        gate.oneWay = true;
        if (pick(2)) await elapse(AN_HOUR);
        await moment();
        if (pick(2)) await elapse(MINUTE); // what waits for an answer gives up
        gate.calm();
      }),
    'answers are lost': () =>
      world.trouble('answers were lost', async () => {
        gate.lost = 1 + pick(3);
        await elapse(AN_HOUR);
        await ask(any());
        gate.calm();
      }),
    'requests arrive twice': async () => {
      gate.twice = 1 + pick(2);
      await elapse(AN_HOUR);
      await ask(any());
      gate.calm();
    },
    'a refresh is answered late': async () => {
      const release = await inMidRefresh();
      await moment();
      release();
    },
    'a refresh takes seconds': async () => {
      const release = await inMidRefresh();
      for (const some of SECONDS) await world.elapse(some, true); // less than the other tabs wait for it
      for (const tab of awake()) void ask(tab).catch(() => undefined);
      await moment();
      release();
    },
    'a refresh is never answered': async () => {
      if (awake().length < world.tabs.length) return NOT_NOW; // time stands still for their timers
      const release = await inMidRefresh();
      const hanging = gate.seen.findLast(isRefresh)!;
      await world.elapse(GIVEN_UP, true);
      await until(() => hanging.ended !== undefined, 'whoever made the refresh that hangs gives it up');
      return release();
    },
    'a tab is closed in a refresh': async () => {
      if (!canClose()) return NOT_NOW;
      const release = await inMidRefresh();
      await world.closeTab(any());
      await moment();
      return release();
    },
    'a tab is reloaded in a refresh': async () => {
      const release = await inMidRefresh();
      const reloaded = any().page.reload();
      await moment();
      release();
      await reloaded;
    },
    'a tab is frozen in a refresh': async () => {
      const release = await inMidRefresh();
      await world.freeze(any(), true);
      release();
      await moment();
    },
    'all tabs ask at once': async () => {
      await elapse(AN_HOUR);
      await Promise.all(awake().map(ask));
    },
    'IndexedDB fails once': () =>
      world.trouble('IndexedDB failed', async () => {
        const tab = any();
        await tab.page.evaluate(`sessionStorage.fails = 'once'`);
        await tab.page.reload();
        await elapse(AN_HOUR);
        await ask(tab);
        await tab.page.evaluate(`delete sessionStorage.fails`);
      }),
    'news of the storage come at any time': () =>
      any().page.evaluate(`{
        const key = '${world.key}';
        dispatchEvent(new StorageEvent('storage', { key }));
        dispatchEvent(new StorageEvent('storage', { key: null }));
        const others = new BroadcastChannel(key);
        others.postMessage(false);
        setTimeout(() => others.close(), 100);
      }`),
    'an instance restarts': () => world.trouble('instances restarted', () => world.restart(1)),
    'both instances restart': () => world.trouble('instances restarted', () => world.restart(2)),
    'the key is rotated': () => world.keys.rotate(),
    'the key is revoked': async () => {
      const { token } = await any().tell(world.key);
      if (!token) return NOT_NOW;
      await world.revokeKey(token);
      return delay(1000);
    },
    'events are pushed': async () => {
      const count = 1 + pick(5);
      for (let n = 0; n < count; n++) await world.push(n);
    },
    'another device signs in': async () => {
      const { refresh_token } = await world.otherDevice(randomUUID());
      others.push(refresh_token);
    },
    'another device signs out': async () => {
      const [{ url }] = world.services as [StormWorld['services'][0]];
      for (let token = others.pop(); token; token = others.pop()) {
        const { status, body } = await request(url).post('/oauth2/refresh').send({ refresh_token: token });
        if (status === 401) continue; // it was signed out from here
        const { access_token } = body as { access_token: string };
        return bearer(url, access_token).post('/sign-out', {}).expect(204);
      }
      return NOT_NOW;
    },
    'the others are signed out from here': () =>
      any().page.evaluate(`latchkey.signOut('others').catch(() => 0)`),
  };
}

export async function thaw(world: StormWorld): Promise<void> {
  for (const tab of world.tabs) if (tab.isFrozen) await world.freeze(tab, false);
}
