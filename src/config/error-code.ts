/** The code of a system error (`ENOENT`); no `instanceof`, which fails across realms. */
export function errorCode(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : 'no code';
}
