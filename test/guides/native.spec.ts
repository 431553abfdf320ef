import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { claimsOf } from '../support/sign-in.js';
import { startTestService, type TestService } from '../support/service.js';
import { StubProvider } from '../support/stub-provider.js';
import { stepsOf } from './page.js';

const PAGE = 'docs/guides/native.md';
const REDIRECT_URI = 'com.example.app:/callback';

/** In place of what a phone has. */
const PHONE: Readonly<Record<string, string>> = {
  'react-native': 'export const Platform = { OS: "ios", select: (all) => all.default };',
  'expo-application': 'export {};',
  'expo-constants': 'export const ExecutionEnvironment = {}; export default {};',
  'expo-linking': 'export {};',
  'expo-modules-core': `
    export const Platform = { OS: 'ios', select: (all) => all.default };
    export class CodedError extends Error {
      constructor(code, message) {
        super(message);
        this.code = code;
      }
    }`,
  'expo-crypto': `
    import { createHash, getRandomValues, randomBytes, randomUUID } from 'node:crypto';
    export const CryptoDigestAlgorithm = { SHA256: 'sha256' };
    export const CryptoEncoding = { BASE64: 'base64' };
    export const digestStringAsync = async (name, text, { encoding }) => createHash(name).update(text).digest(encoding);
    export const getRandomBytes = (count) => new Uint8Array(randomBytes(count));
    export { getRandomValues, randomUUID };`,
  'expo-secure-store': `
    const kept = (globalThis.keyStore = new Map());
    export const getItemAsync = async (name) => kept.get(name) ?? null;
    export const setItemAsync = async (name, value) => void kept.set(name, value);
    export const deleteItemAsync = async (name) => void kept.delete(name);`,
  'expo-web-browser': `
    export const dismissAuthSession = () => {};
    export async function openAuthSessionAsync(address, redirectUri) {
      for (let hops = 0; !address.startsWith(redirectUri); hops++) {
        if (hops > 5) return { type: 'cancel' };
        const answer = await fetch(address, { redirect: 'manual' });
        address = new URL(answer.headers.get('location'), address).href;
      }
      return { type: 'success', url: address };
    }`,
  react:
    'export const useState = () => [], useEffect = () => {}, useMemo = () => {}, useCallback = () => {}, useRef = () => {};',
};

interface Application {
  signIn(): Promise<string | null>;
  accessToken(): Promise<string | null>;
  signOut(): Promise<void>;
}

/** The guide's file, with the libraries that it names from npm. */
describe('the guide for phones', () => {
  let folder: string;
  let provider: StubProvider;
  let service: TestService;

  beforeAll(async () => {
    folder = mkdtempSync('/var/tmp/latchkey-native-');
    provider = await StubProvider.start();
    provider.signInAtOnce();
    service = await startTestService({
      ...provider.env(),
      PROVIDERS_MOCK_ENABLED: 'false',
      REDIRECT_URIS: REDIRECT_URI,
    });
  });
  afterAll(async () => {
    await service?.close();
    await provider?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function application(): Promise<Application> {
    const steps = stepsOf(PAGE);
    const file = steps.find((step) => step.does === 'write' && step.file === 'session.ts');
    const commands = steps.flatMap((step) => (step.does === 'run' ? step.commands : []));
    expect(commands).toContain('npm install @noble/curves@2');
    writeFileSync(join(folder, 'session.ts'), (file as { text: string }).text);
    const phone: Record<string, string> = {};
    for (const [name, text] of Object.entries(PHONE)) {
      const place = join(folder, 'phone', name);
      mkdirSync(place, { recursive: true });
      const about = { name, version: '99.0.0', type: 'module', exports: './index.js' };
      writeFileSync(join(place, 'package.json'), JSON.stringify(about));
      writeFileSync(join(place, 'index.js'), text);
      phone[name] = `file:phone/${name}`;
    }
    writeFileSync(
      join(folder, 'package.json'),
      JSON.stringify({ type: 'module', dependencies: phone, overrides: phone }),
    );
    const quiet = ['--no-audit', '--no-fund', '--ignore-scripts', '--legacy-peer-deps', '--silent'];
    execFileSync('npm', ['install', ...quiet, 'expo-auth-session', '@noble/curves@2'], { cwd: folder });
    const outfile = join(folder, 'session.js');
    await build({
      entryPoints: [join(folder, 'session.ts')],
      bundle: true,
      platform: 'node',
      format: 'esm',
      define: { __DEV__: 'true', 'process.env.EXPO_PUBLIC_LATCHKEY_URL': JSON.stringify(service.url) },
      logLevel: 'error',
      outfile,
    });
    return (await import(pathToFileURL(outfile).href)) as Application;
  }

  it('signs in by a private scheme, refreshes with a proof of its key, and signs out', async () => {
    const app = await application();
    expect(await app.accessToken()).toBeNull();
    const first = claimsOf((await app.signIn())!);
    const next = claimsOf((await app.accessToken())!);
    expect(next).toMatchObject({ sub: first['sub'], sid: first['sid'] });
    const { keyStore } = globalThis as unknown as { keyStore: Map<string, string> };
    const stolen = await fetch(`${service.url}/oauth2/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'refresh_token',
        refresh_token: keyStore.get('refresh-token')!,
      }),
    });
    expect(await stolen.json()).toMatchObject({ error: 'invalid_dpop_proof' });
    await app.signOut();
    expect([await app.accessToken(), keyStore.has('refresh-token')]).toEqual([null, false]);
    expect(claimsOf((await app.signIn())!)).toMatchObject({ device_id: first['device_id'] });
    await fetch(`${service.url}/oauth2/revoke`, {
      method: 'POST',
      body: new URLSearchParams({ token: keyStore.get('refresh-token')! }),
    });
    expect([await app.accessToken(), keyStore.has('refresh-token')]).toEqual([null, false]);
  });
});
