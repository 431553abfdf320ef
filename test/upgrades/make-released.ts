import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import request from 'supertest';
import { makeKeyPair } from '../../src/token/keys/key-cipher.js';
import { push as pushSignal, risc, Transmitter } from '../provider-events/transmitter.js';
import { SERVICE_KEY } from '../support/service.js';
import { query } from '../support/database.js';
import { DirectoryClient } from '../support/directory.js';
import { Endings } from '../support/endings.js';
import { Person } from '../support/oidc-issuer.js';
import { startTestService } from '../support/service.js';
import { bearer, beginSignIn, signIn, type Tokens } from '../support/sign-in.js';
import { SocketClient } from '../support/socket-client.js';
import { StubProvider } from '../support/stub-provider.js';
import { until } from '../support/waiting.js';
import { keyOf, PUBLIC_URL, releasedEnv, type Held } from './released.js';

/** Of no use to a later version: tokens that last an hour, and who is connected. */
const LEFT_OUT = ['access_tokens', 'instances', 'presence'];

// Writes released/<version>.json; run once for each release, on its commit:
// npm test -- --testMatch '**/make-released.ts' -- test/upgrades
it('makes a filled database', async () => {
  const endings = new Endings();
  try {
    const stub = endings.after(await StubProvider.start(), (one) => one.close());
    const transmitter = endings.after(await Transmitter.start(), (one) => one.close());
    const env = releasedEnv(stub, transmitter.url, 'http://127.0.0.1:9/hook'); // a closed port
    const service = endings.after(await startTestService(env), (one) => one.close());
    const { url, databaseUrl } = service;
    const admin = bearer(url, SERVICE_KEY);
    const device = (name: string) => ({ device_id: randomUUID(), device_name: name });

    // Sessions of three devices, one bound to a key.
    const laptop = device('Laptop');
    const ada = await signIn(url, 'ada', laptop);
    const adaPhone = await signIn(url, 'ada', device('Phone'));
    const { privateKey } = makeKeyPair();
    const key = privateKey.export({ format: 'jwk' });
    const { body: bob } = await request(url)
      .post('/oauth2/token')
      .set('DPoP', keyOf(key).proof(`${PUBLIC_URL}/oauth2/token`))
      .send({ code: 'bob', state: await beginSignIn(url), ...device('Desk') })
      .expect(200);

    // A history. Ada's socket has not received its last event.
    const push = (n: number, headers = {}) =>
      admin.post('/push', { user_id: ada.user_id, event: 'note', data: { n } }).set(headers);
    const socket = await SocketClient.connect(url, ada.access_token);
    const idempotent = { key: randomUUID(), id: '' };
    const { body: first } = await push(1, { 'Idempotency-Key': idempotent.key }).expect(202);
    idempotent.id = (first as { id: string }).id;
    await push(2).expect(202);
    await socket.until(() => socket.of('note').length === 2);
    const { id, offset } = socket.of('note')[1]!.meta!;
    socket.close();
    const { body: missed } = await push(3).expect(202);

    // What a directory, a provider and support people have done.
    const directory = new DirectoryClient({ url });
    const directoryUser = await directory.create('/Users', { userName: 'cleo', externalId: 'cleo' });
    await directory.create('/Groups', { displayName: 'staff', members: [{ value: directoryUser }] });
    const cleo = await signIn(url, 'cleo');
    const dan = await transmitter.signIn(new Person('dan'), service);
    const disabled = transmitter.set(risc('account-disabled'), {}, { sub_id: transmitter.subject('dan') });
    await pushSignal(service, disabled).expect(202);
    const finn = await signIn(url, 'finn');
    await admin.patch(`/users/${finn.user_id}`, { suspended: true }).expect(200);
    await admin.put(`/users/${ada.user_id}/claims`, { claims: { plan: 'pro' } }).expect(200);

    // Under way: a device that asks for approval, a sign-in, and a webhook without a receiver.
    const eve = await signIn(url, 'eve');
    const { body: asked } = await request(url)
      .post('/oauth2/device_authorization')
      .send({ client_id: 'cli' })
      .expect(200);
    const { user_code, device_code } = asked as Held['device'];
    const state = await beginSignIn(url);
    await until(async () => (await query(databaseUrl, 'SELECT FROM webhooks')).length > 0);
    await bearer(url, ada.access_token)
      .patch(`/devices/${laptop.device_id}`, { device_name: 'Old laptop' })
      .expect(200);
    await until(async () => (await query(databaseUrl, 'SELECT FROM webhooks WHERE attempts > 0')).length > 0);

    const tokensOf = ({ refresh_token }: Tokens): string => refresh_token;
    const held: Held = {
      sessions: {
        ada: tokensOf(ada),
        adaPhone: tokensOf(adaPhone),
        bob: tokensOf(bob as Tokens),
        cleo: tokensOf(cleo),
        eve: tokensOf(eve),
      },
      ended: { dan: tokensOf(dan), finn: tokensOf(finn) },
      ada: ada.user_id,
      key,
      seen: { offset: offset!, id },
      missed: (missed as { id: string }).id,
      idempotent,
      device: { user_code, device_code },
      state,
      directoryUser,
    };
    const [now] = await query<{ at: Date }>(databaseUrl, 'SELECT now() AS at');
    await write(databaseUrl, now!.at.toISOString(), held);
  } finally {
    await endings.run();
  }
});

async function write(databaseUrl: string, at: string, held: Held): Promise<void> {
  const names = await query<{ name: string }>(
    databaseUrl,
    `SELECT tablename AS name FROM pg_tables
     WHERE schemaname = current_schema() AND tablename <> ALL ($1) ORDER BY 1`,
    [LEFT_OUT],
  );
  const tables: Record<string, unknown[]> = {};
  for (const { name } of names) {
    const rows = await query<{ row: unknown }>(databaseUrl, `SELECT row_to_json(t) AS row FROM ${name} AS t`);
    if (rows.length > 0) tables[name] = rows.map(({ row }) => row);
  }
  const { npm_package_version: version = '0.1.0' } = process.env;
  const commit = execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' }).trim();
  const folder = new URL('released/', import.meta.url);
  const text = JSON.stringify({ version, commit, at, held, tables }, null, 1);
  writeFileSync(new URL(`${version}.json`, folder), `${text}\n`);
}
