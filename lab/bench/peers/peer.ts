import type { Client } from 'pg';
import type { Cleanup } from '../cleanup.js';
import { codeFlowScript, type CodeFlow } from '../load/code-flow.script.js';
import type { Work } from '../load/generator.js';
import { run } from '../load/run.js';
import type { Service } from '../service.js';

export type Operation = 'refresh' | 'introspection' | 'signIn';

/** Something that is done at a port. */
export interface Task {
  readonly work: Work;
  /** Unless it is done at the service's port alone. */
  readonly at?: { readonly port?: number; readonly adminPort?: number };
}

/** An installed service with a prepared database. */
export interface Peer {
  /** Directories and files; their sizes are added. */
  readonly installed: readonly string[];
  start(): Promise<Service>;
  tasks(service: Service): Promise<Readonly<Record<Operation, Task>>>;
}

export interface Surroundings {
  /** Of an empty database that the peer has for itself. */
  readonly databaseUrl: URL;
  /** Superuser of that database. */
  readonly database: Client;
  readonly providerUrl: string;
  /** How many sessions there are to be. */
  readonly sessions: number;
  readonly cleanup: Cleanup;
}

export interface Tokens {
  readonly refresh_token: string;
  readonly access_token: string;
}

/** Sessions that are refreshed in turn; as many are introspected. */
const KNOWN = 256;

/** Signs users in until there are as many sessions as the load generator needs. */
export async function signInUsers(flow: CodeFlow, port: number, adminPort?: number): Promise<Tokens[][]> {
  const tokens: Tokens[] = [];
  const script = codeFlowScript(flow, (body) => tokens.push(JSON.parse(String(body)) as Tokens));
  const load = { port, connections: 16, milliseconds: 1000, ...(adminPort && { adminPort }) };
  while (tokens.length < 2 * KNOWN) await run(script, load);
  return [tokens.slice(0, KNOWN), tokens.slice(KNOWN, 2 * KNOWN)];
}
