import { Injectable } from '@nestjs/common';
import { OAuthError } from '../errors/oauth-error.js';
import { Events } from '../events.js';
import { ErrorForClient } from './clients/error-for-client.js';

/** Tells the rest of the service of sign-ins that fail. */
@Injectable()
export class SignInRefusals {
  constructor(private readonly events: Events) {}

  /** @param work one step of a sign-in; what it throws is told, and thrown again */
  async report<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (thrown) {
      const isOurs = thrown instanceof OAuthError || thrown instanceof ErrorForClient;
      this.events.emit('sign_in.refused', { error: isOurs ? thrown.error : 'server_error' });
      throw thrown;
    }
  }
}
