/** Answer of POST /sign-out, where the provider has a page for it. */
export class SignedOut {
  /** Where the browser ends the session with the provider as well. */
  redirect_url!: string;
}
