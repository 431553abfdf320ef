import { tmpdir } from 'node:os';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { runSignals } from '../../src/features/provider-events/command/signals.command.js';
import { loadCommandSettings } from '../../src/settings.js';
import { createDatabase } from '../support/database.js';
import { freePort } from '../support/free-port.js';
import { startTestService } from '../support/service.js';
import type { CommandResult } from '../support/service-process.js';
import { StandInTransmitter, TOKEN } from './stand-in-transmitter.js';
import { use } from '../support/use.js';

const SECRET = 'a client secret of this test';
const PUBLIC_URL = 'https://id.example';
const ENDPOINT = `${PUBLIC_URL}/providers/corp/signals`;
const PUSH = 'urn:ietf:rfc:8935';
const VERIFICATION = 'https://schemas.openid.net/secevent/ssf/event-type/verification';

/** `latchkey signals <name>` (docs/signals.md#the-command), in this process. */
describe('the command signals', () => {
  const transmitter = use(() => StandInTransmitter.start());
  const database = use(() => createDatabase());
  beforeEach(() => transmitter.reset());
  afterEach(() => jest.restoreAllMocks());

  const corp = (more: Record<string, string> = {}): Record<string, string> => ({
    adapter: 'oidc',
    url: transmitter.url,
    client_id: 'latchkey',
    client_secret: SECRET,
    redirect_uris: 'https://app.example/callback',
    signals: 'on',
    ...more,
  });

  const environment = (settings: Record<string, string>): Record<string, string> =>
    Object.fromEntries(Object.entries(settings).map(([key, value]) => [`providers.corp.${key}`, value]));

  async function run(
    settings: Record<string, string>,
    env: Record<string, string> = {},
    ...args: string[]
  ): Promise<CommandResult> {
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      jest.spyOn(process[name], 'write').mockImplementation((text) => (output[name] += String(text)) !== '');
    }
    jest.spyOn(process, 'cwd').mockReturnValue(tmpdir()); // where there is no .env
    jest.spyOn(Logger, 'overrideLogger').mockReturnValue(undefined); // other spec files share it
    const DATA_DIR = `${tmpdir()}/no-data-here`;
    jest.replaceProperty(process, 'env', { PUBLIC_URL, DATA_DIR, ...environment(settings), ...env });
    const code = await runSignals(args.length > 0 ? args : ['corp'], async (of) => loadCommandSettings(of));
    jest.restoreAllMocks();
    for (const secret of [SECRET, encodeURIComponent(SECRET), TOKEN]) {
      expect(output.stdout + output.stderr).not.toContain(secret);
    }
    return { code, ...output };
  }

  it('creates the stream once, and says so; then it is up to date', async () => {
    const first = await run(corp());
    expect(first.stdout).toMatch(/^ok +stream +created s1$/m);
    expect(first.stdout).toMatch(/^ok +events +session-revoked, credential-change, /m);
    expect(first.stdout).toMatch(
      /^warning +verification +this command cannot see whether the event arrives/m,
    );
    expect(first.code).toBe(0);
    expect(Object.fromEntries(transmitter.tokenForm())).toMatchObject({
      grant_type: 'client_credentials',
      scope: 'ssf.read ssf.manage',
    });
    const [created] = transmitter.bodiesOf('POST', '/streams');
    expect(created).toMatchObject({ delivery: { method: PUSH, endpoint_url: ENDPOINT } });
    expect(created!['events_requested']).toEqual(
      expect.arrayContaining([
        'https://schemas.openid.net/secevent/caep/event-type/session-revoked',
        'https://schemas.openid.net/secevent/risc/event-type/account-disabled',
      ]),
    );
    const second = await run(corp());
    expect(second.stdout).toMatch(/^ok +stream +s1 is up to date$/m);
    expect(transmitter.calls.filter((call) => /^(?:POST|PATCH|PUT) \/streams/.test(call))).toHaveLength(1);
  });

  it.each(['PATCH', 'PUT'])(
    'updates a stream that exists, by %s; there is never a second one',
    async (method) => {
      const delivery = { method: PUSH, endpoint_url: 'https://old.example/signals' };
      transmitter.streams.set('s1', { stream_id: 's1', delivery, events_requested: [] });
      if (method === 'PUT') transmitter.said['PATCH /streams'] = [405, {}];
      const { code, stdout } = await run(corp());
      expect(stdout).toMatch(/^ok +stream +updated s1, which pushed to https:\/\/old\.example\/signals$/m);
      expect(code).toBe(0);
      expect(transmitter.bodiesOf(method, '/streams')).toMatchObject([
        { stream_id: 's1', delivery: { endpoint_url: ENDPOINT } },
      ]);
      expect(transmitter.bodiesOf('POST', '/streams')).toEqual([]);
    },
  );

  it('asks only for the events of signals_end, and those with another effect', async () => {
    await run(corp({ signals_end: 'session-revoked' }));
    const [{ events_requested: events } = {}] = transmitter.bodiesOf('POST', '/streams');
    expect((events as string[]).map((event) => event.split('/').at(-1))).toEqual([
      'session-revoked',
      'account-disabled',
      'account-enabled',
      'token-claims-change',
    ]);
  });

  it('changes nothing if it cannot tell which stream is its own', async () => {
    for (const id of ['s1', 's2']) transmitter.streams.set(id, { stream_id: id });
    const { code, stdout } = await run(corp());
    expect(stdout).toMatch(/^FAIL +stream +this client has several streams, .*: s1 \(undefined\), s2/m);
    expect(code).toBe(1);
    expect(transmitter.calls.filter((call) => /^(?:POST|PATCH|PUT) \/streams/.test(call))).toEqual([]);
  });

  const refusal = { error: 'stream_error', error_description: `no ${TOKEN}, no ${SECRET}` };
  const other = 'https://another.example';
  it.each<[name: string, change: () => void, line: RegExp]>([
    [
      'no metadata',
      () => said('GET /.well-known/ssf-configuration', 404),
      /transmitter .*HTTP 404.*Turn the/,
    ],
    ['another issuer', () => metadata({ issuer: other }), /transmitter .*another issuer.*set signals_issuer/],
    ['no push', () => metadata({ delivery_methods_supported: ['urn:ietf:rfc:8936'] }), /does not push.*8936/],
    ['no keys', () => metadata({ jwks_uri: undefined }), /transmitter .*no jwks_uri/],
    ['no endpoint', () => metadata({ configuration_endpoint: undefined }), /make a stream in its console/],
    [
      'a wrong client',
      () => said('POST /token', 401, { error: 'invalid_client' }),
      /access token .*client_id/,
    ],
    ['no scopes', () => said('POST /token', 400, { error: 'invalid_scope' }), /access token .*ssf\.read/],
    ['no access', () => said('GET /streams', 401), /stream .*HTTP 401.*receiver of signals/],
    ['no stream', () => said('GET /streams', 200, { a: 1 }), /stream .*something that is not a stream/],
    [
      'a refusal',
      () => said('POST /streams', 400, refusal),
      /stream .*stream_error \(no \*\*\*, no \*\*\*\).*Allow/,
    ],
    [
      'a pause',
      () => (transmitter.status = { status: 'paused', reason: 'idle' }),
      /status .*paused \(idle\)/,
    ],
    [
      'foreign events',
      () => stream({ aud: ['abc'] }),
      /audience .*for abc: set providers\.corp\.signals_audience/,
    ],
    ['no events', () => stream({ events_delivered: [] }), /events .*no event that has an effect/],
    ['too many questions', () => said('POST /verify', 429), /verification .*HTTP 429.*in a minute/],
  ])('says what to do about %s', async (_name, change, line) => {
    change();
    const { code, stdout } = await run(corp());
    expect(stdout).toMatch(new RegExp(`^FAIL +.*${line.source}`, 'm'));
    expect(stdout).toMatch(/\nSignals do not arrive yet\.\n$/);
    expect(code).toBe(1);
  });

  const said = (call: string, status: number, body: object = {}): void =>
    void (transmitter.said[call] = [status, body]);
  const metadata = (change: Record<string, unknown>): void => void (transmitter.metadata = change);
  const stream = (more: Record<string, unknown>): void =>
    said('POST /streams', 201, { stream_id: 's1', ...more });

  it('says so if nobody answers', async () => {
    const { code, stdout } = await run(corp({ url: `http://127.0.0.1:${await freePort()}` }));
    expect(stdout).toMatch(/^FAIL +transmitter +.*ECONNREFUSED/m);
    expect(code).toBe(1);
  });

  it('says that a stream may begin without users', async () => {
    metadata({ default_subjects: 'NONE' });
    expect((await run(corp())).stdout).toMatch(/^warning +subjects +.*default_subjects is NONE/m);
  });

  it('says so if the verification event does not arrive', async () => {
    const { code, stdout } = await run(corp(), { DATABASE_URL: database.url }, 'corp', '--wait', '1');
    expect(transmitter.bodiesOf('POST', '/verify')).toMatchObject([{ stream_id: 's1' }]);
    expect(stdout).toMatch(/^FAIL +verification +the event did not arrive within 1 s: /m);
    expect(code).toBe(1);
  });

  it('says so if there is no audit trail in which to look for it', async () => {
    const env = { DATABASE_URL: database.url, AUDIT_RETENTION_DAYS: '0' };
    const { code, stdout } = await run(corp(), env);
    expect(stdout).toMatch(/^warning +verification +.*: AUDIT_RETENTION_DAYS is 0, /m);
    expect(code).toBe(0);
  });

  it.each(['at once', 'later'])('says so if it has arrived %s', async (when) => {
    const service = await startTestService(environment(corp()));
    const pushed: unknown[] = [];
    try {
      const verify = async (state: string): Promise<void> => {
        const body = transmitter.set(
          { [VERIFICATION]: { state } },
          { aud: service.url, sub_id: { format: 'opaque', id: 's1' } },
        );
        const headers = { 'Content-Type': 'application/secevent+jwt' };
        const answer = await fetch(`${service.url}/providers/corp/signals`, {
          method: 'POST',
          headers,
          body,
        });
        pushed.push(answer.status, await answer.text());
      };
      transmitter.verify = async (state) => {
        if (when === 'at once') await verify(state);
        else setTimeout(() => void verify(state), 500);
      };
      const env = { DATABASE_URL: service.databaseUrl, PUBLIC_URL: service.url };
      const { code, stdout } = await run(corp(), env);
      expect(pushed).toEqual([202, '']);
      expect(stdout).toMatch(/^ok +verification +the event has arrived, and the service accepted it$/m);
      expect(stdout).toMatch(/\nThe stream is set up\.\n$/);
      expect(code).toBe(0);
    } finally {
      await service.close();
    }
  });

  it('needs signals to be on, and takes one name', async () => {
    const { signals: _, ...off } = corp();
    const first = await run(off);
    expect(first.stdout).toMatch(/^FAIL +settings +signals are off: set providers\.corp\.signals to on/m);
    expect(first.code).toBe(1);
    const unknown = await run(corp(), {}, 'crop');
    expect(unknown.stdout).toMatch(/^FAIL +settings +.*there are: corp$/m);
    for (const args of [
      ['corp', 'more'],
      ['corp', '--wait', 'long'],
      ['corp', '--unknown'],
    ]) {
      const { code, stderr } = await run(corp(), {}, ...args);
      expect([code, stderr]).toEqual([2, expect.stringMatching(/^Usage: latchkey signals/)]);
    }
    expect(transmitter.calls).toEqual([]);
  });
});
