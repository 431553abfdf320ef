import { createHash, verify, type JsonWebKeyInput } from 'node:crypto';
import { promisify } from 'node:util';

/** What a good proof shows: who holds which key, and that this is the proof's only use. */
export interface DpopProof {
  /** SHA-256 thumbprint of the key (RFC 7638 §3). */
  readonly jkt: Buffer;
  /** The proof's own id, of its client's making. */
  readonly jti: string;
}

/** The call that a proof must be of. */
export interface ProvenCall {
  /** Whether an address is that of the call, whatever its query and fragment (RFC 9449 §4.3, 9). */
  readonly isHtu: (address: string) => boolean;
  /** Milliseconds since the epoch, by the clock that all instances share. */
  readonly now: number;
}

/** Why a proof is not good. A client that knows may mend its clock, or its address of the service. */
export type ProofFault = 'malformed' | 'forged' | 'call' | 'time';

const LONGEST = 4096;
const LONGEST_JTI = 256;
/** How old a proof may be, and how far its client's clock may be ahead (contract §5). */
const WINDOW_MS = 60_000;

const FIELD_BYTES = 32; // of P-256 (RFC 7518 §6.2.1.2)
const SIGNATURE_BYTES = 64; // r and s (RFC 7518 §3.4)

/** In a thread of Node.js's pool: half of a proof's cost, in which this one serves others. */
const verifyAside = promisify(verify);

/**
 * Judges the `DPoP` header of a POST, by the rules of RFC 9449 §4.3; what only resources and servers with nonces need (`ath`,
 * `nonce`) is not looked at. Whether the proof was used before is for the database to say.
 *
 * @param header as it came. Node.js joins repeated ones with a comma, which no proof has in it
 */
export async function judgeProof(header: string, call: ProvenCall): Promise<DpopProof | ProofFault> {
  if (header.length > LONGEST) return 'malformed';
  const [head, body, tail, ...more] = header.split('.', 4).map(decode);
  if (!head || !body || tail?.length !== SIGNATURE_BYTES || more.length > 0) return 'malformed';
  const [protectedHeader, claims] = [parseObject(head.toString()), parseObject(body.toString())];
  const key = protectedHeader && keyOf(protectedHeader);
  if (!key || !claims) return 'malformed';
  const { jti, htm, htu, iat } = claims;
  if (!isId(jti) || typeof htm !== 'string' || typeof htu !== 'string' || !Number.isFinite(iat)) {
    return 'malformed';
  }
  // What costs nothing comes before the signature.
  if (htm !== 'POST' || !call.isHtu(htu)) return 'call';
  if (Math.abs((iat as number) * 1000 - call.now) > WINDOW_MS) return 'time';
  const signed = Buffer.from(header.slice(0, header.lastIndexOf('.')));
  if (!(await isSignedBy(key, signed, tail))) return 'forged';
  return { jkt: thumbprintOf(key), jti };
}

/** The bytes of base64url in its one spelling: without padding, spaces or stray bits (RFC 7515 §2). */
function decode(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : undefined;
}

/** Of equal members the last counts (RFC 7515 §4). */
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

/** The key of a proof's header: that of ES256 and no other, its public part alone (RFC 9449 §4.3, 4 to 7). */
function keyOf({ typ, alg, jwk, ...rest }: Record<string, unknown>): PublicKey | undefined {
  if (typ !== 'dpop+jwt' || alg !== 'ES256') return undefined;
  if ('crit' in rest) return undefined; // extensions that must be understood, and none is (RFC 7515 §4.1.11)
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

/** Only the members that make the thumbprint are handed on: `use`, `alg` and the like must not decide anything. */
async function isSignedBy({ x, y }: PublicKey, signed: Buffer, signature: Buffer): Promise<boolean> {
  const key: JsonWebKeyInput = { key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' };
  try {
    return await verifyAside('sha256', signed, { ...key, dsaEncoding: 'ieee-p1363' }, signature);
  } catch {
    return false; // not a point of the curve
  }
}

/** RFC 7638 §3.2: the members that matter, in the order of their names. base64url needs no escapes. */
function thumbprintOf({ x, y }: PublicKey): Buffer {
  return createHash('sha256').update(`{"crv":"P-256","kty":"EC","x":"${x}","y":"${y}"}`).digest();
}
