import { randomUUID } from 'node:crypto';
import request, { type Response } from 'supertest';
import { deriveUserId } from '../../src/identity/user-id.js';
import { caep, push, risc, Transmitter } from '../provider-events/transmitter.js';
import { query } from '../support/database.js';
import { DirectoryClient } from '../support/directory.js';
import { Person } from '../support/oidc-issuer.js';
import { startTestService, type TestService } from '../support/service.js';
import { bearer, type Tokens } from '../support/sign-in.js';
import { until } from '../support/waiting.js';
import { WEBHOOK_SECRET, WebhookReceiver } from '../support/webhook-receiver.js';
import { use } from '../support/use.js';

const DIRECTORY_TOKEN = 'a-token-of-the-directory-with-enough-characters';
const MAX_SESSIONS = 2;

/**
 * Who may sign in is checked again when a device that another one has approved gets its tokens
 * (docs/device-sign-in.md#the-session), on two instances.
 */
describe('tokens for a device after the approval', () => {
  let user: string;
  let env: Record<string, string>;

  const transmitter = use(() => Transmitter.start());
  const asked = use(() => WebhookReceiver.start());
  beforeAll(() => {
    env = transmitter.env({
      DEVICE_GRANT: 'on',
      MAX_SESSIONS: String(MAX_SESSIONS),
      ADMISSION_URL: asked.url,
      ADMISSION_SECRET: WEBHOOK_SECRET,
      PROVIDERS_CORP_SCIM_TOKEN: DIRECTORY_TOKEN,
      // An account that is disabled keeps its sessions, so that the check alone refuses the device.
      PROVIDERS_CORP_SIGNALS_END: 'session-revoked',
    });
  });
  const here = use(() => startTestService(env));
  /** Lets only some users in, since its operator has just set `allow`. */
  const strict = use(() => here.another({ PROVIDERS_CORP_ALLOW: 'claim:plan=gold' }));
  const directory = new DirectoryClient(here, 'corp', DIRECTORY_TOKEN);
  beforeEach(() => {
    user = `user-${randomUUID()}`;
    admit(true);
  });

  const sql = (text: string, ...values: unknown[]) => query(here.databaseUrl, text, values);
  const admit = (allow: boolean): void => {
    asked.answer = (response) => void response.end(JSON.stringify({ allow }));
  };
  const signal = (event: string) =>
    push(here, transmitter.set(event, {}, { sub_id: transmitter.subject(user) })).expect(202);
  const isLive = async ({ access_token }: Tokens): Promise<boolean> =>
    (await bearer(here.url, access_token).get('/me')).status === 200;
  const refusals = async (): Promise<unknown[]> => {
    const text = `SELECT reason FROM audit_events WHERE event = 'sign_in_refused' AND user_id = $1`;
    return (await sql(text, deriveUserId('corp', user))).map(({ reason }) => reason);
  };
  const signIn = (): Promise<Tokens> => transmitter.signIn(new Person(user), here);

  /** Begins on a device, and approves on another one. @returns the code of the device */
  async function approved({ access_token }: Tokens): Promise<string> {
    const fields = { client_id: 'my-cli', device_id: randomUUID() };
    const begun = await request(here.url).post('/oauth2/device_authorization').send(fields).expect(200);
    const { device_code, user_code } = begun.body as Record<'device_code' | 'user_code', string>;
    await bearer(here.url, access_token)
      .post(`/me/device-requests/${user_code}`, { approve: true })
      .expect(204);
    return device_code;
  }

  async function poll(device_code: string, on = here): Promise<Response> {
    const grant_type = 'urn:ietf:params:oauth:grant-type:device_code';
    return request(on.url).post('/oauth2/token').send({ grant_type, device_code, client_id: 'my-cli' });
  }

  it('come if nothing has changed', async () => {
    const approver = await signIn();
    const { status, body } = await poll(await approved(approver));
    expect([status, body]).toEqual([200, expect.objectContaining({ user_id: approver.user_id })]);
    expect(await isLive(body as Tokens)).toBe(true);
  });

  it('have no claims of a former admission service', async () => {
    asked.answer = (response) =>
      void response.end(JSON.stringify({ allow: true, claims: { floor: 'seventh' } }));
    const approver = await signIn();
    const claimsOf = async ({ access_token }: Tokens): Promise<unknown> =>
      ((await bearer(here.url, access_token).get('/me')).body as { claims: unknown }).claims;
    expect(await claimsOf(approver)).toMatchObject({ floor: 'seventh' });
    const { ADMISSION_URL: _url, ADMISSION_SECRET: _secret, ...others } = env;
    const later = await startTestService({ ...others, DATABASE_URL: here.databaseUrl });
    try {
      const { body } = await poll(await approved(approver), later);
      expect(await claimsOf(body as Tokens)).not.toHaveProperty('floor');
    } finally {
      await later.close();
    }
  });

  /** Polls for the tokens, and expects a refusal by a check, which spends the code. */
  async function expectRefusal(code: string, reason: string, on = here): Promise<void> {
    const { status, body } = await poll(code, on);
    expect([status, body]).toEqual([400, expect.objectContaining({ error: 'access_denied' })]);
    await until(async () => (await refusals()).length > 0);
    expect(await refusals()).toEqual([reason]);
    expect(await poll(code)).toMatchObject({ status: 400, body: { error: 'expired_token' } });
  }

  // The session that has approved is still there, so nothing but the check refuses the device.
  it.each<[string, string, () => unknown, () => TestService]>([
    ['`allow` of the instance', 'claim', () => undefined, () => strict],
    ['the admission service', 'admission', () => admit(false), () => here],
    ['the provider: account-disabled', 'signal', () => signal(risc('account-disabled')), () => here],
  ])('are refused by %s', async (_, reason, change, on) => {
    const code = await approved(await signIn());
    await change();
    await expectRefusal(code, reason, on());
  });

  it('are refused by the directory, also before it has ended the sessions of the user', async () => {
    await directory.create('/Users', { userName: user, externalId: user });
    const code = await approved(await signIn());
    await sql('UPDATE directory_users SET active = false WHERE external_id = $1', user);
    await expectRefusal(code, 'deactivated');
  });

  it.each<[string, (id: string) => Promise<unknown>]>([
    [
      'the directory has deactivated the user',
      (id) => directory.patch(`/Users/${id}`, { op: 'replace', value: { active: false } }).expect(200),
    ],
    ['a signal has ended the sessions of the user', () => signal(caep('session-revoked'))],
  ])('are refused once %s', async (_, change) => {
    const id = await directory.create('/Users', { userName: user, externalId: user });
    const approver = await signIn();
    const code = await approved(approver);
    await change(id);
    const { status, body } = await poll(code);
    expect([status, body]).toEqual([400, expect.objectContaining({ error: 'access_denied' })]);
    expect(await isLive(approver)).toBe(false);
  });

  it(`leave no more than ${MAX_SESSIONS} sessions, also if devices ask at once on two instances`, async () => {
    const approver = await signIn();
    const first = await poll(await approved(approver));
    expect(first.status).toBe(200);
    const codes = [await approved(approver), await approved(approver), await approved(approver)];
    const polled = await Promise.all(codes.map((code) => poll(code)));
    const issued = polled.filter(({ status }) => status === 200).map(({ body }) => body as Tokens);
    expect(issued.length).toBeGreaterThan(0);
    const sessions = [approver, first.body as Tokens, ...issued];
    const live = await Promise.all(sessions.map(isLive));
    // A device is refused if the limit has ended the approving session, used least recently, before its check.
    expect(live.filter(Boolean).length).toBeLessThanOrEqual(MAX_SESSIONS);
    expect(live.slice(2)).toContain(true);
    expect(live[0]).toBe(false);
  });
});
