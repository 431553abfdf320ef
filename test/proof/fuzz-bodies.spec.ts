import { beginSignIn, signIn, type Tokens } from '../support/sign-in.js';
import { startTestService, type TestService } from '../support/service.js';
import { StubProvider } from '../support/stub-provider.js';
import { Caller } from './fuzz/caller.js';
import { formValues } from './fuzz/form-reference.js';
import { fuzz, type Verdict } from './fuzz/fuzz.js';
import { jsonByTheBook } from './fuzz/json-reference.js';
import { mutatedBytes, mutatedText } from './fuzz/mutate.js';
import type { Random } from './fuzz/random.js';

const JSON_TYPES = ['application/json', 'application/json; charset=utf-8'];
const FORM = 'application/x-www-form-urlencoded';
const LARGEST = 64 * 1024;
const DEEPEST = 101;

const WORDS = [
  '"refresh_token":"x"',
  '"refresh_token":null',
  '"\\u0072efresh_token":"x"',
  '"code":"x"',
  '"state":"x"',
  '"__proto__":{}',
  '"provider_logout":{}',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '"',
  '\\',
  '\\u',
  '\\ud800',
  'null',
  '1e999',
  '-',
  '.',
  '﻿',
  ' ',
  '\n',
  '"a":',
  '[[[[[[[[',
  ']]]]]]]]',
  '{"a":{"a":',
  '[]'.repeat(60),
  '['.repeat(100),
  ']'.repeat(100),
  '{"a":'.repeat(100),
  '}'.repeat(100),
];
const TWICE = [
  '',
  '',
  '"refresh_token":"x",',
  '"\\u0063ode":1,',
  '"redirect_uri":null,',
  '"a":1,',
  '"__proto__":1,"__proto__":2,',
];
const FORM_WORDS = [
  'refresh_token=x',
  '&',
  '&&',
  '=',
  '==',
  ']=',
  '[]=',
  '[x]=',
  '%5B%5D',
  '%3D',
  '%26',
  '+',
  '%2B',
  '%',
  '%FF',
  '%u0041',
  '%00',
  '&refresh_token',
  '&refresh%5Ftoken=x',
  ';',
  '__proto__=1',
  '&a=b',
  '&'.repeat(120),
  '#',
  '?',
  '\ufeff',
];

function jsonBody(random: Random, members: Readonly<Record<string, string>>): Buffer {
  const nested = { provider_logout: { redirect_uri: 'https://app.example/' }, more: [1, { a: null }] };
  const json = JSON.stringify({ ...members, ...(random.chance(0.5) && nested) });
  if (random.chance(0.1)) return Buffer.from(json.replaceAll('{', () => `{${random.pick(TWICE)}`));
  if (random.chance(0.05)) return Buffer.from(json);
  if (random.chance(0.2)) return mutatedBytes(random, Buffer.from(json));
  return Buffer.from(mutatedText(random, json, WORDS));
}

function formBody(random: Random, members: Readonly<Record<string, string>>): Buffer {
  const form = `${new URLSearchParams(members).toString()}&more=1+2%20%C3%A9`;
  if (random.chance(0.05)) return Buffer.from(form);
  if (random.chance(0.2)) return mutatedBytes(random, Buffer.from(form));
  return Buffer.from(mutatedText(random, form, FORM_WORDS));
}

/** The object of a body that is not refused; by RFC 8259 and the contract's §3. */
function acceptedObject(body: Buffer): Readonly<Record<string, unknown>> | undefined {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(body).replace(/^\ufeff/, '');
  const read = jsonByTheBook(text);
  if (!read || read.deepest > DEEPEST) return undefined;
  return typeof read.value === 'object' && read.value !== null
    ? (read.value as Record<string, unknown>)
    : undefined;
}

const isUsable = (value: unknown): value is string =>
  typeof value === 'string' && value.trim() !== '' && value.isWellFormed() && !value.includes('\0');

