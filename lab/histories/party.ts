import { Client, type Shared } from './client.js';
import type { HeldSession, HeldToken } from './ledger.js';
import { Listener, type Owner } from './listener.js';
import type { TokenName } from './operation.js';
import { Random } from '../../test/support/random.js';

/** One of two users who become one: the session with which the user has a socket. */
export class Party implements Owner {
  readonly listener: Listener;
  /** The session has ended, and with it the socket. */
  isOver = false;
  private readonly client: Client;
  private readonly random: Random;
  /** Token that was refused to the listener. */
  private stale: string | undefined;

  constructor(
    private readonly shared: Shared,
    name: string,
    readonly session: HeldSession,
    urls: readonly string[],
    seed: number,
  ) {
    this.random = new Random(seed);
    this.client = new Client(shared, `${name} listener`);
    this.listener = new Listener(`${name} listener`, this, urls, shared.recorder, new Random(seed + 1));
  }

  get user(): string {
    return this.session.user;
  }

  get device(): string | null {
    return this.session.device;
  }

  refused({ jti }: TokenName): void {
    this.stale = jti;
  }

  async token(): Promise<HeldToken | undefined> {
    const { session } = this;
    if (this.stale !== session.token.name.jti) return session.token;
    const outcome = await this.client.refresh(this.random.below(this.shared.calls.instances), session);
    if (outcome === 'refused') {
      this.isOver = true;
      this.listener.stop();
    }
    return outcome === 'ok' ? session.token : undefined;
  }
}
