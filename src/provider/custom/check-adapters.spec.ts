import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { providerSettings } from '../../../test/support/stub-provider.js';
import type { InvalidSettings } from '../../config/settings/invalid-settings.js';
import type { ProviderSettings } from '../../config/settings/settings.js';
import { checkAdapters } from './custom-adapters.js';

const ACCEPTED =
  'contract, oidc, oauth2, github, discord, google, a file that begins with ./ or /, or the name of an installed package';

/** The adapters of integrators, before the service starts (contract §2, §6). */
describe('adapters that are no part of the service', () => {
  let folder: string;
  let files = 0;
  beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'latchkey-check-'))));
  afterAll(() => rmSync(folder, { recursive: true }));

  /** A file with an adapter whose `check` is this. */
  function adapter(body: string, before = ''): string {
    const file = join(folder, `${files++}.mjs`);
    writeFileSync(
      file,
      `${before}; export default { authorizationUrl() {}, exchange() {}, check(provider) { ${body} } };`,
    );
    return file;
  }

  const corp = (file: string, more: Partial<ProviderSettings> = {}): ProviderSettings =>
    providerSettings('corp', { adapter: file, clientSecret: 's3cret', ...more });

  /** The faults that stop the start, and the warnings. */
  async function check(
    providers: readonly ProviderSettings[],
    times = { load: 30_000, check: 30_000 },
  ): Promise<{ faults: readonly string[]; warnings: string[] }> {
    const warnings: string[] = [];
    const byName = new Map(providers.map((provider) => [provider.name, provider]));
    const faults = await checkAdapters({ providers: byName }, (line) => void warnings.push(line), times).then(
      () => [],
      (error: unknown) => {
        expect(error).toMatchObject({ name: 'InvalidSettings' });
        return (error as InvalidSettings).errors;
      },
    );
    return { faults, warnings };
  }

  it('that are well are not mentioned', async () => {
    expect(await check([corp(adapter(''))])).toEqual({ faults: [], warnings: [] });
  });

  it('have 30 s to load, and 5 to check, unless it is said otherwise', async () => {
    const moment = 'await new Promise((resolve) => setTimeout(resolve, 50));';
    const file = adapter(`return (async () => { ${moment} throw new Error('away'); })();`, moment);
    const warnings: string[] = [];
    await checkAdapters({ providers: new Map([['corp', corp(file)]]) }, (line) => void warnings.push(line));
    expect(warnings).toEqual(['Provider corp could not be checked (away): the service starts all the same.']);
  });

  it.each(['contract', 'oidc', 'oauth2', 'github', 'discord', 'google'])(
    'are not %s, which is neither loaded nor asked',
    async (builtIn) => {
      expect(await check([corp(builtIn)])).toEqual({ faults: [], warnings: [] });
    },
  );

  it('are given the settings of their provider', async () => {
    const file = adapter('throw new Error([provider.name, provider.clientId, provider.options.a].join());');
    expect(await check([corp(file, { options: { a: 'b' } })])).toEqual({
      faults: [],
      warnings: ['Provider corp could not be checked (corp,c,b): the service starts all the same.'],
    });
  });

  it('that cannot be loaded are told with what is accepted', async () => {
    expect(await check([corp('/no/such/file.mjs')])).toEqual({
      faults: [
        expect.stringMatching(
          /^providers\.corp\.adapter: was "\/no\/such\/file\.mjs", which cannot be loaded \(Cannot find module.*\); accepted: /,
        ),
      ],
      warnings: [],
    });
    const { faults } = await check([corp('/no/such/file.mjs')]);
    expect(faults[0]?.endsWith(`; accepted: ${ACCEPTED}`)).toBe(true);
  });

  it('are told on one line, whatever their name and their words, and without the secret', async () => {
    const file = adapter('', 'throw new Error("no\\u001b s3cret")');
    const { faults } = await check([corp(file)]);
    expect(faults).toEqual([
      `providers.corp.adapter: was "${file}", which cannot be loaded (no  ***); accepted: ${ACCEPTED}`,
    ]);
    const [strange] = (await check([corp('/a\n"b"')])).faults;
    expect(strange).toMatch(/^providers\.corp\.adapter: was "\/a\\n\\"b\\"", which /);
  });

  it('that never end loading are told', async () => {
    const file = adapter('', 'await new Promise(() => undefined)');
    const { faults } = await check([corp(file)], { load: 50, check: 30_000 });
    expect(faults).toEqual([
      `providers.corp.adapter: was "${file}", which was not done within 50 ms; accepted: ${ACCEPTED}`,
    ]);
  });

  it('that never end checking are warned of', async () => {
    const file = adapter('return new Promise(() => undefined);');
    expect(await check([corp(file)], { load: 30_000, check: 50 })).toEqual({
      faults: [],
      warnings: [
        'Provider corp could not be checked (was not done within 50 ms): the service starts all the same.',
      ],
    });
  });

  it('that refuse their settings are told: each fault, with the setting that is meant', async () => {
    const file = adapter(
      `const fault = (text, setting) => Object.assign(new Error(text), { error: 'invalid_request', setting });
       throw new AggregateError([fault('is s3cret', 'department'), fault('no way'), new Error('and away')]);`,
    );
    const refuses = `which refuses its settings (no way); accepted: settings that it takes`;
    const taken = `is refused by the adapter of corp (is ***); accepted: what it takes`;
    expect(await check([corp(file)])).toEqual({
      faults: [`providers.corp.department: ${taken}`, `providers.corp.adapter: was "${file}", ${refuses}`],
      warnings: ['Provider corp could not be checked (and away): the service starts all the same.'],
    });
    const variables = { adapter: 'PROVIDERS_CORP_ADAPTER', issuer: 'PROVIDERS_CORP_ISSUER' };
    expect((await check([corp(file, { variables })])).faults).toEqual([
      `PROVIDERS_CORP_DEPARTMENT: ${taken}`,
      `PROVIDERS_CORP_ADAPTER: was "${file}", ${refuses}`,
    ]);
  });

  it('are all told of at once, in the order of the settings', async () => {
    const bad = adapter("throw Object.assign(new Error('bad'), { error: 'invalid_client' });");
    const { faults } = await check([
      { ...corp('/no/one.mjs'), name: 'one' },
      { ...corp(bad), name: 'two' },
      { ...corp(adapter('')), name: 'three' },
    ]);
    expect(faults).toEqual([
      expect.stringContaining('was "/no/one.mjs"'),
      expect.stringContaining('refuses its settings (bad)'),
    ]);
  });
});
