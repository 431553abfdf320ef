import type { Response } from 'express';
import { SignOutController } from './sign-out.controller.js';

/** Which sessions somebody ends (contract §4). */
describe('POST /sign-out', () => {
  it.each([
    ['their device', 'd', {}, 'device'],
    ['their session, where they have no device', null, {}, 'session'],
    ['everything else', 'd', { scope: 'others' }, 'others'],
    ['everything', null, { scope: 'all' }, 'all'],
  ] as const)('ends %s', async (_which, deviceId, body, scope) => {
    const ended: unknown[] = [];
    const signOuts = { signOut: (...call: unknown[]) => Promise.resolve(void ended.push(call)) };
    const caller = { userId: 'u', sessionId: 's', deviceId };
    const controller = new SignOutController(signOuts as never, {} as never);
    expect(await controller.signOut(caller, body, {} as Response)).toBeUndefined();
    expect(ended).toEqual([[scope, caller]]);
  });
});
