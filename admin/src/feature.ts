import type { ComponentType, ReactNode } from 'react';
import type { Provider, TestResult, User } from './api/types.js';

/** What an error means, and what to say to the person who calls. */
export interface ErrorText {
  readonly means: string;
  readonly say: string;
}

type Texts = Readonly<Record<string, string>>;

/** What the page shows of a feature of the service: a folder of `features/`, and a line in `features.ts`. */
export interface Feature {
  /** Audit events, by name. */
  readonly events?: Texts;
  /** Causes of ends of sessions. */
  readonly causes?: Texts;
  /** Types of actors. */
  readonly actors?: Texts;
  /** Sources of changes of claims: "Claims of …". */
  readonly sources?: Texts;
  /** Why a condition of `allow` does not hold, by its kind. */
  readonly conditions?: Texts;
  /** Reasons of `access_denied`, up to a `:`. */
  readonly reasons?: Readonly<Record<string, ErrorText>>;
  /** A part of each provider. */
  readonly OfProvider?: ComponentType<{ provider: Provider }>;
  /** Facts of the profile of a user. */
  facts?(user: User): readonly (readonly [label: string, value: ReactNode])[];
  /** Source of a claim that the application has not set, unless it is the provider. */
  claimSource?(user: User, name: string): string | undefined;
  /** What it says about the account of a test sign-in. */
  testNotice?(result: TestResult): { readonly text: string; readonly isRefused: boolean } | undefined;
}
