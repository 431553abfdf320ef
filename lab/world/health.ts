import { setTimeout as delay } from 'node:timers/promises';

const PATIENCE_MS = 2500; // the service itself answers within 2 s
const PAUSE_MS = 50;

/** What keeps an instance from being whole: undefined, or words. It writes: readiness may be a second old. */
async function ailment(url: string, hasRedis: boolean): Promise<string | undefined> {
  const ask = async (path: string): Promise<{ status: number; text: string }> => {
    const response = await fetch(url + path, { signal: AbortSignal.timeout(PATIENCE_MS) });
    return { status: response.status, text: await response.text() };
  };
  try {
    const written = await ask('/oauth2/authorize?provider=stub');
    if (written.status !== 200) return `writing: ${written.status}`;
    const ready = await ask('/health/ready');
    if (ready.status !== 200) return `ready: ${ready.text}`;
    if (hasRedis && !ready.text.includes('"redis":"up"')) return `Redis: ${ready.text}`;
    const hints = /^latchkey_hints_up (\d)/m.exec((await ask('/metrics')).text)?.[1];
    return hints === '1' ? undefined : `hints: ${hints ?? 'unknown'}`;
  } catch (error) {
    const { name, cause } = error as { name: string; cause?: NodeJS.ErrnoException };
    return `${name} ${cause?.code ?? ''}`;
  }
}

/**
 * Resolves once an instance writes, is ready, and hears the hints of others.
 * @throws Error that says what did not come back, after `timeoutMs`
 */
export async function whole(name: string, url: string, hasRedis: boolean, timeoutMs: number): Promise<void> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    const found = await ailment(url, hasRedis);
    if (found === undefined) return;
    if (performance.now() > end) throw new Error(`${name} is not whole after ${timeoutMs} ms: ${found}`);
    await delay(PAUSE_MS);
  }
}
