import { createHmac, randomUUID } from 'node:crypto';
import {
  brotliCompressSync,
  brotliDecompressSync,
  constants,
  deflateRawSync,
  deflateSync,
  gunzipSync,
  gzipSync,
  inflateRawSync,
  inflateSync,
} from 'node:zlib';
import { importJWK, jwtVerify } from 'jose';
import type { ProviderSettings } from '../../src/config/settings.js';
import { OidcAdapter } from '../../src/provider/adapters/oidc.adapter.js';
import { unpacked } from '../../src/provider/content-encoding.js';
import { parseIdentity, type Identity } from '../../src/provider/identity.js';
import { readAnswer } from '../../src/provider/provider-answer.js';
import { decodeMessage, encodeMessage, partOf } from '../../src/realtime/fanout/notification.js';
import { ClientKey } from '../support/dpop.js';
import { fuzz, type Verdict } from './fuzz/fuzz.js';
import { jsonByTheBook } from './fuzz/json-reference.js';
import { mutatedJws } from './fuzz/jws.js';
import { mutatedBytes, mutatedText } from './fuzz/mutate.js';
import type { Random } from './fuzz/random.js';

const SECRET = 'hunter2xyzzy';
const VALUES: readonly unknown[] = [
  '',
  ' ',
  0,
  7,
  true,
  null,
  [],
  {},
  ['ada'],
  '\0',
  '\ud800',
  'x'.repeat(256),
  '\u{1f600}'.repeat(255),
  'false',
  'HTTPS://x',
  'javascript:1',
];
const WORDS = [
  '"provider_user_id":1',
  '"provider_user_id":null',
  '"error":"invalid_grant"',
  '"error":{}',
  '"email_verified":false',
  '"verified":"False"',
  '"__proto__":{"provider_user_id":"eve"}',
  'null',
  '[]',
  '{}',
  '\\u0000',
  '\\ud800',
  '"',
  ',',
  ':',
  '{',
  '}',
  '[[[[',
  'a'.repeat(300),
  '1e999',
  '\ufeff',
];

/** Node 20: `URL.canParse` forgets about letters like ä (src/config/parse-url.ts). */
function isUrl(text: string): boolean {
  try {
    return new URL(text).href !== '';
  } catch {
    return false;
  }
}

const isStorable = (value: unknown, most: number): value is string =>
  typeof value === 'string' && !/\p{Surrogate}|\0/u.test(value) && Array.from(value).length <= most;

/** The identity in an answer, by spec §2.5 and the contract's §6; undefined where there is none. */
function identityByTheBook(body: Buffer): Partial<Identity> | undefined {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    return undefined;
  }
  const { value } = jsonByTheBook(text) ?? {};
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const fields = value as Record<string, unknown>;
  const own = (name: string): unknown => (Object.hasOwn(fields, name) ? fields[name] : undefined);
  const id = own('provider_user_id');
  if (![undefined, null, false].includes(own('error') as undefined)) return undefined;
  if (!isStorable(id, 255) || id === '') return undefined;
  const isDoubtful = ['email_verified', 'verified'].some(
    (name) => String(own(name)).toLowerCase() === 'false' && typeof own(name) !== 'object',
  );
  const [username, email, avatar] = [own('username'), own('email'), own('avatar_url')];
  return {
    providerUserId: id,
    username: isStorable(username, 255) ? username : null,
    email: isStorable(email, 255) && !isDoubtful ? email : null,
    avatarUrl: isStorable(avatar, 2048) && /^https?:\/\//i.test(avatar) && isUrl(avatar) ? avatar : null,
  };
}

it('a provider of the contract names the user that a strict reader finds in its answer, or nobody', async () => {
  const answer = {
    provider_user_id: 'ada',
    username: 'Ada é',
    email: 'ada@example.test',
    avatar_url: 'https://img.example/a.png',
    email_verified: true,
  };
  await fuzz({
    name: "provider's answers, contract",
    short: 1500,
    full: 400_000,
    generate: (random) =>
      random.chance(0.2)
        ? Buffer.from(JSON.stringify({ ...answer, [random.pick(Object.keys(answer))]: random.pick(VALUES) }))
        : random.chance(0.3)
          ? mutatedBytes(random, Buffer.from(JSON.stringify(answer)))
          : Buffer.from(mutatedText(random, JSON.stringify(answer), WORDS)),
    judge(body): Verdict {
      const expected = identityByTheBook(body);
      try {
        const {
          subject: _subject,
          session: _session,
          ...identity
        } = parseIdentity(readAnswer({ url: 'https://id.example/exchange', status: 200, body }));
        expect(identity).toEqual(expected);
        return 'accepted';
      } catch (error) {
        if (error instanceof Error && 'matcherResult' in error) throw error;
        if (expected) throw new Error('refused, against the book', { cause: error });
        if ((error as Error).message.length > 200)
          throw new Error('the error quotes the answer', { cause: error });
        return 'refused';
      }
    },
  });
});

