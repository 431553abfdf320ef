import fc, { type Arbitrary } from 'fast-check';
import { listen, push } from './channel.js';
import { listDevices, removeDevice, rename, signOut } from './devices.js';
import { revokeKey, rotateKey } from './keys.js';
import { refresh } from './refresh.js';
import { authorize, exchange, signIn } from './sign-in.js';
import type { Step } from './step.js';
import { turnClock } from './time.js';
import { introspect, revoke, useToken } from './tokens.js';
import { deleteUser, endUser } from './users.js';

const COMMANDS = {
  signIn: [8, signIn],
  authorize: [3, authorize],
  exchange: [4, exchange],
  refresh: [7, refresh],
  useToken: [4, useToken],
  listDevices: [4, listDevices],
  rename: [2, rename],
  removeDevice: [2, removeDevice],
  signOut: [4, signOut],
  introspect: [2, introspect],
  revoke: [2, revoke],
  endUser: [2, endUser],
  deleteUser: [1, deleteUser],
  push: [4, push],
  listen: [4, listen],
  rotateKey: [1, rotateKey],
  revokeKey: [1, revokeKey],
  turnClock: [6, turnClock],
} satisfies Record<string, readonly [weight: number, Arbitrary<Step>]>;

/**
 * Sequences of up to 30 commands.
 * @param replayPath of a sequence that has failed
 */
export function sequences(replayPath?: string): Arbitrary<Iterable<Step>> {
  const step = fc.oneof(...Object.values(COMMANDS).map(([weight, arbitrary]) => ({ weight, arbitrary })));
  const commands = fc.commands([step], {
    maxCommands: 30,
    size: 'max',
    ...(replayPath !== undefined && { replayPath }),
  });
  return fc.noBias(commands); // which would make most of them short
}
