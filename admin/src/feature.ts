import type { ComponentType, ReactNode } from 'react';
import type { Device, Provider, TestResult, User } from './api/types.js';

/** What an error means, and what to say to the person who calls. */
export interface ErrorText {
  readonly means: string;
  readonly say: string;
}

type Texts = Readonly<Record<string, string>>;

/** What a feature gets for its list of devices on the page of a user. @public */
export interface DeviceListProps {
  /** At least one. */
  readonly devices: readonly Device[];
  /** Of the user, at the service. */
  readonly path: string;
  /** Of the user. */
  readonly name: string;
  readonly reload: () => void;
}

/** What a feature gets for its part of the page of a user. @public */
export interface OfUserProps {
  readonly user: User;
  /** Of the user, at the service. */
  readonly path: string;
  readonly reload: () => void;
}

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
  /** A part of the overview. */
  readonly OfOverview?: ComponentType;
  /** A list of its own for some devices on the page of a user; the list of all others leaves them out. */
  readonly deviceList?: {
    readonly has: (device: Device) => boolean;
    readonly List: ComponentType<DeviceListProps>;
  };
  /** A part of the page of each user, after the profile. */
  readonly OfUser?: ComponentType<OfUserProps>;
  /** A part of each provider. */
  readonly OfProvider?: ComponentType<{ provider: Provider }>;
  /** Facts of the profile of a user. */
  facts?(user: User): readonly (readonly [label: string, value: ReactNode])[];
  /** Source of a claim that the application has not set, unless it is the provider. */
  claimSource?(user: User, name: string): string | undefined;
  /** What it says about the account of a test sign-in. */
  testNotice?(result: TestResult): { readonly text: string; readonly isRefused: boolean } | undefined;
}
