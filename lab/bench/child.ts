import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Cleanup } from './cleanup.js';

/**
 * Starts a script in a separate process, which ends with the run.
 * @param script of this directory, or a path
 * @param env besides the environment of this process
 */
export function startChild(script: string, cleanup: Cleanup, env: NodeJS.ProcessEnv = {}): ChildProcess {
  const path = script.startsWith('./') ? new URL(script, import.meta.url) : script;
  const child = fork(path, [], { execArgv: [], env: { ...process.env, ...env } });
  cleanup.add(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.disconnect();
    await exit;
  });
  return child;
}

/** The child's next message; rejects when the child ends instead. */
export async function nextMessage<Message>(child: ChildProcess): Promise<Message> {
  const waiting = new AbortController();
  const ended = once(child, 'exit', waiting).then(([code]) => {
    throw new Error(`${child.spawnargs.slice(1).join(' ')} ended with ${code}`);
  });
  try {
    const [message]: Message[] = await Promise.race([once(child, 'message', waiting), ended]);
    return message!;
  } finally {
    ended.catch(() => undefined);
    waiting.abort();
  }
}

/** @throws what went wrong there, with the first answer that was not as it should be */
export async function ask<Answer extends object>(child: ChildProcess, order: object): Promise<Answer> {
  child.send(order);
  const answer = await nextMessage<Answer | { readonly error: string }>(child);
  if ('error' in answer) throw new Error(answer.error);
  return answer;
}
