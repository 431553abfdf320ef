import { Inject, Injectable } from '@nestjs/common';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { Clock } from '../../platform/database/clock.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import { isLoopbackUrl, parseUrl } from '../../platform/config/urls/urls.js';
import { createHash, verify, type JsonWebKeyInput } from 'node:crypto';
import { promisify } from 'node:util';

export interface DpopCall {
  /** `DPoP` header. */
  readonly header: string | undefined;
  readonly path: `/${string}`;
  /** Default `POST`. */
  readonly method?: 'DELETE';
}

const DESCRIPTIONS: Readonly<Record<ProofError, string>> = {
  malformed: 'the DPoP header is not one proof with ES256 and a public P-256 key',
  forged: 'the DPoP proof is not signed by the key in it',
  call: 'the DPoP proof is for another method or address',
  time: 'the DPoP proof was not made within the last minute, by the clock of the Date header',
};

/** Validates proofs of possession (RFC 9449) for the endpoints of this service, by the database's clock. */
@Injectable()
export class DpopProofs {
  constructor(
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /**
   * Validates the proof of a sign-in, before its state or code is consumed.
   * @returns undefined if there is none
   * @throws OAuthError `invalid_dpop_proof`, also without a proof if `BINDING` requires one
   */
  async validateAtSignIn(call: DpopCall): Promise<DpopProof | undefined> {
    const proof = await this.validate(call);
    if (proof || this.settings.binding !== 'required') return proof;
    throw new OAuthError('invalid_dpop_proof', 'sign-ins need a DPoP proof (RFC 9449)');
  }

  /**
   * Requires a proof of a session's key: it shows that the call comes from the device, and not from one that
   * has stolen its token.
   * @param jkt thumbprint of the key; null: the session is not bound
   * @throws OAuthError `invalid_dpop_proof`
   */
  async validateOf(jkt: Buffer | null, call: DpopCall): Promise<void> {
    const proof = await this.validate(call);
    if (jkt === null || proof?.jkt.equals(jkt)) return;
    throw new OAuthError('invalid_dpop_proof', 'the call needs a DPoP proof of the key of this session');
  }

  /**
   * @returns undefined if the request has no `DPoP` header
   * @throws OAuthError `invalid_dpop_proof`
   */
  async validate({ header, path, method }: DpopCall): Promise<DpopProof | undefined> {
    if (header === undefined) return undefined;
    const { publicUrl, production } = this.settings;
    const isHtu = sameEndpoint(publicUrl + path, { loopback: !production });
    const result = await validateProof(header, { method: method ?? 'POST', isHtu, now: this.clock.now() });
    if (typeof result === 'string') throw new OAuthError('invalid_dpop_proof', DESCRIPTIONS[result]);
    return result;
  }
}

/**
 * Returns a comparison with an address of ours, without query and fragment and normalized (RFC 9449 §4.3, 9).
 * @param own absolute and normalized
 * @param loopback whether all names of the loopback interface are equal
 */
export function sameEndpoint(own: string, { loopback }: { loopback: boolean }): (address: string) => boolean {
  return (address) => {
    if (address === own) return true;
    const ours = new URL(own);
    const url = parseUrl(address);
    if (!url) return false;
    const { protocol, hostname, port, pathname, username, password } = url;
    const sameHost = hostname === ours.hostname || (loopback && isLoopbackUrl(own) && isLoopbackUrl(address));
    const same = protocol === ours.protocol && port === ours.port && pathname === ours.pathname;
    return same && sameHost && username === '' && password === '';
  };
}

export interface DpopProof {
  /** SHA-256 thumbprint of the key (RFC 7638 §3). */
  readonly jkt: Buffer;
  /** Id of the proof, chosen by the client. */
  readonly jti: string;
}

export interface ProvenCall {
  /** Of the request. */
  readonly method: string;
  /** Compares an address with that of the request, without query and fragment (RFC 9449 §4.3, 9). */
  readonly isHtu: (address: string) => boolean;
  /** Milliseconds since the epoch, by the database's clock. */
  readonly now: number;
}

/** Error of a proof: a client may correct its clock, or its address of the service. */
export type ProofError = 'malformed' | 'forged' | 'call' | 'time';

const LONGEST = 4096;
const LONGEST_JTI = 256;
/**
 * Maximum age of a proof, and maximum lead of the client's clock
 * (docs/browser-sessions.md#proofs-without-the-sdk).
 */
const WINDOW_MS = 60_000;

const FIELD_BYTES = 32; // of P-256 (RFC 7518 §6.2.1.2)
const SIGNATURE_BYTES = 64; // r and s (RFC 7518 §3.4)

/** Verifies in the thread pool, so that the event loop stays free. */
const verifyInPool = promisify(verify);

/**
 * Validates the `DPoP` header of a request (RFC 9449 §4.3), without `ath` and `nonce`. The database detects
 * replays.
 * @param header Node.js joins repeated headers with a comma, which makes them malformed
 */
export async function validateProof(header: string, call: ProvenCall): Promise<DpopProof | ProofError> {
  if (header.length > LONGEST) return 'malformed';
  const [head, body, tail, ...more] = header.split('.', 4).map(decode);
  if (!head || !body || tail?.length !== SIGNATURE_BYTES || more.length > 0) return 'malformed';
  const [protectedHeader, claims] = [parseObject(head.toString()), parseObject(body.toString())];
  const key = protectedHeader && parsePublicKey(protectedHeader);
  if (!key || !claims) return 'malformed';
  const { jti, htm, htu, iat } = claims;
  if (!isId(jti) || typeof htm !== 'string' || typeof htu !== 'string' || !Number.isFinite(iat)) {
    return 'malformed';
  }
  if (htm !== call.method || !call.isHtu(htu)) return 'call';
  if (Math.abs((iat as number) * 1000 - call.now) > WINDOW_MS) return 'time';
  const signed = Buffer.from(header.slice(0, header.lastIndexOf('.')));
  if (!(await isSignedBy(key, signed, tail))) return 'forged';
  return { jkt: computeThumbprint(key), jti };
}

/** Decodes base64url in its canonical form: without padding, spaces or stray bits (RFC 7515 §2). */
function decode(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : undefined;
}

/** The last of equal members counts (RFC 7515 §4). */
function parseObject(json: string): Record<string, unknown> | undefined {
  try {
    const value = JSON.parse(json) as unknown;
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

interface PublicKey {
  readonly x: string;
  readonly y: string;
}

/**
 * Returns the key of a proof's header, if it is for ES256 and has no private part (RFC 9449 §4.3, 4 to 7).
 */
function parsePublicKey({ typ, alg, jwk, ...rest }: Record<string, unknown>): PublicKey | undefined {
  if (typ !== 'dpop+jwt' || alg !== 'ES256') return undefined;
  if ('crit' in rest) return undefined; // no extension is supported (RFC 7515 §4.1.11)
  if (typeof jwk !== 'object' || jwk === null || 'd' in jwk) return undefined;
  const { kty, crv, x, y } = jwk as Record<string, unknown>;
  return kty === 'EC' && crv === 'P-256' && isCoordinate(x) && isCoordinate(y) ? { x, y } : undefined;
}

function isCoordinate(value: unknown): value is string {
  return typeof value === 'string' && decode(value)?.length === FIELD_BYTES;
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= LONGEST_JTI && value.isWellFormed();
}

/** Passes on the members of the thumbprint only: `use`, `alg` and others have no effect. */
async function isSignedBy({ x, y }: PublicKey, signed: Buffer, signature: Buffer): Promise<boolean> {
  const key: JsonWebKeyInput = { key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' };
  try {
    return await verifyInPool('sha256', signed, { ...key, dsaEncoding: 'ieee-p1363' }, signature);
  } catch {
    return false; // not a point of the curve
  }
}

/** RFC 7638 §3.2: the required members, ordered by name. base64url needs no escaping. */
function computeThumbprint({ x, y }: PublicKey): Buffer {
  return createHash('sha256').update(`{"crv":"P-256","kty":"EC","x":"${x}","y":"${y}"}`).digest();
}
