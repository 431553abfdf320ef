import type { ProviderSettings } from '../../../platform/config/providers/provider-settings.js';
import { maskedText, ownWords } from '../../../provider/errors/log-line.js';
import { findCall } from '../../../provider/transport/provider-answer.js';
import { ADVICE_ON_CODES, ADVICE_ON_STEPS, type Step } from './advice.js';

const MAX_TEXT = 300;

/** Reason why the command ended, with what to do. */
export class StepFailed extends Error {
  constructor(
    readonly part: string,
    message: string,
  ) {
    super(message);
  }
}

/** Runs the calls of the command, and makes what a transmitter says fit for a terminal. */
export class Steps {
  private readonly secrets: string[];

  constructor(private readonly provider: ProviderSettings) {
    this.secrets = [provider.clientSecret];
  }

  /** Text that is never printed. */
  hide(secret: string): void {
    this.secrets.push(secret);
  }

  /** @throws StepFailed, with the transmitter's own words and what to do */
  async run<T>(part: Step, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof StepFailed) throw error;
      const { status, error: code, url } = findCall(error) ?? {};
      const words = ownWords(error, this.provider, this.secrets) + (url === undefined ? '' : ` from ${url}`);
      throw new StepFailed(part, `${words}. ${ADVICE_ON_CODES.get(code) ?? ADVICE_ON_STEPS[part](status)}`);
    }
  }

  /** Text of the transmitter. */
  shown(text: unknown): string {
    return maskedText(text, this.secrets, MAX_TEXT);
  }

  list(texts: readonly string[]): string {
    return this.shown(texts.join(', '));
  }
}
