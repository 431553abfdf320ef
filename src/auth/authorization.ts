/** Answer of GET /oauth2/authorize (spec §4.2). */
export class Authorization {
  /** Full URL of the provider's authorization page. */
  redirect_url!: string;

  /** Random, against CSRF: comes back unchanged in the callback, and can be used once. */
  state!: string;

  /** PUBLIC_URL: clients make the address in their DPoP proofs from it (contract §5). */
  issuer!: string;
}
