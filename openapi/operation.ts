import type { Type } from '@nestjs/common';
import type { ErrorCode } from '../src/errors/oauth-error.js';

/** A JSON Schema, or any other object of the document. */
export type Json = Record<string, unknown>;

export const TAGS = {
  'Sign-in': 'The authorization code flow and its tokens.',
  'The caller': 'Who the user is, their devices, and signing out: with the access token.',
  'For backends': "What an application's own services ask for, with a service key.",
  Operations: 'For monitoring, and this document.',
} as const;

export interface Answer {
  readonly description: string;
  /** Classes of the JSON body; none where there is no body, or `schema` says what it is. */
  readonly types?: readonly Type[];
  readonly schema?: Json;
  /** `application/json` unless it is said. */
  readonly mediaType?: string;
  /** It may be a page as well. */
  readonly orPage?: true;
  readonly headers?: readonly string[];
  readonly examples?: Readonly<Record<string, unknown>>;
}

/** What the code of a route does not tell about it. The rest is read from its guards, its DTO and its answer classes. */
export interface Operation {
  readonly id: string;
  readonly tag: keyof typeof TAGS;
  readonly summary: string;
  readonly description?: string;
  readonly answers: Readonly<Record<number, Answer>>;
  /** Beyond those that its guards and its body bring along (errors.ts). */
  readonly errors?: readonly ErrorCode[];
  /** Bodies, by a name each; all of them are answered with success (test/openapi/openapi-examples.spec.ts). */
  readonly bodies?: Readonly<Record<string, unknown>>;
  /** Values of parameters, by their names. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  /** For bodies of which the DTO depends on what they say. */
  readonly bodyTypes?: readonly Type[];
  /** The same for queries. */
  readonly queryTypes?: readonly Type[];
  /** Where `Accept` prefers HTML, its errors are pages; 401 is 400 there. */
  readonly showsErrors?: true;
  /** Beside bearer tokens. */
  readonly security?: readonly Json[];
}

/** By method and path, as `GET /me`. */
export type Operations = Readonly<Record<string, Operation>>;
