import { parseArgs } from 'node:util';

const WORKLOADS = ['W1', 'W1P', 'W2', 'W3', 'W4'] as const;
export type Workload = (typeof WORKLOADS)[number];
/** Workloads that are measured in requests. */
export type HttpWorkload = Exclude<Workload, 'W4'>;

/** Against floors, against other services, or against itself with more rows, sockets and users. */
export type Mode = 'floors' | 'peers' | 'growth';

/** What growth is measured in. */
const PARTS = ['sessions', 'pushes', 'idle', 'sockets'] as const;
export type Part = (typeof PARTS)[number];

export interface Options {
  readonly mode: Mode;
  /** Refresh tokens in the table; several sizes are for growth alone. */
  readonly sessions: readonly number[];
  readonly rounds: number;
  /** Seconds that each target is measured in each round, for each number of connections. */
  readonly seconds: number;
  readonly connections: readonly number[] | undefined;
  readonly workloads: readonly Workload[];
  /** Of growth. */
  readonly parts: readonly Part[];
  /** Open at once in W4. */
  readonly sockets: number;
  /** The service's log level; its log is written, but discarded. */
  readonly logLevel: string;
  /** Whether tables and plots are written into the documents. */
  readonly document: boolean;
}

export const CONNECTIONS: Readonly<Record<HttpWorkload, readonly number[]>> = {
  W1: [1, 16, 64],
  W1P: [16, 64],
  W2: [16, 64],
  W3: [16, 64],
};

const SESSIONS: Readonly<Record<Mode, string>> = {
  floors: '100000',
  peers: '100000',
  growth: '10000,1000000,10000000',
};

export const USAGE = `npm run bench -- [options]      against floors
npm run bench:peers -- [options]      against other services
npm run bench -- --growth [options]   with more sessions, sockets and users
  --sessions 100000        refresh tokens in the table; --growth: ${SESSIONS.growth}
  --rounds 5               turns of each target
  --seconds 2              length of a turn
  --connections 16,64      at once, one request each; unset: 16,64, and for W1 also 1
  --workload ${WORKLOADS.join(',')}
                           W1: refresh; W1P: with a proof; W2: verify a token; W3: whole sign-in; W4: sockets
  --parts ${PARTS.join(',')}
                           of --growth: rows in the tables; connected users; an idle service; 20,000 sockets
  --sockets 2000           open at once in W4
  --log-level info         LOG_LEVEL of the service
  --document               writes the tables into docs/benchmark.md`;

/**
 * Reads the command line.
 * @throws Error that says what is wrong with it.
 */
export function parseOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      growth: { type: 'boolean', default: false },
      peers: { type: 'boolean', default: false },
      document: { type: 'boolean', default: false },
      sessions: { type: 'string' },
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '2' },
      connections: { type: 'string' },
      workload: { type: 'string', default: WORKLOADS.join(',') },
      parts: { type: 'string', default: PARTS.join(',') },
      sockets: { type: 'string', default: '2000' },
      'log-level': { type: 'string', default: 'info' },
    },
  });
  if (values.growth && values.peers) throw new Error('--growth and --peers are runs of their own');
  const mode = values.growth ? 'growth' : values.peers ? 'peers' : 'floors';
  const sessions = numbers('--sessions', values.sessions ?? SESSIONS[mode], 100_000_000);
  if (mode !== 'growth' && sessions.length > 1) throw new Error('several --sessions are for --growth');
  return {
    mode,
    sessions,
    rounds: positive('--rounds', values.rounds, 1000),
    seconds: positive('--seconds', values.seconds, 600),
    connections:
      values.connections === undefined ? undefined : numbers('--connections', values.connections, 1000),
    sockets: positive('--sockets', values.sockets, 100_000),
    workloads: values.workload.split(',').map((text) => oneOf('--workload', text, WORKLOADS)),
    parts: values.parts.split(',').map((text) => oneOf('--parts', text, PARTS)),
    logLevel: values['log-level'],
    document: values.document,
  };
}

function numbers(name: string, text: string, max: number): number[] {
  return text.split(',').map((one) => positive(name, one, max));
}

function positive(name: string, text: string, max: number): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > max) {
    throw new Error(`${name} takes whole numbers from 1 to ${max}, not ${text}`);
  }
  return value;
}

function oneOf<Name extends string>(option: string, text: string, names: readonly Name[]): Name {
  const known = names.find((name) => name === text);
  if (!known) throw new Error(`${option} takes ${names.join(', ')}, not ${text}`);
  return known;
}
