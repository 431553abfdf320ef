import { parseArgs } from 'node:util';

const WORKLOADS = ['W1', 'W1P', 'W2', 'W3', 'W4'] as const;
export type Workload = (typeof WORKLOADS)[number];
/** Workloads that are measured in requests. */
export type HttpWorkload = Exclude<Workload, 'W4'>;

export interface Options {
  /** Refresh tokens in the table. */
  readonly sessions: number;
  readonly rounds: number;
  /** Seconds that each target is measured in each round, for each number of connections. */
  readonly seconds: number;
  readonly connections: readonly number[];
  readonly workloads: readonly Workload[];
  /** Open at once in W4. */
  readonly sockets: number;
  /** The service's log level; its log is written, but discarded. */
  readonly logLevel: string;
}

export const USAGE = `npm run bench -- [options]
  --sessions 100000        refresh tokens in the table
  --rounds 5               turns of each target
  --seconds 2              length of a turn
  --connections 1,16,64    at once, one request each
  --workload ${WORKLOADS.join(',')}
                           W1: refresh; W1P: with a proof; W2: verify a token; W3: whole sign-in; W4: sockets
  --sockets 2000           open at once in W4
  --log-level info         LOG_LEVEL of the service`;

/**
 * Reads the command line.
 * @throws Error that says what is wrong with it.
 */
export function parseOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      sessions: { type: 'string', default: '100000' },
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '2' },
      connections: { type: 'string', default: '1,16,64' },
      workload: { type: 'string', default: WORKLOADS.join(',') },
      sockets: { type: 'string', default: '2000' },
      'log-level': { type: 'string', default: 'info' },
    },
  });
  return {
    sessions: positive('--sessions', values.sessions, 100_000_000),
    rounds: positive('--rounds', values.rounds, 1000),
    seconds: positive('--seconds', values.seconds, 600),
    connections: values.connections.split(',').map((text) => positive('--connections', text, 1000)),
    sockets: positive('--sockets', values.sockets, 100_000),
    workloads: values.workload.split(',').map(workload),
    logLevel: values['log-level'],
  };
}

function positive(name: string, text: string, max: number): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > max) {
    throw new Error(`${name} takes whole numbers from 1 to ${max}, not ${text}`);
  }
  return value;
}

function workload(text: string): Workload {
  const known = WORKLOADS.find((name) => name === text);
  if (!known) throw new Error(`--workload takes ${WORKLOADS.join(' and ')}, not ${text}`);
  return known;
}
