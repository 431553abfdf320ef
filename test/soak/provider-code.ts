/** Who signs in, and what the ID token must have: the soak's provider keeps nothing, it is all in the code. */
export interface InCode {
  readonly sub: string;
  readonly sid: string;
  readonly nonce: string;
}

export function codeFor(what: InCode): string {
  return Buffer.from(JSON.stringify(what)).toString('base64url');
}

export function readCode(code: string): InCode {
  return JSON.parse(Buffer.from(code, 'base64url').toString()) as InCode;
}
