import { Global, Module, type DynamicModule } from '@nestjs/common';
import type { ServiceState } from './events.js';

/** Metric of a member of ServiceState. */
export interface Gauge {
  readonly key: keyof ServiceState;
  readonly name: string;
  readonly help: string;
}

/** What all features declare together, for modules that must not import features. */
export abstract class Declared {
  /** Names of all audit events, of the core as well. */
  abstract readonly auditNames: readonly string[];
  /** Beginnings (`…: `) of reasons of `access_denied` that describe no person, kept also of removed users. */
  abstract readonly impersonalReasons: readonly string[];
  abstract readonly gauges: readonly Gauge[];
  /** Requests a minute and address, by the name of the limit. */
  abstract readonly limits: Readonly<Record<string, number>>;
  /** Whether a feature that is on has a page at `/`. */
  abstract readonly hasHome: boolean;
  /** Whether a feature that is on may end sessions before REFRESH_TOKEN_TTL. */
  abstract readonly endsEarly: boolean;
}

@Global()
@Module({ exports: [Declared] })
export class DeclaredModule {
  static forRoot(declared: Declared): DynamicModule {
    return { module: DeclaredModule, providers: [{ provide: Declared, useValue: declared }] };
  }
}
