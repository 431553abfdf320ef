import { Injectable } from '@nestjs/common';
import { OAuthError } from '../errors/oauth-error.js';
import { Events } from '../events.js';
import { ErrorForClient } from './clients/error-for-client.js';

/** What is known of a sign-in by the time that it fails. */
export interface Attempt {
  provider?: string;
}

/** Tells the rest of the service of sign-ins that fail. */
@Injectable()
export class SignInRefusals {
  constructor(private readonly events: Events) {}

  /** @param work one step of a sign-in, which notes what it learns; what it throws is told, and thrown again */
  async report<T>(work: (attempt: Attempt) => Promise<T>): Promise<T> {
    const attempt: Attempt = {};
    try {
      return await work(attempt);
    } catch (thrown) {
      const isOurs = thrown instanceof OAuthError || thrown instanceof ErrorForClient;
      this.events.emit('sign_in.refused', { error: isOurs ? thrown.error : 'server_error', ...attempt });
      throw thrown;
    }
  }
}
