import type { Call, HistoryEntry, Issued } from './operation.js';
import { FINAL } from './rules/kept.js';

const user = 'quiet';
const device = 'laptop';
const call = (
  client: string,
  begun: number,
): Omit<Call, 'outcome'> & { outcome: 'ok'; client: string; begun: number; ended: number } => ({
  client,
  instance: 0,
  begun,
  ended: begun + 10,
  outcome: 'ok',
});
const token = (session: string, jti: string, of: string | null = device): Issued => ({
  session,
  jti,
  kid: 'quiet key',
  user,
  device: of,
  expiresIn: 3600,
});
const holder = { user, device, session: 'kept' };
const at = (begun: number): { begun: number; ended: number } => ({ begun, ended: begun });

export function quietUser(): Record<string, HistoryEntry> {
  const issued = token('kept', 'kept 1');
  const left = token('left', 'left 1', null);
  const socket = { client: 'ear', instance: 0, token: issued, user, device };
  const event = { client: 'ear', user, device, event: 'proof.push' };
  const stored = { kind: 'stored', user, event: 'proof.push', device: null, ...at(60_000) } as const;
  return {
    authorize: { kind: 'authorize', ...call('q', 0), state: 'state 1' },
    exchange: { kind: 'exchange', code: 'quiet.1', ...at(105) },
    signIn: { kind: 'sign-in', ...call('q', 100), state: 'state 1', code: 'quiet.1', device, user, issued },
    exchangeLeft: { kind: 'exchange', code: 'quiet.2', ...at(205) },
    signInLeft: {
      kind: 'sign-in',
      ...call('q', 200),
      state: 'state 2',
      code: 'quiet.2',
      device: null,
      user,
      issued: left,
    },
    use: { kind: 'use', ...call('q', 300), token: issued, user },
    refresh: { kind: 'refresh', ...call('q', 400), session: 'kept', issued: token('kept', 'kept 2') },
    connect: {
      kind: 'connect',
      ...socket,
      ...call('ear', 500),
      socket: 1_000_001,
      offset: 1,
      recovered: true,
      holder,
    },
    push2: { kind: 'push', ...call('q', 1000), user, device: null, n: 'n 2', id: 'id 2', offset: 2 },
    receive2: { kind: 'receive', ...event, socket: 1_000_001, n: 'n 2', id: 'id 2', offset: 2, ...at(1010) },
    push3: { kind: 'push', ...call('q', 1100), user, device, n: 'n 3', id: 'id 3', offset: 3 },
    receive3: { kind: 'receive', ...event, socket: 1_000_001, n: 'n 3', id: 'id 3', offset: 3, ...at(1110) },
    closed: {
      kind: 'closed',
      client: 'ear',
      socket: 1_000_001,
      instance: 0,
      token: issued,
      reason: 'transport close',
      ...at(1200),
    },
    push4: { kind: 'push', ...call('q', 1300), user, device: null, n: 'n 4', id: 'id 4', offset: 4 },
    pushElsewhere: {
      kind: 'push',
      ...call('q', 1350),
      user,
      device: 'phone',
      n: 'n 5',
      id: 'id 5',
      offset: 5,
    },
    back: {
      kind: 'connect',
      ...socket,
      ...call('ear', 1400),
      socket: 1_000_002,
      from: 3,
      offset: 3,
      recovered: true,
      holder,
    },
    receive4: { kind: 'receive', ...event, socket: 1_000_002, n: 'n 4', id: 'id 4', offset: 4, ...at(1420) },
    signOut: {
      kind: 'sign-out',
      ...call('q', 5000),
      by: 'revoke',
      scope: 'session',
      user,
      session: 'left',
      device: null,
    },
    refused: {
      kind: 'use',
      ...call('q', 5100),
      outcome: 'refused',
      status: 401,
      error: 'invalid_token',
      token: left,
    },
    rename: { kind: 'rename', ...call('q', 6000), user, device, name: 'new name', token: issued },
    receive6: {
      kind: 'receive',
      ...event,
      socket: 1_000_002,
      event: 'device.renamed',
      id: 'id 6',
      offset: 6,
      ...at(6010),
    },
    revokeKey: { kind: 'key', ...call('operator', 20_000), instance: -1, change: 'revoke', kid: 'quiet key' },
    told: {
      kind: 'closed',
      client: 'ear',
      socket: 1_000_002,
      instance: 0,
      token: issued,
      reason: 'transport close',
      told: 'revoked',
      ...at(20_100),
    },
    refusedKey: {
      kind: 'use',
      ...call('q', 20_200),
      outcome: 'refused',
      status: 401,
      error: 'invalid_token',
      token: issued,
    },
    stored1: {
      ...stored,
      event: 'device.signed_in',
      id: 'id 1',
      offset: 1,
      at: 105,
      of: { device, name: null },
    },
    stored2: { ...stored, id: 'id 2', offset: 2, n: 'n 2' },
    stored3: { ...stored, device, id: 'id 3', offset: 3, n: 'n 3' },
    stored4: { ...stored, id: 'id 4', offset: 4, n: 'n 4' },
    stored5: { ...stored, device: 'phone', id: 'id 5', offset: 5, n: 'n 5' },
    stored6: { ...stored, event: 'device.renamed', id: 'id 6', offset: 6, name: 'new name' },
    look: {
      kind: 'refresh',
      ...call(FINAL, 61_000),
      session: 'kept',
      issued: { ...token('kept', 'kept 3'), kid: 'next key' },
    },
    lookLeft: {
      kind: 'refresh',
      ...call(FINAL, 61_000),
      outcome: 'refused',
      status: 401,
      error: 'invalid_grant',
      session: 'left',
    },
  };
}
