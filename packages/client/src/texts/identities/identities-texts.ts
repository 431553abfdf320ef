/** The texts of `showIdentities()`. */
export interface IdentityTexts {
  /** Name of the list. */
  identities: string;
  /** The account of which the user id is derived: it stays. */
  identityOwn: string;
  /** `{when}` is a date. */
  identitySince: string;
  /** `{provider}` is the label of a provider, also below. */
  identityConnect: string;
  identityDisconnect: string;
  /** Name of the button for screen readers, which contains its text. */
  identityDisconnectNamed: string;
  /** Asked before, and the effect. `{account}` is e.g. `GitHub (ada@example.com)`. */
  disconnectQuestion: string;
  disconnectEffect: string;
  identityConnected: string;
  identityDisconnected: string;
  /** Asked if an account has signed in as another user: it is `{other}`, the main account `{own}`, e.g. `GitHub (ada@example.com)`. */
  mergeQuestion: string;
  mergeEffect: string;
  merge: string;
  identityMerged: string;
  /** The account is connected to another user, who cannot become part of this one. */
  identityTaken: string;
  /** The service does not allow it: by this session, or for this account. */
  identityRefused: string;
  identitiesFailed: string;
}
