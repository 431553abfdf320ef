import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadAdapter } from './custom-adapters.js';

const METHODS = 'authorizationUrl() {}, exchange() {}';
let folder: string;
beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'latchkey-adapters-'))));
afterAll(() => rmSync(folder, { recursive: true }));

function load(source: string): Promise<unknown> {
  const file = join(folder, `${Math.random().toString(36).slice(2)}.mjs`);
  writeFileSync(file, source);
  return loadAdapter(file);
}

describe('an integrator’s adapter', () => {
  it.each([
    ['an object', `export default { ${METHODS} }`],
    ['an instance', `class A { ${METHODS.replace(',', '')} } export default new A()`],
    ['one with all methods', `export default { ${METHODS}, issuer() {}, check() {} }`],
    ['one that judges the issuer itself', `export default { ${METHODS}, issuer: 'own' }`],
  ])('is %s', async (_name, source) => {
    expect(typeof ((await load(source)) as { exchange: unknown }).exchange).toBe('function');
  });

  it.each([
    [
      'no default export',
      'export const a = 1',
      'its default export has no authorizationUrl() and no exchange()',
    ],
    ['null', 'export default null', 'its default export has no authorizationUrl() and no exchange()'],
    [
      'a function',
      'export default Object.assign(() => {}, { authorizationUrl() {}, exchange() {} })',
      'its default export has no authorizationUrl() and no exchange()',
    ],
    [
      'one without exchange',
      'export default { authorizationUrl() {}, exchange: 1 }',
      'its default export has no exchange()',
    ],
    [
      'one without authorizationUrl',
      'export default { exchange() {} }',
      'its default export has no authorizationUrl()',
    ],
    [
      'one with an issuer that is text',
      `export default { ${METHODS}, issuer: 'https://x' }`,
      "its issuer is neither a function nor 'own'",
    ],
    [
      'one with an issuer of null',
      `export default { ${METHODS}, issuer: null }`,
      "its issuer is neither a function nor 'own'",
    ],
    [
      'one with a check that is none',
      `export default { ${METHODS}, check: true }`,
      'its check is not a function',
    ],
  ])('is refused: %s', async (_name, source, message) => {
    await expect(load(source)).rejects.toThrow(new Error(`is not an adapter: ${message}`));
  });

  it.each([
    ['an error', "throw new Error('first\\nsecond')", 'cannot be loaded (first)'],
    ['null', 'throw null', 'cannot be loaded (unknown error)'],
  ])('that throws %s cannot be loaded', async (_name, source, message) => {
    const error = (await load(source).catch((thrown: unknown) => thrown)) as Error;
    expect(error.message).toBe(message);
    expect('cause' in error).toBe(true);
  });

  it('that is not there cannot be loaded', async () => {
    await expect(loadAdapter('@latchkey/no-such-adapter')).rejects.toThrow(
      /^cannot be loaded \(.*no-such-adapter.*\)$/,
    );
  });
});
