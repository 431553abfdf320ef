import { EventEmitter } from 'node:events';
import { jest } from '@jest/globals';
import type { Socket } from 'socket.io';
import type { PresenceTracker } from '../../channel/presence.tracker.js';
import type { Clock } from '../../database/clock.js';
import { Events } from '../../events.js';
import type { AccessTokenVerifier } from '../../token/access-tokens/access-token.verifier.js';
import type { EndedSessions } from '../../token/revocation/ended-sessions.js';
import type { Admitted } from '../admission/admission.js';
import type { ChannelHub } from '../delivery/channel-hub.js';
import type { Connection } from './connection.js';
import { ConnectionRegistry } from './connection-registry.js';

const START = 1_800_000_000_000;
const TICK_MS = 250;

/** The clock is the database's: this instance may correct it while sockets are open. */
describe('the expiry of a socket', () => {
  let correction: number;
  let sent: [event: string, at: number][];
  let registry: ConnectionRegistry;
  let connection: Connection;
  const now = (): number => Date.now() + correction;

  beforeEach(() => {
    jest.useFakeTimers({ now: START });
    [correction, sent] = [0, []];
    registry = new ConnectionRegistry(
      { now } as Clock,
      {} as AccessTokenVerifier,
      { includes: () => false } as unknown as EndedSessions,
      {
        join: async (joined: Connection) => void (connection = joined),
        leave: () => undefined,
      } as unknown as ChannelHub,
      { arrived: () => undefined, left: () => undefined } as unknown as PresenceTracker,
      new Events(),
    );
  });
  afterEach(() => {
    registry.onApplicationShutdown();
    jest.useRealTimers();
  });

  function open(exp: number): void {
    const conn = Object.assign(new EventEmitter(), {
      readyState: 'closed',
      close: () => undefined,
      transport: {},
    });
    const socket = Object.assign(new EventEmitter(), {
      conn,
      connected: true,
      emit: (event: string) => sent.push([event, now()]),
      disconnect: () => undefined,
    });
    const session = { userId: 'u', sessionId: 's', deviceId: null };
    registry.open(socket as unknown as Socket, { session, claims: { exp }, kid: 'k' } as Admitted);
    connection.position = 0;
  }

  it.each([5000, -5000, 365 * 86_400_000])(
    'and its warning follow a clock that is corrected by %i ms, at most a tick late',
    (by) => {
      correction = by;
      const exp = Math.floor(now() / 1000) + 3600;
      correction = 0;
      open(exp);
      correction = by;
      jest.advanceTimersByTime(exp * 1000 - now() + TICK_MS);
      expect(sent.map(([event]) => event)).toEqual(['token.expiring', 'session.ended']);
      for (const [i, due] of [exp * 1000 - 60_000, exp * 1000].entries()) {
        const late = sent[i]![1] - due;
        expect(late).toBeGreaterThanOrEqual(0);
        expect(late).toBeLessThanOrEqual(TICK_MS);
      }
    },
  );
});
