import fc from 'fast-check';
import { setTimeout as delay } from 'node:timers/promises';
import { SocketClient } from '../../test/support/socket-client.js';
import { deviceId, name } from './sign-in.js';
import { isoOf, KEPT, type ChannelEvent, type Specification } from './specification.js';
import { at, expectRefusal, pick, step, which } from './step.js';
import { idOf } from './users.js';
import { SERVICE_KEY, type At, type World } from './world.js';

/** For how long events of a history are waited for that do not come. */
const PATIENCE_MS = 20_000;

interface PushArgs {
  readonly at: At;
  readonly name: string;
  readonly device: 0 | 1 | undefined;
  readonly ttl: number | undefined;
  readonly key: 'one' | 'two' | undefined;
  readonly data: unknown;
}

export const push = step<PushArgs>(
  'push',
  {
    at,
    name,
    device: fc.constantFrom(undefined, undefined, 0, 1),
    ttl: fc.constantFrom(undefined, 0, 1, 60, 31_536_000),
    key: fc.constantFrom(undefined, undefined, 'one', 'two'),
    data: fc.constantFrom(null, 1, { a: ['ä'] }),
  },
  { needs: ({ sessions }) => sessions.length > 0, run: sendPush },
);

async function sendPush(args: PushArgs, model: Specification, world: World): Promise<void> {
  const user = model.userNamed('stub', world.nameOf(args.name));
  const device = args.device === undefined ? null : deviceId(args.device);
  const body = {
    user_id: idOf(user),
    event: 'news',
    data: args.data,
    ...(device !== null && { device_id: device }),
    ...(args.ttl !== undefined && { ttl: args.ttl }),
  };
  const key = args.key && world.nameOf(args.key);
  const headers = key === undefined ? {} : { 'Idempotency-Key': key };
  const answer = await world.call(args.at, 'POST', '/push', { bearer: SERVICE_KEY, headers, body });
  const before = key === undefined ? undefined : model.pushes.get(key);
  if (before && model.now < before.expires) {
    if (before.body !== JSON.stringify(body)) return expectRefusal(answer, 'invalid_request');
    expect(answer).toMatchObject({ status: 202, body: before.answer as object });
    return;
  }
  if (!user || (device !== null && !user.devices.has(device))) return expectRefusal(answer, 'not_found');
  const kept = args.ttl !== 0;
  const life = args.ttl === undefined ? KEPT : args.ttl * 1000;
  const offset = kept ? model.append(user, 'news', args.data, device, life).offset : null;
  expect(answer.status).toBe(202);
  const any = { id: expect.any(String) as unknown, online: expect.any(Boolean) as unknown };
  expect(answer.body).toEqual({ ...any, offset });
  if (key !== undefined) {
    model.pushes.set(key, { body: JSON.stringify(body), answer: answer.body, expires: model.now + KEPT });
  }
}

interface ListenArgs {
  readonly at: At;
  readonly token: number;
  /** How many events it has not seen; `future`: it knows of more than there are. */
  readonly behind: number | 'future' | undefined;
}

/** Missed events come first, in order, each once (docs/realtime.md#offsets-nothing-missed-nothing-twice). */
export const listen = step<ListenArgs>(
  'listen',
  {
    at,
    token: which,
    behind: fc.oneof(fc.nat({ max: 8 }), fc.constantFrom<['future', undefined]>('future', undefined)),
  },
  { needs: ({ tokens }) => tokens.length > 0, run: hear },
);

async function hear(args: ListenArgs, model: Specification, world: World): Promise<void> {
  const token = pick(model.tokens, args.token);
  const { user, deviceId: device, id: sessionId } = token.session;
  const offset = offsetOf(args, user.offset);
  const auth = { token: token.token, ...(offset !== undefined && { offset }) };
  const client = SocketClient.open(world.instances[args.at]!.url, auth);
  try {
    if (!model.isGood(token)) {
      expect(await client.refusal()).toMatchObject({ error: 'invalid_token' });
      return;
    }
    const { events, recovered } = model.missed(user, device, offset);
    const { id: _id, ...ready } = await client.ready();
    expect(ready).toEqual({
      user_id: user.id,
      session_id: sessionId,
      device_id: device,
      recovered,
      expires_at: isoOf(token.expires),
      offset: offset === undefined || offset > user.offset ? user.offset : offset,
    });
    // The answer comes after what was missed.
    const isAll = client.until(() => client.history.length >= events.length);
    await Promise.race([isAll, delay(PATIENCE_MS, undefined, { ref: false })]); // what is missing is seen below
    await client.socket.emitWithAck('authenticate', { token: token.token });
    const got = client.history.map(({ event, data, meta }) => ({
      event,
      data,
      offset: meta!.offset,
      sent_at: meta!.sent_at,
    }));
    expect(got).toEqual(events.map(asReceived));
  } finally {
    client.close();
  }
}

function offsetOf({ behind }: ListenArgs, last: number): number | undefined {
  if (behind === undefined) return undefined;
  return behind === 'future' ? last + 1 : Math.max(0, last - behind);
}

function asReceived({ event, data, offset, sent }: ChannelEvent): object {
  const facts = { ...(data as object), last_seen_at: expect.any(String) as unknown };
  return { event, data: event.startsWith('device.') ? facts : data, offset, sent_at: isoOf(sent) };
}
