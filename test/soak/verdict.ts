import type { Figure } from '../support/proof.js';

/** What a soak shows of one thing, and what is wanted. */
export interface Verdict extends Omit<Figure, 'part' | 'figure'> {
  readonly figure: string;
  readonly holds: boolean;
}
