/** A private part that was encrypted with another SECRET_KEY. */
export class UnreadableKey extends Error {
  override readonly name = 'UnreadableKey';

  constructor(readonly kid: string) {
    super(`Signing key ${kid} cannot be decrypted: SECRET_KEY is not the one it was stored with.`);
  }
}

export class UnknownKey extends Error {
  override readonly name = 'UnknownKey';

  constructor(kid: string) {
    super(`There is no signing key ${kid}.`);
  }
}
