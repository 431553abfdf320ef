import type { Clock } from './clock.js';
import type { Keys } from './keys.js';
import { LatchkeyError } from './latchkey-error.js';
import { makeProof } from './proof.js';
import type { Call } from './service.js';

/** What a session is bound to. */
export interface Binding {
  /** The service's name for itself, from which the address in a proof is made (contract §5). */
  readonly issuer: string;
  /** The name of the key (keys.ts). */
  readonly key: string;
}

/**
 * Posts to the service; with a proof of possession where there is a binding (RFC 9449 §5).
 * @throws LatchkeyError as `Call` does; `key_lost`, `key_unavailable`
 */
export type Post = <Answer>(path: string, body: object, binding?: Binding) => Promise<Answer>;

export function makePost(call: Call, keys: Keys, clock: Clock): Post {
  return async <Answer>(path: string, body: object, binding?: Binding) => {
    if (!binding) return call<Answer>('POST', path, body);
    const pair = await keys.get(binding.key);
    const send = async (): Promise<Answer> => {
      const proof = await makeProof(pair, binding.issuer + path, clock.now()).catch(() => {
        throw new LatchkeyError('key_unavailable');
      });
      return call<Answer>('POST', path, body, (request) => {
        request.headers.set('DPoP', proof);
        return fetch(request);
      });
    };
    try {
      return await send();
    } catch (error) {
      // Our clock may be wrong, which the answer has told, or a browser has sent the request twice. Once: what is refused
      // again has another cause.
      if ((error as LatchkeyError).code !== 'invalid_dpop_proof') throw error;
      return send();
    }
  };
}
