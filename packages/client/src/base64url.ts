/** RFC 4648 §5, without padding. @param text in UTF-8, if it is none of bytes */
export function base64url(text: string | ArrayBuffer | Uint8Array): string {
  const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : new Uint8Array(text);
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}
