import { createPrivateKey, createPublicKey, randomUUID, sign, type JsonWebKey } from 'node:crypto';
import { ISSUER } from '../names.js';
import { postRequest, type Script } from './script.js';

/** A session that is bound to a key, which is here with its private part. */
export interface BoundSession {
  readonly refreshToken: string;
  readonly key: JsonWebKey;
}

/** More than any target answers on the machines that this has run on. */
const MOST_PER_MS = 12;
const PATH = '/oauth2/refresh';

/** W1P: what is sent is signed before the turn begins. */
export function refreshWithProofScript(sessions: readonly BoundSession[]): (milliseconds: number) => Script {
  const proofs = sessions.map(({ key }) => proofsBy(key));
  const write = (i: number): Buffer => {
    const at = i % sessions.length;
    const { refreshToken: refresh_token } = sessions[at]!;
    return postRequest(PATH, { refresh_token }, `DPoP: ${proofs[at]!()}\r\n`);
  };
  return (milliseconds) => {
    const requests = Array.from({ length: milliseconds * MOST_PER_MS }, (_, i) => write(i));
    let next = 0;
    return (connection, done) => () => {
      connection.send(requests[next] ?? write(next), done);
      next++;
    };
  };
}

/** Each proof is for one refresh within the next minute. */
function proofsBy(key: JsonWebKey): () => string {
  const privateKey = createPrivateKey({ key, format: 'jwk' });
  const jwk = createPublicKey({ key, format: 'jwk' }).export({ format: 'jwk' });
  const header = base64url({ typ: 'dpop+jwt', alg: 'ES256', jwk });
  return () => {
    const iat = Math.floor(Date.now() / 1000);
    const signed = `${header}.${base64url({ jti: randomUUID(), htm: 'POST', htu: ISSUER + PATH, iat })}`;
    const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' });
    return `${signed}.${signature.toString('base64url')}`;
  };
}

function base64url(json: object): string {
  return Buffer.from(JSON.stringify(json)).toString('base64url');
}
