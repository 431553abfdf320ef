import { readJson } from '../transport/provider-answer.js';
import { Unsupported } from './unsupported.js';

const MAC = /^HS\d+$/;
const MEDIA_TYPE = /^\s*application\/jwt\s*(?:;|$)/i;

/** Whether an answer of the userinfo endpoint is a JWT (OpenID Connect Core §5.3.2). */
export function isJwt(contentType = ''): boolean {
  return MEDIA_TYPE.test(contentType);
}

/**
 * Looks at the token in an answer before openid-client does, whose errors do not tell what to change: an ID token, or
 * userinfo that is a JWT itself. It judges the form only; whatever is not clearly unsupported is the library's affair.
 *
 * @throws Unsupported when it is encrypted, or its signature is none that a public key could verify
 */
export function judgeToken(body: Uint8Array, contentType: string | undefined): void {
  if (isJwt(contentType)) {
    judge(Buffer.from(body).toString('latin1'), 'userinfoSignature', 'userinfoEncryption');
    return;
  }
  const idToken = idTokenIn(body);
  if (idToken !== undefined) judge(idToken, 'idTokenSignature', 'idTokenEncryption');
}

function judge(jwt: string, signature: Unsupported['kind'], encryption: Unsupported['kind']): void {
  const parts = jwt.split('.', 6);
  const alg = algOf(parts[0]);
  if (parts.length === 5) throw new Unsupported(encryption, alg === undefined ? 'a JWE' : `a JWE, ${alg}`);
  if (parts.length === 3 && alg !== undefined && (alg === 'none' || MAC.test(alg))) {
    throw new Unsupported(signature, alg === 'none' ? 'none' : `${alg}, whose key is the client secret`);
  }
}

/** The algorithm that the header names, if that is a name. */
function algOf(header = ''): string | undefined {
  try {
    const { alg } = readJson(Buffer.from(header, 'base64url'));
    return typeof alg === 'string' && /^[\w+-]{1,40}$/.test(alg) ? alg : undefined;
  } catch {
    return undefined;
  }
}

function idTokenIn(body: Uint8Array): string | undefined {
  try {
    const { id_token: idToken } = readJson(body);
    return typeof idToken === 'string' ? idToken : undefined;
  } catch {
    return undefined;
  }
}
