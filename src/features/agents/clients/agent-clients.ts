import { Inject, Injectable } from '@nestjs/common';
import { SETTINGS, type Settings } from '../../../platform/config/settings/settings.js';
import { OAuthError } from '../../../platform/errors/oauth-error.js';
import { AgentsFile } from '../file/agents-file.js';
import type { StoredAuthentication } from './client-authentication.js';
import { ClientDocuments } from './client-documents.js';
import { isClientIdUrl } from './client-id-url.js';

/** A program that may ask for consent. */
export interface AgentClient {
  readonly clientId: string;
  readonly name: string;
  /** Of its client-ID URL; null: the file names the program. */
  readonly host: string | null;
  readonly redirectUris: readonly string[];
  /** As it is stored with a session at consent. */
  readonly authentication: StoredAuthentication;
}

/** Programs of third parties: AGENTS_FILE names them, or they publish a document. */
@Injectable()
export class AgentClients {
  constructor(
    private readonly file: AgentsFile,
    private readonly documents: ClientDocuments,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'production'>,
  ) {}

  /** Whether a `client_id` is that of a program, trusted or not: it gets no token of the application. */
  isAgent(clientId: string): boolean {
    return this.file.clients.has(clientId) || isClientIdUrl(clientId, this.settings.production);
  }

  /** Whether AGENTS_FILE still accepts a program. @param clientId of a program */
  isAccepted(clientId: string): boolean {
    if (this.file.clients.has(clientId)) return true;
    return isClientIdUrl(clientId, this.settings.production) && this.file.trust.accepts(clientId);
  }

  /**
   * @param clientId of an accepted program
   * @throws OAuthError `invalid_client`, and as `ClientDocuments.find`
   */
  async find(clientId: string): Promise<AgentClient> {
    const named = this.file.clients.get(clientId);
    if (named) {
      const { name, redirectUris, secretHash, jwks } = named;
      const method = jwks ? 'private_key_jwt' : secretHash ? 'client_secret' : 'none';
      return { clientId, name, host: null, redirectUris, authentication: { method } };
    }
    if (!this.isAccepted(clientId)) throw new OAuthError('invalid_client', 'the client is not trusted here');
    const { content, readAt } = await this.documents.find(clientId);
    const { name, redirectUris, keys } = content;
    const client = { clientId, name, redirectUris, host: new URL(clientId).host };
    if (!keys) return { ...client, authentication: { method: 'none' } };
    const read =
      'jwks' in keys ? { content: keys.jwks, readAt } : await this.documents.findKeys(keys.jwksUri);
    return {
      ...client,
      authentication: { method: 'private_key_jwt', keys: read.content, readAt: read.readAt },
    };
  }
}
