// Between the page and its callback, which is in another window without `window.opener`.

/** What the provider's callback brought. */
export interface Callback {
  readonly state: string;
  readonly code?: string | undefined;
  readonly iss?: string | undefined;
  readonly error?: string | undefined;
}

const CHANNEL = 'latchkey-admin-test';
const keyOf = (state: string): string => `latchkey-admin-test:${state}`;

/**
 * Waits for the callback of a test sign-in.
 * @returns a function that stops waiting
 */
export function expectCallback(state: string, handle: (callback: Callback) => void): () => void {
  const channel = new BroadcastChannel(CHANNEL);
  localStorage.setItem(keyOf(state), '');
  const stop = (): void => {
    localStorage.removeItem(keyOf(state));
    channel.close();
  };
  channel.addEventListener('message', ({ data }: MessageEvent<Callback>) => {
    if (data.state !== state) return;
    stop();
    handle(data);
  });
  return stop;
}

/** Passes the parameters of a callback to the page. @returns whether they belong to a test */
export function passCallback(params: URLSearchParams): boolean {
  const state = params.get('state');
  if (state === null || localStorage.getItem(keyOf(state)) === null) return false;
  const [code, iss, error] = ['code', 'iss', 'error'].map((name) => params.get(name) ?? undefined);
  const channel = new BroadcastChannel(CHANNEL);
  const message: Callback = { state, code: code ?? params.get('ticket') ?? undefined, iss, error };
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a BroadcastChannel has one origin
  channel.postMessage(message);
  channel.close();
  return true;
}
