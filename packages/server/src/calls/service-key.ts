import { LatchkeyError } from '../latchkey-error.js';

/** The right that a call needs (docs/production.md#service-keys). */
export type Right = 'read' | 'push' | 'support' | 'users';

/** The service key, and the reports of its refusals. */
export class ServiceKey {
  /** Refusals reported since the service last accepted the key. */
  private readonly reported = new Set<string>();

  constructor(
    private readonly key: string,
    private readonly warn: (message: string) => void,
  ) {}

  get header(): { Authorization: string } {
    return { Authorization: `Bearer ${this.key}` };
  }

  /**
   * Reports a refusal, once.
   * @param status 401: unknown key; 403: a key without the right
   * @returns an error with status 500: 401 and 403 would blame the caller's token
   */
  refused(status: number, right: Right): LatchkeyError {
    const isUnknown = status === 401;
    const reason = isUnknown ? 'the service does not know it' : `it has no right ${right}`;
    const remedy = isUnknown
      ? 'Set serviceKey to a key of SERVICE_KEYS, without its name and right'
      : 'Give it that right in SERVICE_KEYS of the service';
    const error = new LatchkeyError('service_key_refused', 500, `the service key was refused: ${reason}`);
    if (!this.reported.has(reason)) {
      this.reported.add(reason);
      this.warn(`${error.message}. ${remedy}`);
    }
    return error;
  }

  /** To be called when the service accepts the key: a later refusal is reported again. */
  accepted(): void {
    this.reported.clear();
  }
}

export function refusesKey(status: number): boolean {
  return status === 401 || status === 403;
}
