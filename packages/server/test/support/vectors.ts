import { readFileSync } from 'node:fs';
import type { ProtectedResourceOptions, VerifierOptions } from '../../src/index.js';

/** The vectors of the verifiers in any language, as verifiers/vectors/README.md describes them. */
export type Step = { readonly now: number } & (
  | ({ readonly do: 'connect' } & StreamAnswer)
  | { readonly do: 'send'; readonly bytes: readonly (string | { readonly base64: string })[] }
  | { readonly do: 'repeat'; readonly count: number; readonly text: string }
  | { readonly do: 'end' }
  | { readonly do: 'keys'; readonly keys?: readonly string[]; readonly status?: number }
  | { readonly do: 'introspection'; readonly status: number; readonly body: string }
  | {
      readonly do: 'verify';
      readonly token: string;
      readonly scopes?: [string];
      readonly expect: Outcome | 'any';
    }
  | { readonly do: 'metadata'; readonly path: string; readonly expect: object | null }
  | ({ readonly do: 'state'; readonly mostKeyRequests?: number } & Partial<State>)
);

export interface StreamAnswer {
  readonly cursor?: string | null;
  readonly status?: number;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export type Outcome =
  | { readonly claims: object }
  | { readonly error: string; readonly status: number; readonly challenge?: string };

interface State {
  readonly notified: boolean;
  readonly sessions: number;
  readonly users: number;
  readonly introspections: number;
}

export interface VectorCase {
  readonly name: string;
  readonly options: Pick<VerifierOptions, 'audience' | 'whenAway' | 'clockTolerance'> & {
    readonly serviceKey?: true;
    readonly resources?: readonly ProtectedResourceOptions[];
  };
  readonly steps: readonly Step[];
}

function readVectors(file: string): unknown {
  const url = new URL(`../../../../verifiers/vectors/${file}.json`, import.meta.url);
  return JSON.parse(readFileSync(url, 'utf8'));
}

export const { issuer, start, keys } = readVectors('keys') as {
  issuer: string;
  start: number;
  keys: Record<string, object>;
};
export const tokens = readVectors('tokens') as Record<string, { token: string }>;
export const casesOf = (file: string): VectorCase[] => (readVectors(file) as { cases: VectorCase[] }).cases;
