import { parseArgs } from 'node:util';

const WORKLOADS = ['W1', 'W1P', 'W2', 'W2F', 'W3', 'W4', 'W4B'] as const;
type Workload = (typeof WORKLOADS)[number];
/** Workloads that are measured in requests. */
export type HttpWorkload = Exclude<Workload, 'W4' | 'W4B'>;

export const PEERS = ['better-auth', 'keycloak', 'hydra', 'node-oidc-provider'] as const;
export type PeerName = (typeof PEERS)[number];
const ONLY = [...PEERS, 'sockets'] as const;
export type Only = (typeof ONLY)[number];

export interface Options {
  /** Against other services in place of floors. */
  readonly peers: boolean;
  /** The cost of notifications between instances in place of workloads. */
  readonly notifications: boolean;
  /** Peers to measure, `sockets` for those of W4; unset: all. */
  readonly only: readonly Only[] | undefined;
  /** Refresh tokens in the table. */
  readonly sessions: number;
  readonly rounds: number;
  /** Length of a turn. */
  readonly seconds: number;
  readonly connections: readonly number[] | undefined;
  readonly workloads: readonly Workload[];
  /** Open at once in W4. */
  readonly sockets: number;
}

export const USAGE = `npm run bench -- [options]         against floors
npm run bench -- --peers [options]   against other services
npm run bench -- --notifications     cost of a notification to another instance
  --sessions 100000        refresh tokens in the table
  --rounds 5               turns of each target
  --seconds 2              length of a turn
  --connections 16,64      at once, one request each; unset: 16,64, for W1 also 1, beside peers 64
  --workload ${WORKLOADS.join(',')}
                           W1: refresh; W1P: with a proof; W2: verify a token; W2F: forward auth; W3: whole sign-in;
                           W4: sockets; W4B: the same, 100 events a push
  --sockets 2000           open at once in W4 and W4B
  --only ${ONLY.join(',')}
                           peers to measure; unset: all`;

/**
 * Reads the command line.
 * @throws Error that says what is wrong with it.
 */
export function parseOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      peers: { type: 'boolean', default: false },
      notifications: { type: 'boolean', default: false },
      sessions: { type: 'string', default: '100000' },
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '2' },
      connections: { type: 'string' },
      workload: { type: 'string', default: WORKLOADS.join(',') },
      sockets: { type: 'string', default: '2000' },
      only: { type: 'string' },
    },
  });
  return {
    peers: values.peers,
    notifications: values.notifications,
    sessions: positive('--sessions', values.sessions),
    rounds: positive('--rounds', values.rounds),
    seconds: positive('--seconds', values.seconds),
    connections: values.connections?.split(',').map((one) => positive('--connections', one)),
    sockets: positive('--sockets', values.sockets),
    workloads: oneOrMore('--workload', WORKLOADS, values.workload),
    only: values.only === undefined ? undefined : oneOrMore('--only', ONLY, values.only),
  };
}

function oneOrMore<Name extends string>(option: string, names: readonly Name[], text: string): Name[] {
  return text.split(',').map((one) => {
    const known = names.find((name) => name === one);
    if (!known) throw new Error(`${option} takes ${names.join(', ')}, not ${one}`);
    return known;
  });
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  throw new Error(`${name} takes whole numbers from 1, not ${text}`);
}