const LARGEST = 64 * 1024;
const PLAIN = [
  Buffer.from(JSON.stringify({ provider_user_id: 'ada', more: 'x'.repeat(2000) })),
  Buffer.from(JSON.stringify({ provider_user_id: 'ada', more: '0123456789abcdef'.repeat(30) })),
  Buffer.alloc(LARGEST, 'xy'),
  Buffer.alloc(LARGEST + 1, 'xy'),
  Buffer.alloc(10 * LARGEST),
];
const PACKINGS: Readonly<Record<string, readonly ((plain: Buffer) => Buffer)[]>> = {
  gzip: [gzipSync, deflateSync, (plain) => Buffer.concat([gzipSync(plain), gzipSync('{}')])],
  compress: [gzipSync],
  deflate: [deflateSync, deflateRawSync],
  br: [brotliCompressSync],
  identity: [(plain) => plain],
};

const ENCODINGS = Object.keys(PACKINGS);

/** zlib's own whole result for a body, of any size and cut off or not; undefined where it is an error. */
function unpackedByZlib(encoding: string, body: Buffer): Buffer | undefined {
  const lenient = { finishFlush: constants.Z_SYNC_FLUSH };
  try {
    if (encoding === 'identity') return body;
    if (encoding === 'br')
      return brotliDecompressSync(body, { finishFlush: constants.BROTLI_OPERATION_FLUSH });
    // RFC 1952 §2.3.1, RFC 1950 §2.2: how each begins
    if (encoding !== 'deflate' && body[0] === 0x1f) return gunzipSync(body, lenient);
    if (encoding === 'deflate' && body[0] !== 0x78) return inflateRawSync(body, lenient);
    return inflateSync(body, lenient);
  } catch {
    return undefined;
  }
}

it('a packed answer is unpacked as by zlib, within its limit, or refused', async () => {
  await fuzz({
    name: "provider's answers, packed",
    short: 300,
    full: 60_000,
    // The first byte says which encoding the header names.
    generate(random) {
      const number = random.below(ENCODINGS.length);
      const packed = random.pick(PACKINGS[ENCODINGS[number]!]!)(
        random.pick(random.chance(0.8) ? PLAIN.slice(0, 2) : PLAIN),
      );
      const body = random.chance(0.1)
        ? packed.subarray(0, random.below(packed.length))
        : random.chance(0.2)
          ? packed
          : mutatedBytes(random, packed);
      return Buffer.concat([Buffer.from([number]), body]);
    },
    judge(input) {
      const [encoding, body] = [ENCODINGS[(input[0] ?? 0) % ENCODINGS.length]!, input.subarray(1)];
      const whole = body.length === 0 ? body : unpackedByZlib(encoding, body);
      const isLarge = encoding !== 'identity' && whole !== undefined && whole.length > LARGEST;
      const expected = isLarge ? undefined : whole;
      return new Promise<Verdict>((resolve, reject) => {
        unpacked(body, encoding, LARGEST, (error, found) => {
          if (error && expected) reject(new Error(`refused: ${error.message}`));
          else if (!error && !expected)
            reject(new Error('accepted, though zlib refuses it, or beyond its limit'));
          else if (expected && !found.equals(expected)) reject(new Error('other bytes than those of zlib'));
          else resolve(error ? 'refused' : 'accepted');
        });
      });
    },
  });
});

