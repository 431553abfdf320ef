import type { StubProvider } from '../../test/support/stub-provider.js';
import type { Recorder } from './recorder.js';

/**
 * Makes a provider redeem each code once (spec §4.5.2), and writes down what it is asked. A code's text is the user's name, a
 * full stop, and what makes it another one.
 */
export function redeemOnce(provider: StubProvider, recorder: Recorder): void {
  const redeemed = new Set<string>();
  provider.answer = ({ method, body }, response) => {
    if (method !== 'POST') {
      response.writeHead(404).end(); // the service looks for a discovery document
      return;
    }
    provider.requests.length = 0; // it keeps them all
    const code = new URLSearchParams(body).get('code')!;
    const now = performance.now();
    recorder.record({ kind: 'exchange', code, begun: now, ended: now });
    const isNew = !redeemed.has(code);
    redeemed.add(code);
    response.writeHead(isNew ? 200 : 400, { 'Content-Type': 'application/json' });
    response.end(
      JSON.stringify(isNew ? { provider_user_id: code.split('.')[0] } : { error: 'invalid_grant' }),
    );
  };
}
