/** What main.ts tells a process that holds a spec. */
export type Order =
  | {
      /** Run all tests without a mutant, and tell which mutants each reaches. */
      readonly kind: 'dry';
      readonly limitMs: number;
    }
  | {
      /** Run tests with mutants, until one fails. */
      readonly kind: 'try';
      /** Ids of those that are active at once; none, to see whether the tests pass without. */
      readonly mutants: readonly string[];
      /** By their places in the spec; undefined: all of them. */
      readonly tests: readonly number[] | undefined;
      /** Whether to load all modules of this repository anew: for what runs when a module is loaded. */
      readonly reload: boolean;
      /** For each test and each hook. */
      readonly limitMs: number;
    };

/** A test that failed: its place in the spec; -1: after all tests; -2: when the spec was loaded; -3: none, but a loop. */
export interface Failure {
  readonly test: number;
  readonly error: string;
}

export interface Coverage {
  /** Tests that fail without a mutant: they judge none. */
  readonly failures: readonly Failure[];
  /** Full name of each test, */
  readonly names: readonly string[];
  /** and its milliseconds. */
  readonly durations: readonly number[];
  /** Places of those that are skipped here. */
  readonly idle: readonly number[];
  /** Ids of mutants that are reached while modules load, */
  readonly loading: readonly string[];
  /** by `beforeAll` and its like, */
  readonly hooks: readonly string[];
  /** and by each test. */
  readonly tests: readonly (readonly string[])[];
}

export interface Trial {
  readonly failure: Failure | undefined;
  /** Ids of those that took effect: one within a part that another one replaces does not. */
  readonly took: readonly string[];
  /** They were reached so often that it must have been a loop. */
  readonly looped: boolean;
}

export type Report = Coverage | Trial;
