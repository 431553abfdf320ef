import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { providerSettings } from '../../../test/support/stub-provider.js';
import type { InvalidSettings } from '../../platform/config/settings/invalid-settings.js';
import type { ProviderSettings } from '../../platform/config/settings/settings.js';
import { ADAPTER_ACCEPTS as ACCEPTED } from '../../platform/config/providers/provider-keys.js';
import { checkAdapters, loadAdapter } from './custom-adapters.js';

const METHODS = 'authorizationUrl() {}, exchange() {}';

/** Adapters of integrators, before the service starts. */
describe('custom adapters', () => {
  let folder: string;
  let files = 0;
  beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'latchkey-adapters-'))));
  afterAll(() => rmSync(folder, { recursive: true }));

  function fileOf(source: string): string {
    const file = join(folder, `${files++}.mjs`);
    writeFileSync(file, source);
    return file;
  }
  const checking = (body: string): string =>
    fileOf(`export default { ${METHODS}, check(provider) { ${body} } }`);
  const throwing = (error: string): string => checking(`throw ${error};`);

  const corp = (file: string, more: Partial<ProviderSettings> = {}): ProviderSettings =>
    providerSettings('corp', { adapter: file, clientSecret: 's3cret', ...more });

  /** Returns the errors that prevent the start, and the warnings. */
  async function check(
    providers: readonly ProviderSettings[],
    times?: { load: number; check: number },
  ): Promise<{ errors: readonly string[]; warnings: string[] }> {
    const warnings: string[] = [];
    const byName = new Map(providers.map((provider) => [provider.name, provider]));
    const checked = checkAdapters({ providers: byName }, (line) => void warnings.push(line), times);
    const errors = await checked.then(
      () => [],
      (error: unknown) => {
        expect(error).toMatchObject({ name: 'InvalidSettings' });
        return (error as InvalidSettings).errors;
      },
    );
    return { errors, warnings };
  }
  const warning = (reason: string): string =>
    `Provider corp could not be checked (${reason}): the service starts all the same.`;

  it.each([
    ['an object', `export default { ${METHODS} }`],
    ['all methods', `export default { ${METHODS}, issuer() {}, check() {} }`],
    ["issuer 'own'", `export default { ${METHODS}, issuer: 'own' }`],
  ])('loads %s, without a warning', async (_name, source) => {
    expect(await check([corp(fileOf(source))])).toEqual({ errors: [], warnings: [] });
  });

  it.each([
    ['no default export', 'export const a = 1', 'has no authorizationUrl() and no exchange()'],
    [
      'a class',
      `export default class { static exchange() {} }`,
      'has no authorizationUrl() and no exchange()',
    ],
    ['one method', 'export default { authorizationUrl() {}, exchange: 1 }', 'has no exchange()'],
    [
      'issuer is text',
      `export default { ${METHODS}, issuer: 'x' }`,
      "issuer is neither a function nor 'own'",
    ],
    ['check is no function', `export default { ${METHODS}, check: true }`, 'check is not a function'],
    ['an error', "throw new Error('first\\nsecond')", 'cannot be loaded (first)'],
    ['no JavaScript', 'export default {', 'cannot be loaded (Unexpected'],
  ])('rejects a file with: %s', async (_name, source, message) => {
    await expect(loadAdapter(fileOf(source))).rejects.toThrow(message);
  });

  it.each(['/no/such/file.mjs', '@latchkey/no-such-adapter'])('rejects %s', async (name) => {
    const { errors } = await check([corp(name)]);
    expect(errors).toEqual([
      expect.stringMatching(
        /^providers\.corp\.adapter cannot be loaded \(Cannot find .*\)\. Use .* Value: ".*"\.$/,
      ),
    ]);
    expect(errors[0]).toContain(`. Use ${ACCEPTED}. Value: `);
  });

  it('neither loads nor checks built-in adapters', async () => {
    for (const name of ['contract', 'oidc', 'oauth2', 'github', 'discord', 'google'])
      expect(await check([corp(name)])).toEqual({ errors: [], warnings: [] });
  });

  it('passes the settings to check, as a method', async () => {
    const file = throwing('new Error([this !== undefined, provider.clientId, provider.options.a].join())');
    const { warnings } = await check([corp(file, { options: { a: 'b' } })]);
    expect(warnings).toEqual([warning('true,c,b')]);
  });

  it('reports errors on one line, without control characters and without the secret', async () => {
    const file = fileOf('throw new Error("no\\u001b s3cret")');
    expect((await check([corp(file)])).errors).toEqual([
      `providers.corp.adapter cannot be loaded (no  ***). Use ${ACCEPTED}. Value: "${file}".`,
    ]);
    expect((await check([corp('/a\n"b"')])).errors[0]).toContain('Value: "/a\\n\\"b\\"".');
  });

  it('limits the time to load and to check', async () => {
    const file = fileOf('await new Promise(() => undefined)');
    expect((await check([corp(file)], { load: 50, check: 5000 })).errors).toEqual([
      `providers.corp.adapter timed out after 50 ms. Use ${ACCEPTED}. Value: "${file}".`,
    ]);
    const endless = corp(checking('return new Promise(() => undefined);'));
    expect(await check([endless], { load: 30_000, check: 50 })).toEqual({
      errors: [],
      warnings: [warning('timed out after 50 ms')],
    });
  });

  it.each(['invalid_request', 'invalid_client'])('prevents the start with %s', async (error) => {
    const file = throwing(`Object.assign(new Error('no url'), { error: '${error}' })`);
    expect((await check([corp(file)])).errors).toEqual([
      `providers.corp.adapter refuses the settings (no url). Use settings that the adapter accepts. Value: "${file}".`,
    ]);
  });

  it.each([
    ["Object.assign(new Error('away'), { error: 'server_error' })", 'away'],
    ["new Error('away')", 'away'],
    ['null', 'unknown error'],
    ["new AggregateError([], 'none')", 'none'],
    ["Object.assign(new Error('x'), { errors: 'y' })", 'x'],
  ])('warns of any other error: %s', async (error, reason) => {
    expect(await check([corp(throwing(error))])).toEqual({ errors: [], warnings: [warning(reason)] });
  });

  it('reports each error of an AggregateError, with its setting', async () => {
    const file = checking(
      `const refusal = (text, setting) => Object.assign(new Error(text), { error: 'invalid_request', setting });
       throw new AggregateError([refusal('is s3cret', 'department'), refusal('no', 'a.b'), new Error('away')]);`,
    );
    const refuses = `refuses the settings (no). Use settings that the adapter accepts. Value: "${file}".`;
    const rejected = `is refused by the adapter of corp (is ***). Use a value that the adapter accepts.`;
    expect(await check([corp(file)])).toEqual({
      errors: [`providers.corp.department ${rejected}`, `providers.corp.adapter ${refuses}`],
      warnings: [warning('away')],
    });
    const variables = { adapter: 'PROVIDERS_CORP_ADAPTER', issuer: 'PROVIDERS_CORP_ISSUER' };
    expect((await check([corp(file, { variables })])).errors).toEqual([
      `PROVIDERS_CORP_DEPARTMENT ${rejected}`,
      `PROVIDERS_CORP_ADAPTER ${refuses}`,
    ]);
  });

  it('reports at most 20 errors of a provider', async () => {
    const file = throwing('new AggregateError(Array.from({ length: 25 }, (_, i) => new Error(String(i))))');
    expect((await check([corp(file)])).warnings).toHaveLength(20);
  });

  it('reports all providers, in the order of the settings', async () => {
    const bad = throwing("Object.assign(new Error('bad'), { error: 'invalid_client' })");
    const { errors } = await check([
      { ...corp('/no/one.mjs'), name: 'one' },
      { ...corp(bad), name: 'two' },
      { ...corp(checking('')), name: 'three' },
    ]);
    expect(errors).toEqual([
      expect.stringContaining('Value: "/no/one.mjs"'),
      expect.stringContaining('refuses the settings (bad)'),
    ]);
  });
});
