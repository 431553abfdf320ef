/** The name of the key that signed a token. */
export function keyOf(token: string): string {
  const header = JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString()) as { kid: string };
  return header.kid;
}
