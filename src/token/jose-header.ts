/**
 * The header of an access token, or undefined when it is not exactly as ours are: `alg`, `typ`, `kid` and nothing else.
 * So no `jwk`, `jku`, `x5u` or `crit` (RFC 8725 §3.10), no other algorithm (§3.1) and no other kind of JWT (§3.11).
 */
export function readHeader(token: string): { readonly kid: string } | undefined {
  const encoded = token.slice(0, token.indexOf('.'));
  try {
    const header = JSON.parse(Buffer.from(encoded, 'base64url').toString()) as Record<string, unknown>;
    const { alg, typ, kid } = header;
    const ours =
      alg === 'ES256' && typ === 'at+jwt' && typeof kid === 'string' && Object.keys(header).length === 3;
    return ours ? { kid } : undefined;
  } catch {
    return undefined;
  }
}
