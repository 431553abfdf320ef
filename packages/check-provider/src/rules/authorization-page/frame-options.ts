/** The values of X-Frame-Options, in capitals; a header may come twice. */
export function frameOptions(headers: Headers): string[] {
  const values = headers.get('X-Frame-Options')?.split(',') ?? [];
  return values.map((value) => value.trim().toUpperCase());
}