it('a provider of OpenID Connect names the user of an ID token that is good for jose as well', async () => {
  const key = new ClientKey();
  const [issuer, clientId, nonce] = ['https://idp.example', 'latchkey', 'the-nonce'];
  const jwk = { ...key.jwk, kid: 'k1', alg: 'ES256' };
  const settings = {
    name: 'idp',
    adapter: 'oidc',
    url: issuer,
    clientId,
    clientSecret: SECRET,
    variables: { adapter: '', issuer: '' },
    options: {},
  } as ProviderSettings;
  const discovery = {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/jwks`,
    id_token_signing_alg_values_supported: ['ES256'],
  };
  const now = Math.floor(Date.now() / 1000);
  const claims = {
    iss: issuer,
    aud: clientId,
    sub: 'ada',
    iat: now,
    exp: now + 600,
    nonce,
    name: 'Ada',
    sid: 'of-ada',
  };
  const publicKey = await importJWK(jwk, 'ES256');
  const answers = new Map<string, string>();
  const http = {
    send: async ({ url }: { url: string }) => ({
      status: 200,
      contentType: 'application/json',
      body: Buffer.from(answers.get(new URL(url).pathname) ?? ''),
    }),
  };
  const answer = (idToken: string): string =>
    JSON.stringify({ access_token: SECRET, token_type: 'Bearer', id_token: idToken });
  const changedDocument = (random: Random, document: object, unchanged: number): string =>
    random.chance(unchanged)
      ? JSON.stringify(document)
      : mutatedText(random, JSON.stringify(document), WORDS);
  await fuzz({
    name: "provider's answers, oidc",
    short: 150,
    full: 40_000,
    generate: (random) =>
      JSON.stringify([
        changedDocument(random, discovery, 0.9),
        changedDocument(random, { keys: [jwk] }, 0.9),
        random.chance(0.85)
          ? answer(
              mutatedJws(random, {
                header: { alg: 'ES256', kid: 'k1' },
                claims,
                sign: (input) => key.sign(input),
                signsAnything: false,
              }),
            )
          : mutatedText(random, answer('e30.e30.e30'), WORDS),
      ]),
    async judge(input): Promise<Verdict> {
      const [document, keys, token] = JSON.parse(input) as [string, string, string];
      answers.set('/.well-known/openid-configuration', document).set('/jwks', keys).set('/token', token);
      const adapter = new OidcAdapter(http as never);
      const request = {
        code: 'c',
        redirectUri: 'https://app.example/cb',
        state: 's',
        memory: { codeVerifier: 'v'.repeat(43), nonce },
        signal: AbortSignal.timeout(5000),
      };
      let identity;
      try {
        identity = parseIdentity(await adapter.exchange(settings, request));
      } catch (error) {
        mustTellNoSecret(error);
        return 'refused';
      }
      const { id_token: idToken } = JSON.parse(token) as { id_token: string };
      const [signed, tail] = [idToken.slice(0, idToken.lastIndexOf('.') + 1), idToken.split('.')[2]!];
      // openid-client reads a signature in other spellings of its base64, too: the bytes are what counts.
      const spelled = signed + Buffer.from(tail, 'base64url').toString('base64url');
      const { payload } = await jwtVerify(spelled, publicKey, {
        issuer,
        audience: clientId,
        algorithms: ['ES256'],
        clockTolerance: 30,
      });
      expect([payload.sub, payload['nonce']]).toEqual([identity.providerUserId, nonce]);
      return 'accepted';
    },
  });
});

function mustTellNoSecret(error: unknown): void {
  for (let at = error as Error & { cause?: unknown }; at; at = at.cause as Error) {
    if (JSON.stringify([at.message, at]).includes(SECRET))
      throw new Error('the error tells a secret', { cause: error });
  }
}

describe('what other clients write', () => {
  const key = Buffer.alloc(32, 7);
  const ids = [randomUUID(), randomUUID(), randomUUID()] as const;
  const event = {
    id: ids[0],
    userId: ids[1],
    deviceId: null,
    offset: null,
    event: 'demo.x',
    data: { a: [1, 'é'] },
    sentAt: '2026-01-01T00:00:00.000Z',
  };
  const parts = [partOf(event), partOf({ userId: ids[1], offset: 9 })];
  const WORDS_OF_MESSAGES = [
    'null',
    '"id":null',
    '"data":[[[[',
    '[]',
    '{}',
    ',',
    '"',
    '0',
    '-1',
    '9007199254740993',
  ];

  it('is a message between instances only if it has our signature, and never throws', async () => {
    const message = encodeMessage(ids[2], parts, key);
    await fuzz({
      name: 'messages between instances',
      short: 2000,
      full: 500_000,
      generate: (random) =>
        random.chance(0.5)
          ? encodeMessage(ids[2], [mutatedText(random, parts.join(), WORDS_OF_MESSAGES)], key)
          : mutatedText(random, message, WORDS_OF_MESSAGES),
      judge(text): Verdict {
        const json = `{${text.slice(text.indexOf(',') + 1)}`;
        const signature = createHmac('sha256', key).update(json).digest('base64url');
        const isSigned = text.startsWith(`{"signature":"${signature}",`);
        const decoded = decodeMessage(text, key);
        if (decoded && !isSigned) throw new Error('accepted without a signature');
        for (const one of decoded?.notifications ?? []) {
          if ('id' in one) JSON.stringify(one.data);
          else expect(Number.isSafeInteger(one.offset) && one.offset > 0).toBe(true);
        }
        return decoded ? 'accepted' : 'refused';
      },
    });
  });
});
