import type { SignIn } from './operation.js';

/** The user's name at the provider. */
export function accountOf({ code }: Pick<SignIn, 'code'>): string {
  return code.split('.', 1)[0]!;
}
