import { LatchkeyError } from '../latchkey-error.js';
import type { Keys } from '../tokens/keys.js';
import type { Clock } from './clock.js';
import { makeProof } from './proof.js';
import type { Call } from './service.js';

/** The key that a session is bound to. */
export interface Binding {
  /** The service's own name, the base of the address in a proof. */
  readonly issuer: string;
  /** The name of the key in IndexedDB. */
  readonly key: string;
}

/**
 * Sends a body to the service; with a proof of possession if there is a binding (RFC 9449 §5).
 * @param binding is read for each attempt: a step-up during a request makes another session, with another key
 * @throws LatchkeyError as `Call` does; `key_lost`, `key_unavailable`
 */
export type Post = <Answer>(
  path: string,
  body?: object,
  binding?: () => Binding | undefined,
  /** Sends the request, e.g. with the token. */
  send?: (request: Request) => Promise<Response>,
  method?: 'POST' | 'DELETE',
) => Promise<Answer>;

export function makePost(call: Call, keys: Keys, clock: Clock): Post {
  return async <Answer>(
    path: string,
    body?: object,
    binding?: () => Binding | undefined,
    by = (request: Request) => fetch(request),
    method: 'POST' | 'DELETE' = 'POST',
  ) => {
    const send = async (): Promise<Answer> => {
      const bound = binding?.();
      if (!bound) return call<Answer>(method, path, body, by);
      const pair = await keys.get(bound.key);
      const proof = await makeProof(pair, method, bound.issuer + path, clock.now()).catch(() => {
        throw new LatchkeyError('key_unavailable');
      });
      return call<Answer>(method, path, body, (request) => {
        request.headers.set('DPoP', proof);
        return by(request);
      });
    };
    try {
      return await send();
    } catch (error) {
      // The clock was wrong, which the answer has corrected, the browser repeated the request, or the session is another one. Retried
      // once (docs/browser-sessions.md#proofs-without-the-sdk).
      if ((error as LatchkeyError).code !== 'invalid_dpop_proof') throw error;
      return send();
    }
  };
}
