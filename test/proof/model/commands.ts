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

/** All that anybody can do, each about as often as it tells something. */
const WEIGHTS: readonly (readonly [number, Arbitrary<Step>])[] = [
  [8, signIn],
  [3, authorize],
  [4, exchange],
  [7, refresh],
  [4, useToken],
  [4, listDevices],
  [2, rename],
  [2, removeDevice],
  [4, signOut],
  [2, introspect],
  [2, revoke],
  [2, endUser],
  [1, deleteUser],
  [4, push],
  [4, listen],
  [1, rotateKey],
  [1, revokeKey],
  [6, turnClock],
];

const step = fc.oneof(...WEIGHTS.map(([weight, arbitrary]) => ({ weight, arbitrary })));

/**
 * Sequences of up to 30 commands.
 * @param replayPath of a sequence that has failed
 */
export function sequences(replayPath?: string): Arbitrary<Iterable<Step>> {
  const commands = fc.commands([step], {
    maxCommands: 30,
    size: 'max',
    ...(replayPath !== undefined && { replayPath }),
  });
  return fc.noBias(commands); // which would make most of them short
}
