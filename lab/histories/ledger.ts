import { numberOf } from './claims.js';
import type { ClaimsNumber, Holder, TokenName } from './operation.js';

/** An access token that was acknowledged. */
export interface HeldToken {
  readonly name: TokenName;
  readonly text: string;
}

/** A session that was acknowledged. */
export interface HeldSession {
  readonly id: string;
  readonly user: string;
  readonly device: string | null;
  /** `client_id` of the program whose session it is; absent: it is the application's. */
  readonly program?: string;
  readonly refreshToken: string;
  /** Of the sign-in: older than all later claims. */
  readonly first: HeldToken;
  /** The newest. */
  token: HeldToken;
}

export class Ledger {
  readonly sessions: HeldSession[] = [];
  readonly users = new Set<string>();
  /** People, to whom everybody pushes, and the devices on which they have signed in. */
  readonly devices = new Map<string, Set<string>>();
  private numbers = 0;

  add(session: HeldSession): void {
    this.sessions.push(session);
    this.users.add(session.user);
  }

  addDevice({ user, device }: HeldSession): void {
    const devices = this.devices.get(user) ?? new Set();
    if (device !== null) devices.add(device);
    this.devices.set(user, devices);
  }

  number(): number {
    return ++this.numbers;
  }
}

interface TokenContents {
  readonly name: TokenName;
  readonly holder: Holder;
  readonly audience: string;
  readonly claims: ClaimsNumber;
}

/** Reads an access token of the service, without a look at its signature. */
export function claimsOf(token: string): TokenContents {
  const [header, payload] = token
    .split('.', 2)
    .map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, string>);
  const { sub: user, sid: session, jti, aud, device_id: device = null } = payload as Record<string, string>;
  return {
    name: { session: session!, jti: jti!, kid: header!['kid']! },
    holder: { user: user!, session: session!, device },
    audience: aud!,
    claims: numberOf(payload!),
  };
}
