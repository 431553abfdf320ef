import { jest } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest, type ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import request from 'supertest';
import { SignOutService } from '../../src/device/sign-out.service.js';
import { query } from '../support/database.js';
import { bearer, signIn, type Tokens } from '../support/sign-in.js';
import { until, watchLateness } from '../support/waiting.js';
import { WEBHOOK_SECRET, WebhookReceiver } from '../support/webhook-receiver.js';
import { use, useService } from '../support/use.js';

const GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

interface Begun {
  device_code: string;
  user_code: string;
}

/** Polls of devices without a browser, as clients send them (docs/device-sign-in.md#on-the-device). */
describe('a device that polls', () => {
  let approver: Tokens;

  const admission = use(() => WebhookReceiver.start());
  const { service } = useService(() => ({
    DEVICE_GRANT: 'on',
    ADMISSION_URL: admission.url,
    ADMISSION_SECRET: WEBHOOK_SECRET,
  }));
  beforeEach(async () => {
    admission.answer = admit;
    approver = await signIn(service.url);
  });

  const admit = (response: ServerResponse): void => void response.end(JSON.stringify({ allow: true }));
  const sql = (text: string, ...values: unknown[]) => query(service.databaseUrl, text, values);
  async function begin(): Promise<Begun> {
    const fields = { client_id: 'tv', device_id: randomUUID() };
    const answer = await request(service.url).post('/oauth2/device_authorization').send(fields).expect(200);
    return answer.body as Begun;
  }
  const body = ({ device_code }: Begun) => ({ grant_type: GRANT, device_code, client_id: 'tv' });
  async function poll(begun: Begun): Promise<string> {
    const answer = await request(service.url).post('/oauth2/token').send(body(begun));
    return answer.status === 200 ? 'tokens' : (answer.body as { error: string }).error;
  }
  const approve = ({ user_code }: Begun) =>
    bearer(service.url, approver.access_token)
      .post(`/me/device-requests/${user_code}`, { approve: true })
      .expect(204);
  const HASH = `encode(sha256(convert_to($1, 'UTF8')), 'hex')`;
  const requestOf = async ({ device_code }: Begun) =>
    (
      await sql(`SELECT * FROM device_requests WHERE encode(device_code_hash, 'hex') = ${HASH}`, device_code)
    )[0]!;
  /** Sessions of devices of the approver, oldest first: why each was signed out, or that it lives. */
  async function sessions(): Promise<unknown[]> {
    const text = `SELECT signed_out_at, ends_because FROM refresh_tokens
      WHERE user_id = $1 AND device_id IS NOT NULL ORDER BY created_at`;
    const found = await sql(text, approver.user_id);
    return found.map(({ signed_out_at, ends_because }) => (signed_out_at === null ? 'lives' : ends_because));
  }

  // Gaps in seconds. Early ones are so by three seconds, which a busy machine does not lose.
  const [NOT_YET, TOO_SOON] = ['authorization_pending', 'slow_down'];
  it.each([
    ['by a timer with some latency', [4.97, 5.02, 4.2], [NOT_YET, NOT_YET, NOT_YET]],
    ['with a second poll at once', [0, 5, 5, 5], [TOO_SOON, TOO_SOON, NOT_YET, NOT_YET]],
    ['each second, for ever', [1, 1, 9, 1, 9], [TOO_SOON, TOO_SOON, NOT_YET, TOO_SOON, NOT_YET]],
    ['and adds five seconds, as it was told', [0.5, 10, 10], [TOO_SOON, NOT_YET, NOT_YET]],
  ])('%s', async (_what, gaps, expected) => {
    const begun = await begin();
    expect(await poll(begun)).toBe(NOT_YET);
    let sinceCounted = 0;
    for (const [index, gap] of gaps.entries()) {
      sinceCounted += gap;
      await sql(
        `UPDATE device_requests SET polled_at = now() - make_interval(secs => $2)
         WHERE encode(device_code_hash, 'hex') = ${HASH}`,
        begun.device_code,
        sinceCounted,
      );
      const answer = await poll(begun);
      expect([index, answer]).toEqual([index, expected[index]]);
      if (answer === NOT_YET) sinceCounted = 0;
    }
  });

  it('too often gets its tokens as soon as a person approves', async () => {
    const begun = await begin();
    const polls = [await poll(begun), await poll(begun), await poll(begun)];
    expect(polls).toEqual([NOT_YET, TOO_SOON, TOO_SOON]);
    await approve(begun);
    expect(await poll(begun)).toBe('tokens');
    expect(await poll(begun)).toBe('expired_token');
  });

  it('has its answer within 2.5 s, before a client gives up', async () => {
    const begun = await begin();
    const lateness = watchLateness();
    const began = performance.now();
    expect(await poll(begun)).toBe(NOT_YET);
    const took = performance.now() - began;
    expect(took - lateness()).toBeLessThan(2500);
  });

  /** Polls, and hangs up. @returns once the service knows that the client is gone */
  async function hangUp(begun: Begun, after: (response: ServerResponse) => unknown): Promise<void> {
    const arrived = once(service.app.getHttpServer(), 'request');
    const headers = { 'Content-Type': 'application/json' };
    const call = httpRequest(`${service.url}/oauth2/token`, { method: 'POST', headers, agent: false });
    call.on('error', () => undefined).end(JSON.stringify(body(begun)));
    const [, response] = (await arrived) as [unknown, ServerResponse];
    await after(response);
    const closed = response.closed || once(response, 'close');
    call.destroy();
    await closed;
  }

  it('and hangs up before a person approves loses nothing', async () => {
    const begun = await begin();
    await hangUp(begun, () => until(async () => (await requestOf(begun))['polled_at'] !== null));
    await approve(begun);
    expect(await poll(begun)).toBe('tokens');
    expect(await sessions()).toEqual(['lives']);
  });

  /** Hangs up while the service issues the tokens, which it cannot send any more. */
  async function hangUpLate(begun: Begun): Promise<void> {
    await approve(begun);
    const asked = new Promise<ServerResponse>((resolve) => (admission.answer = resolve));
    await hangUp(begun, () => asked);
    admission.answer = admit;
    admit(await asked);
  }

  it('and hangs up while its tokens are issued gets others, and has one session', async () => {
    const begun = await begin();
    await hangUpLate(begun);
    await until(async () => (await requestOf(begun))['state'] === 'approved');
    expect(await poll(begun)).toBe('tokens');
    expect(await sessions()).toEqual(['replaced', 'lives']);
    expect(await poll(begun)).toBe('expired_token');
  });

  it('and hangs up gets no others if the session was signed out meanwhile', async () => {
    // The sign-out comes between the session and its end by the service.
    await sql(
      `CREATE FUNCTION sign_out() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN NEW.signed_out_at := now(); RETURN NEW; END $$`,
    );
    await sql(
      'CREATE TRIGGER sign_out BEFORE INSERT ON refresh_tokens FOR EACH ROW EXECUTE FUNCTION sign_out()',
    );
    const signOut = jest.spyOn(service.app.get(SignOutService), 'signOut');
    try {
      const begun = await begin();
      await hangUpLate(begun);
      await until(() => signOut.mock.results.length === 1);
      expect(await signOut.mock.results[0]!.value).toBe(0);
      expect(await poll(begun)).toBe('expired_token');
      expect(await requestOf(begun)).toMatchObject({ state: 'used', identity: null });
    } finally {
      signOut.mockRestore();
      await sql('DROP TRIGGER sign_out ON refresh_tokens');
    }
  });

  it('and hangs up at any moment has one session in the end', async () => {
    const ROUNDS = 12;
    const all: Begun[] = [];
    for (let round = 1; round <= ROUNDS; round++) {
      const begun = await begin();
      all.push(begun);
      await approve(begun);
      await hangUp(begun, () => delay(2 * round));
    }
    // An answer may have left before the device hung up, or be taken back a moment after it was written.
    await until(async () => {
      for (const begun of all) if ((await requestOf(begun))['state'] === 'approved') await poll(begun);
      return (await sessions()).filter((session) => session === 'lives').length === ROUNDS;
    });
  });
});
