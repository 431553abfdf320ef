import type { PeerScript, PeerWorkload } from '../peers/peer.js';
import { run, type LoadResult } from './run.js';
import { inTurn, type Script } from './script.js';
import { signInScript } from './sign-in.script.js';
import { socialSignInScript } from './social-sign-in.script.js';

export type PeersRequest =
  | {
      readonly do: 'learn';
      readonly port: number;
      readonly workload: PeerWorkload;
      readonly script: PeerScript;
    }
  | {
      readonly do: 'run';
      readonly port: number;
      readonly workload: PeerWorkload;
      readonly connections: number;
      readonly milliseconds: number;
    };
export type PeersAnswer = LoadResult | { readonly learned: true } | { readonly error: string };

process.on('SIGINT', () => undefined); // Ctrl-C reaches the parent as well, which ends this process in its turn
process.once('disconnect', () => process.exit(0));

const MARKS: Readonly<Partial<Record<PeerWorkload, string>>> = {
  refresh: 'token":"ey',
  bearer: '@example.',
};

const scripts = new Map<string, Script>();

process.on('message', (order: PeersRequest) => {
  void obey(order).then(
    (answer) => process.send!(answer),
    (error: Error) => process.send!({ error: error.message }),
  );
});

async function obey(order: PeersRequest): Promise<PeersAnswer> {
  const name = `${order.port} ${order.workload}`;
  if (order.do === 'run') return run(scripts.get(name)!, order);
  scripts.set(name, scriptOf(order));
  return { learned: true };
}

function scriptOf({ workload, script }: PeersRequest & { do: 'learn' }): Script {
  if ('requests' in script) {
    const requests = script.requests.map((request) => Buffer.from(request));
    return inTurn(requests, MARKS[workload]);
  }
  return script.signIn === 'latchkey' ? signInScript(script.users) : socialSignInScript(script.users);
}
