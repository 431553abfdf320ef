import type { ChannelEvent } from '../events.js';
import type { Reach } from './hint.js';

/** Who is told of what the other instances say. */
export interface HintListener {
  /** An event of another instance. */
  onEvent(event: ChannelEvent): void;
  /** Another instance says only how far a history reaches. */
  onReach(reach: Reach): void;
  /** A message is not a hint of ours, or is not understood: it may have been about this user, or about anyone. */
  onDoubt(userId?: string): void;
  /** Hints can be sent again. */
  onUp(): void;
  /** Hints arrive again, after some may have been lost. */
  onBack(): void;
}

/** What carries hints between instances: Redis, or PostgreSQL. It may lose them; the history makes up for that. */
export interface HintCarrier {
  /** UTF-8 bytes of JSON that an event may carry which is not kept: there is no history to read it from. */
  readonly largestUnkept: number;
  listen(listener: HintListener): void;
  /** Whether hints can be sent, and arrive, as far as this instance knows. */
  readonly isConnected: boolean;
  /** Whether pushes may be accepted: while their hints can be sent, or sent later. */
  isUp(): Promise<boolean>;
  /** Resolves when hints of a user arrive. While the carrier is away, resolves soon: the history is read once it is back. */
  subscribe(userId: string): Promise<void>;
  unsubscribe(userId: string): void;
  /** @throws when the hint was not sent, as far as this instance knows */
  send(hint: ChannelEvent | Reach): Promise<void>;
}

export const HINT_CARRIER = Symbol('HINT_CARRIER');
