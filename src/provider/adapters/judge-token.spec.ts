import { judgeToken } from './judge-token.js';

const head = (header: unknown): string => Buffer.from(JSON.stringify(header)).toString('base64url');
const signed = (alg: unknown): string => `${head({ alg })}.e30.c2ln`;
const encrypted = (alg: unknown): string => `${head({ alg })}.key.iv.text.tag`;
const answer = (idToken: unknown): Buffer => Buffer.from(JSON.stringify({ id_token: idToken }));

function judge(body: Buffer, type?: string): string | undefined {
  try {
    judgeToken(body, type);
    return undefined;
  } catch (error) {
    const { kind, message } = error as { kind: string; message: string };
    return `${kind}: ${/\(([^()]*)\), which/.exec(message)![1]}`;
  }
}

describe('a token in an answer', () => {
  it.each<[string, Buffer, string | undefined]>([
    ['an ID token with RS256', answer(signed('RS256')), 'application/json'],
    ['one whose algorithm only begins like a MAC', answer(signed('HS256x')), 'application/json'],
    ['… or ends like one', answer(signed('xHS256')), undefined],
    ['one without a name of an algorithm', answer(signed(7)), undefined],
    ['one with a long name', answer(encrypted('a'.repeat(41)).split('.').slice(0, 3).join('.')), undefined],
    ['one whose header is no JSON', answer('???.e30.c2ln'), undefined],
    ['a MAC in two parts', answer(`${head({ alg: 'HS256' })}.e30`), undefined],
    ['a MAC in four parts', answer(`${signed('HS256')}.x`), undefined],
    ['six parts', answer(`${encrypted('dir')}.x`), undefined],
    ['seven parts', answer(`${encrypted('dir')}.x.y`), undefined],
    ['no ID token', Buffer.from('{}'), undefined],
    ['an ID token that is no text', answer({}), undefined],
    ['no JSON', Buffer.from(signed('none')), 'application/json'],
    ['a type that only begins alike', Buffer.from(signed('none')), 'application/jwt2'],
    ['a type that only ends alike', Buffer.from(signed('none')), 'x application/jwt'],
    ['userinfo with ES256', Buffer.from(signed('ES256')), 'application/jwt'],
  ])('%s is left to the library', (_name, body, type) => expect(judge(body, type)).toBeUndefined());

  it.each<[string, Buffer, string | undefined, string]>([
    ['an ID token without a signature', answer(signed('none')), undefined, 'idTokenSignature: none'],
    [
      'an ID token with a MAC',
      answer(signed('HS512')),
      'application/json',
      'idTokenSignature: HS512, whose key is the client secret',
    ],
    [
      'an ID token that is encrypted',
      answer(encrypted('RSA-OAEP+x_1')),
      undefined,
      'idTokenEncryption: a JWE, RSA-OAEP+x_1',
    ],
    ['one whose algorithm is no name', answer(encrypted('a b')), undefined, 'idTokenEncryption: a JWE'],
    ['one with too long a name', answer(encrypted('a'.repeat(41))), undefined, 'idTokenEncryption: a JWE'],
    [
      'one with the longest',
      answer(encrypted('a'.repeat(40))),
      undefined,
      `idTokenEncryption: a JWE, ${'a'.repeat(40)}`,
    ],
    ['one with an empty name', answer(encrypted('')), undefined, 'idTokenEncryption: a JWE'],
    [
      'one with an algorithm that is no text',
      answer(encrypted(['dir'])),
      undefined,
      'idTokenEncryption: a JWE',
    ],
    [
      'userinfo without a signature',
      Buffer.from(signed('none')),
      'application/jwt',
      'userinfoSignature: none',
    ],
    [
      'userinfo with a MAC',
      Buffer.from(signed('HS256')),
      ' Application/JWT ; charset=utf-8',
      'userinfoSignature: HS256, whose key is the client secret',
    ],
    [
      'userinfo that is encrypted',
      Buffer.from(encrypted('dir')),
      'application/jwt',
      'userinfoEncryption: a JWE, dir',
    ],
  ])('%s is not supported', (_name, body, type, found) => expect(judge(body, type)).toBe(found));
});
