import { jest } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import {
  createVerifier,
  requireScope,
  type LatchkeyError,
  type ProtectedResource,
  type Verifier,
} from '../src/index.js';
import { publishing, ScriptedService } from './support/scripted-service.js';
import { casesOf, issuer, start, tokens, type Outcome, type Step } from './support/vectors.js';

/** Only clocks are fake. */
const REAL = [
  ...(['hrtime', 'nextTick', 'queueMicrotask', 'setImmediate', 'clearImmediate'] as const),
  ...(['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] as const),
];

type Verify = Extract<Step, { do: 'verify' }>;

interface Inside {
  readonly ended: { readonly size: number };
  readonly changed: { readonly size: number };
  readonly keys: { readonly fetching: Promise<void> | undefined };
}

/** The vectors that all verifiers share, whatever their language (verifiers/vectors/README.md). */
describe.each(['signatures', 'sessions', 'claims', 'away', 'wire', 'agents'])('vectors of %s', (file) => {
  const { fetch } = globalThis;
  let service: ScriptedService;
  let verifier: Verifier;
  let resources: ProtectedResource[];

  beforeEach(() => {
    jest.useFakeTimers({ now: start, doNotFake: REAL });
    service = new ScriptedService();
    globalThis.fetch = service.fetch as typeof fetch;
  });
  afterEach(() => {
    verifier.close();
    globalThis.fetch = fetch;
    jest.useRealTimers();
  });

  it.each(casesOf(file).map((one) => [one.name, one] as const))('%s', async (_name, { options, steps }) => {
    const { serviceKey, resources: declared = [], ...rest } = options;
    verifier = createVerifier({
      issuer,
      onWarning: () => undefined,
      ...rest,
      ...(serviceKey && { serviceKey: 'a-service-key' }),
    });
    resources = declared.map((resource) => verifier.protectedResource(resource));
    for (const [i, step] of steps.entries()) {
      moveClocks(step.now);
      const found = await run(step);
      expect([i, step.do, found]).toEqual([i, step.do, expected(step)]);
    }
  });

  function moveClocks(now: number): void {
    const passed = now - Date.now();
    if (passed >= 0) jest.advanceTimersByTime(passed);
    else jest.setSystemTime(now);
  }

  async function run(step: Step): Promise<unknown> {
    switch (step.do) {
      case 'connect': {
        const cursor = await service.connect(step);
        return step.cursor === undefined ? undefined : cursor;
      }
      case 'send':
        for (const bytes of step.bytes) await service.send(bytes);
        return undefined;
      case 'repeat':
        for (let i = 0; i < step.count; i += 1000)
          await service.send(Array.from({ length: 1000 }, (_, j) => numbered(step.text, i + j)).join(''));
        return undefined;
      case 'end':
        await service.end();
        return undefined;
      case 'keys':
        service.jwks = () => (step.keys ? publishing(step.keys) : new Response('', { status: step.status! }));
        return undefined;
      case 'introspection':
        service.introspection = () => new Response(step.body, { status: step.status });
        return undefined;
      case 'verify':
        if (step.expect !== 'any') return outcomeOf(step, step.expect);
        await outcomeOf(step);
        return (verifier as unknown as Inside).keys.fetching;
      case 'metadata': {
        const request = new Request(new URL(step.path, 'https://elsewhere.example'));
        const answers = resources.map((resource) => resource.handle(request));
        return (await answers.find((answer) => answer)?.json()) ?? null;
      }
      default:
        return stateOf(step);
    }
  }

  async function outcomeOf({ token, scopes }: Verify, expect: object = {}): Promise<Outcome> {
    try {
      const claims = await verifier.verify(tokens[token]!.token);
      if (scopes) requireScope(...scopes)(claims);
      return { claims };
    } catch (error) {
      const { code, status, headers } = error as LatchkeyError;
      const challenge = headers['WWW-Authenticate']!;
      return { error: code, status, ...('challenge' in expect && { challenge }) };
    }
  }

  function stateOf(step: Extract<Step, { do: 'state' }>): object {
    const { ended, changed } = verifier as unknown as Inside;
    const state = {
      notified: verifier.isNotified,
      sessions: ended.size,
      users: changed.size,
      introspections: service.introspections,
    };
    if (step.mostKeyRequests !== undefined)
      expect(service.keyRequests).toBeLessThanOrEqual(step.mostKeyRequests);
    return Object.fromEntries(Object.entries(state).filter(([name]) => name in step));
  }
});

function expected(step: Step): unknown {
  if (step.do === 'connect') return step.cursor;
  if (step.do === 'metadata') return step.expect;
  if (step.do === 'verify') return step.expect === 'any' ? undefined : step.expect;
  if (step.do !== 'state') return undefined;
  const { now: _now, do: _do, mostKeyRequests: _most, ...state } = step;
  return state;
}

const numbered = (text: string, i: number): string => text.replaceAll('{i}', String(i).padStart(12, '0'));

it('the vectors are what their generator writes', () => {
  const generator = fileURLToPath(new URL('../../../verifiers/vectors/generator/main.mjs', import.meta.url));
  const { status, stderr } = spawnSync(process.execPath, [generator, '--check'], { encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
});
