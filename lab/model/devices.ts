import fc from 'fast-check';
import { deviceId, deviceOf, someText } from './sign-in.js';
import { factsOf, isoOf, MINUTE, type Device, type Session, type Specification } from './specification.js';
import { at, expectRefusal, pick, step, which } from './step.js';
import { callAs } from './tokens.js';
import type { At } from './world.js';

interface Args {
  readonly at: At;
  readonly token: number;
}
const args = { at, token: which };
const thereAreTokens = ({ tokens }: Specification): boolean => tokens.length > 0;

/** `GET /devices`: newest use first, to the minute. */
export const listDevices = step<Args>('listDevices', args, {
  needs: thereAreTokens,
  async run({ at: to, token: place }, model, world) {
    const token = pick(model.tokens, place);
    await world.noteUses();
    const known = [...token.session.user.devices.values()];
    const expected = known.map((device) => viewOf(device, token.session, model));
    const answer = await callAs(to, token, ['GET', '/devices'], model, world);
    if (!answer) return;
    expect(answer.status).toBe(200);
    const { devices } = answer.body as { devices: { device_id: string; last_seen_at: string }[] };
    expect(devices.toSorted(byId)).toEqual(expected.toSorted(byId));
    const seen = devices.map(({ last_seen_at: time }) => time);
    expect(seen).toEqual(seen.toSorted().toReversed());
  },
});

/** The answer is the device; `device.renamed` is sent. */
export const rename = step<Args & { device: 0 | 1; name: string }>(
  'rename',
  { ...args, device: deviceOf, name: someText },
  {
    needs: thereAreTokens,
    async run({ at: to, token: place, device, name }, model, world) {
      const token = pick(model.tokens, place);
      const { session } = token;
      await world.noteUses();
      const path = `/devices/${deviceId(device)}`;
      const call = ['PATCH', path, { device_name: name }] as const;
      const known = session.user.devices.get(deviceId(device));
      const expected = known && { ...viewOf(known, session, model), device_name: name };
      const answer = await callAs(to, token, call, model, world);
      if (!answer) return;
      if (!known) return expectRefusal(answer, 'not_found');
      expect(answer).toMatchObject({ status: 200 });
      expect(answer.body).toEqual(expected);
      known.name = name;
      model.append(session.user, 'device.renamed', factsOf(known));
    },
  },
);

/** Signs the device out and removes it (docs/endpoints.md#for-the-user). */
export const removeDevice = step<Args & { device: 0 | 1 }>(
  'removeDevice',
  { ...args, device: deviceOf },
  {
    needs: thereAreTokens,
    async run({ at: to, token: place, device }, model, world) {
      const token = pick(model.tokens, place);
      const { user } = token.session;
      const answer = await callAs(to, token, ['DELETE', `/devices/${deviceId(device)}`], model, world);
      if (!answer) return;
      if (!user.devices.has(deviceId(device))) return expectRefusal(answer, 'not_found');
      expect(answer.status).toBe(204);
      model.end(model.sessions.filter((one) => one.user === user && one.deviceId === deviceId(device)));
      user.devices.delete(deviceId(device));
    },
  },
);

/** `last_seen_at` is the last use, to the minute. */
function viewOf(
  device: Device,
  { user, deviceId: current }: Session,
  model: Specification,
): { device_id: string } {
  return {
    ...(factsOf(device) as { device_id: string }),
    browser: null, // of `Agent/1`
    os: null,
    address: '127.0.0.1',
    last_seen_at: withinAMinute(device.lastUsed),
    current: device.id === current,
    signed_in: model.isSignedIn(user, device.id),
    online: expect.any(Boolean), // advisory
  } as { device_id: string };
}

function withinAMinute(time: number): unknown {
  return {
    asymmetricMatch: (seen: unknown) =>
      typeof seen === 'string' && seen <= isoOf(time) && seen >= isoOf(time - MINUTE),
    toString: () => `the minute before ${isoOf(time)}`,
  };
}

function byId(one: { device_id: string }, other: { device_id: string }): number {
  return one.device_id < other.device_id ? -1 : 1;
}

/** Who signs out of what (docs/endpoints.md#for-the-user). */
export const signOut = step<Args & { scope: 'current' | 'others' | 'all' | undefined }>(
  'signOut',
  { ...args, scope: fc.constantFrom('current', 'others', 'all', undefined) },
  {
    needs: thereAreTokens,
    async run({ at: to, token: place, scope }, model, world) {
      const token = pick(model.tokens, place);
      const body = scope === undefined ? {} : { scope };
      const answer = await callAs(to, token, ['POST', '/sign-out', body], model, world);
      if (!answer) return;
      expect(answer.status).toBe(204);
      model.end(model.inScope(token.session, scope ?? 'current'));
    },
  },
);
