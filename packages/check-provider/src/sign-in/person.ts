/** Address to which a person's browser returned. */
export interface Return {
  readonly url: string;
  readonly method: string;
}

/** Signs in at a real login page. */
export interface Person {
  /** The callback that the person's browser comes back to. */
  readonly redirectUri: string;
  /**
   * Sends the person to an authorization page, and waits for the return.
   * @throws CannotRun after the time for a sign-in
   */
  signIn(address: URL): Promise<Return>;
  /** No more sign-ins. */
  leave(): Promise<void>;
}

/** The text for a person before the first sign-in. @param planned how many sign-ins there will be */
export function invitation(planned: number): string {
  if (planned === 1) return 'The provider shows a login page: please sign in once.';
  return `The provider shows a login page: please sign in ${planned} times, always as the same user.
(Once or twice more where the provider drops a code after a failed attempt.)`;
}
