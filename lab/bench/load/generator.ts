import { answerParent } from '../parent.js';
import { codeFlowScript, type CodeFlow } from './code-flow.script.js';
import { refreshWithProofScript, type BoundSession } from './refresh-with-proof.script.js';
import { run, type Load, type LoadResult } from './run.js';
import { inTurn, rotating, type Script } from './script.js';
import { signInScript } from './sign-in.script.js';
import { socialSignInScript } from './social-sign-in.script.js';

/** What targets are asked, over and over. */
export type Work =
  /** One after the other. Each answer must have the mark in it: some say no with 200, too, which costs them less. */
  | { readonly requests: readonly string[]; readonly mark: string }
  | { readonly refreshesOf: readonly BoundSession[] }
  | { readonly signInAt: 'latchkey' | 'better-auth' }
  | { readonly codeFlow: CodeFlow }
  | { readonly rotate: string; readonly form: Readonly<Record<string, string>>; readonly tokens: string[] };

/** Work is learnt under a name before it is run. */
export type LoadOrder = { readonly learn: string; readonly work: Work } | (Load & { readonly run: string });

const scripts = new Map<string, (milliseconds: number) => Script>();

// The load generator: a separate process, so that it takes nothing but CPU from the target.
answerParent(async (order: LoadOrder): Promise<LoadResult | object> => {
  if ('run' in order) return run(scripts.get(order.run)!(order.milliseconds), order);
  scripts.set(order.learn, scriptOf(order.work));
  return {};
});

function scriptOf(work: Work): (milliseconds: number) => Script {
  if ('refreshesOf' in work) return refreshWithProofScript(work.refreshesOf);
  const script = unsignedScriptOf(work);
  return () => script;
}

function unsignedScriptOf(work: Exclude<Work, { readonly refreshesOf: unknown }>): Script {
  if ('codeFlow' in work) return codeFlowScript(work.codeFlow);
  if ('rotate' in work) return rotating(work.rotate, work.form, work.tokens);
  if ('signInAt' in work) return work.signInAt === 'latchkey' ? signInScript() : socialSignInScript();
  const requests = work.requests.map((request) => Buffer.from(request));
  return inTurn(requests, work.mark);
}
