import { LatchkeyError } from './latchkey-error.js';

/** The right that a call needs (contract §2, `SERVICE_KEYS`). */
export type Right = 'read' | 'push' | 'users';

/** The service key, and whether the service refuses it. */
export class ServiceKey {
  /** Refusals that were reported since the key was last accepted. */
  private readonly reported = new Set<string>();

  constructor(
    private readonly key: string,
    private readonly warn: (message: string) => void,
  ) {}

  get header(): { Authorization: string } {
    return { Authorization: `Bearer ${this.key}` };
  }

  /**
   * Reports a refusal once.
   * @param status 401: the service does not know the key; 403: the key lacks the right
   * @returns 500, since 401 and 403 would say that the token of the API's own caller is bad
   */
  refused(status: number, right: Right): LatchkeyError {
    const [reason, remedy] =
      status === 401
        ? [
            'the service does not know it',
            'Set serviceKey to a key of SERVICE_KEYS, without its name and right',
          ]
        : [`it has no right ${right}`, 'Give it that right in SERVICE_KEYS of the service'];
    const error = new LatchkeyError('service_key_refused', 500, `the service key was refused: ${reason}`);
    if (!this.reported.has(reason)) {
      this.reported.add(reason);
      this.warn(`${error.message}. ${remedy}`);
    }
    return error;
  }

  /** The service has accepted the key: a later refusal is reported again. */
  accepted(): void {
    this.reported.clear();
  }
}

/** Whether an answer to a call with the service key refuses the key. */
export function refusesKey(status: number): boolean {
  return status === 401 || status === 403;
}