describe('bodies at a running service', () => {
  let provider: StubProvider;
  let service: TestService;
  let caller: Caller;
  let issued: Tokens;

  beforeAll(async () => {
    provider = await StubProvider.start();
    service = await startTestService(provider.env());
    caller = new Caller(service.url);
    issued = await signIn(service.url);
  });
  afterAll(async () => {
    caller?.close();
    await service?.close();
    await provider?.close();
  });

  async function refresh(body: Buffer, type: string, token: unknown): Promise<Verdict> {
    const { status, body: answer } = await caller.call(
      'POST',
      '/oauth2/refresh',
      { 'Content-Type': type },
      body,
    );
    const expected =
      body.length > LARGEST
        ? [413, 'payload_too_large']
        : token === issued.refresh_token
          ? [200, undefined]
          : isUsable(token)
            ? [401, 'invalid_grant']
            : [400, 'invalid_request'];
    expect([status, answer['error']]).toEqual(expected);
    return status === 200 ? 'accepted' : 'refused';
  }

  it('JSON that is accepted says what a strict reader finds in it', async () => {
    await fuzz({
      name: 'JSON bodies, POST /oauth2/refresh',
      short: 100,
      full: 30_000,
      atOnce: 4,
      generate: (random) => jsonBody(random, { refresh_token: issued.refresh_token }),
      judge(body): Promise<Verdict> {
        const object = acceptedObject(body);
        const token =
          object && !Array.isArray(object) && Object.hasOwn(object, 'refresh_token')
            ? object['refresh_token']
            : undefined;
        return refresh(body, JSON_TYPES[body.length % 2]!, token);
      },
    });
  });

  it('forms that are accepted say what a strict reader finds in them', async () => {
    await fuzz({
      name: 'forms, POST /oauth2/refresh',
      short: 150,
      full: 30_000,
      atOnce: 4,
      generate: (random) => formBody(random, { refresh_token: issued.refresh_token }),
      async judge(body): Promise<Verdict> {
        const text = body.toString().replace(/^\ufeff/, ''); // a mark of the byte order says nothing (RFC 8259 §8.1, of JSON)
        const values = formValues(text, 'refresh_token');
        const isOne = values.length === 1 && text.split('&').length <= 100;
        if (!isOne || values[0] !== undefined) return refresh(body, FORM, isOne ? values[0] : undefined);
        const { status } = await caller.call('POST', '/oauth2/refresh', { 'Content-Type': FORM }, body);
        expect([400, 401]).toContain(status); // it is not clear what it says, and so not what was issued
        return 'refused';
      },
    });
  });

  it('a refusal for the syntax of a body spends no state', async () => {
    const unspent = new Set<string>();
    const states = await Promise.all(Array.from({ length: 20 }, () => beginSignIn(service.url)));
    await fuzz({
      name: 'bodies, POST /oauth2/token, and their states afterwards',
      short: 40,
      full: 6000,
      generate(random) {
        const members = {
          code: 'ada',
          state: random.pick(states),
          device_id: '0189d3a0-0000-7000-8000-0123456789ab',
          device_name: 'Ada',
          code_verifier: '',
        };
        return random.chance(0.5) ? jsonBody(random, members) : formBody(random, members);
      },
      async judge(body): Promise<Verdict> {
        const type = body.includes('{') ? 'application/json' : FORM;
        const { status, body: answer } = await caller.call(
          'POST',
          '/oauth2/token',
          { 'Content-Type': type },
          body,
        );
        expect([200, 400, 401, 413]).toContain(status);
        const named = states.filter((state) => body.includes(state) || unescaped(body).includes(state));
        if (status === 400 && answer['error'] === 'invalid_request')
          for (const state of named) unspent.add(state);
        else {
          for (const state of named) unspent.delete(state);
          await Promise.all(
            named.map(async (state) =>
              states.splice(states.indexOf(state), 1, await beginSignIn(service.url)),
            ),
          );
        }
        return status === 200 ? 'accepted' : 'refused';
      },
    });
    expect(unspent.size).toBeGreaterThan(0);
    for (const state of unspent) {
      const { status } = await caller.call(
        'POST',
        '/oauth2/token',
        { 'Content-Type': 'application/json' },
        JSON.stringify({ code: 'ada', state }),
      );
      expect(status).toBe(200);
    }
  });
});

/** With what stands for an ASCII character in JSON or in a form in its place: the spelling of a state matters to no reader. */
function unescaped(body: Buffer): string {
  return body
    .toString('latin1')
    .replaceAll(/(?:%|\\u00)([0-7][0-9a-f])/gi, (_, code: string) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    );
}
