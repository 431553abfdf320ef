import { useEffect, useRef, useState, type ReactNode } from 'react';
import { ApiError, call } from '../api/api.js';
import type { Provider, TestResult } from '../api/types.js';
import { Failure } from '../parts/states.js';
import { expectCallback, type Callback } from './test-channel.js';
import { TestOutcome } from './test-outcome.js';

const WINDOW = 'popup,width=520,height=680';

type Stage =
  | { readonly name: 'idle' | 'beginning' | 'finishing' }
  | { readonly name: 'waiting'; readonly url: string }
  | { readonly name: 'done'; readonly result: TestResult }
  | { readonly name: 'failed'; readonly error: ApiError };

/** A test of a provider: shows what it sends, without a session. */
export function TestSignIn({ provider: { name, label } }: { provider: Provider }): ReactNode {
  const [stage, setStage] = useState<Stage>({ name: 'idle' });
  const stop = useRef<() => void>(undefined);
  useEffect(() => () => stop.current?.(), []);
  const path = `/admin/providers/${encodeURIComponent(name)}/test`;
  const fail = (error: unknown): void => setStage({ name: 'failed', error: error as ApiError });

  const finish = async ({ state, code, iss, error }: Callback): Promise<void> => {
    if (code === undefined)
      return fail(new ApiError(error ?? 'no_code', 400, 'The provider did not sign you in.'));
    setStage({ name: 'finishing' });
    const result = await call<TestResult>(path, 'POST', { state, code, ...(iss !== undefined && { iss }) });
    setStage({ name: 'done', result });
  };
  const begin = async (): Promise<void> => {
    const popup = open('about:blank', 'latchkey-admin-test', WINDOW); // at the click, or browsers block it
    if (popup) popup.opener = null; // the provider's page must not navigate this one; the result comes by a BroadcastChannel
    setStage({ name: 'beginning' });
    try {
      const { redirect_url: url, state } = await call<{ redirect_url: string; state: string }>(
        path,
        'POST',
        {},
      );
      if (!/^https?:/.test(url))
        throw new ApiError('server_error', 500, 'The address of the provider is no web page.');
      stop.current?.();
      stop.current = expectCallback(state, (callback) => void finish(callback).catch(fail));
      setStage({ name: 'waiting', url });
      popup?.location.replace(url);
    } catch (error) {
      popup?.close();
      fail(error);
    }
  };
  const cancel = (): void => {
    stop.current?.();
    setStage({ name: 'idle' });
  };
  const isBusy = stage.name === 'beginning' || stage.name === 'finishing';
  return (
    <div className="test">
      <div className="actions">
        <button
          type="button"
          className="button"
          aria-disabled={isBusy}
          onClick={() => isBusy || void begin()}
        >
          {stage.name === 'idle' ? 'Test a sign-in' : 'Test again'}
          <span className="visually-hidden"> with {label}</span>
        </button>
        {stage.name === 'waiting' && (
          <button type="button" className="button" onClick={cancel}>
            Cancel
          </button>
        )}
      </div>
      <div role="status">
        {stage.name === 'idle' && (
          <p className="hint">Shows what the provider sends about you. It signs nobody in.</p>
        )}
        {isBusy && <p className="hint">One moment …</p>}
        {stage.name === 'waiting' && (
          <p className="hint">
            Sign in in the window of the provider. If there is none:{' '}
            <a href={stage.url} target="_blank" rel="noopener">
              open it here
            </a>
            .
          </p>
        )}
        {stage.name === 'done' && <p className="hint">The test is over. Nobody was signed in.</p>}
      </div>
      {stage.name === 'failed' && <Failure error={stage.error} retry={() => void begin()} />}
      {stage.name === 'done' && <TestOutcome result={stage.result} />}
    </div>
  );
}
