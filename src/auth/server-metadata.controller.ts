import { Controller, Get, Header, Inject } from '@nestjs/common';
import { SETTINGS, type Settings } from '../platform/config/settings/settings.js';
import { TokenGrants, type GrantMetadata } from './extensions/token-grants.js';
import { Public } from '../platform/http/access.js';

/**
 * What the service is and does, for clients that set themselves up (RFC 8414 §2). URLs begin with PUBLIC_URL.
 */
export class ServerMetadata {
  /** PUBLIC_URL. */
  issuer: string;

  /** Where stock clients send the browser, with `response_type=code`. */
  authorization_endpoint: string;
  token_endpoint: string;
  jwks_uri: string;
  revocation_endpoint: string;

  /** `none`: who holds a token may end it. */
  revocation_endpoint_auth_methods_supported: string[] = ['none'];
  introspection_endpoint: string;

  /**
   * A service key: the password of `client_secret_basic`, or a `Bearer` token. RFC 8414 §2 takes names from
   * both registries.
   */
  introspection_endpoint_auth_methods_supported: string[] = ['client_secret_basic', 'Bearer'];

  /** A page for people who develop clients. */
  service_documentation: string;
  response_types_supported: string[] = ['code'];
  response_modes_supported: string[] = ['query'];
  grant_types_supported: string[] = ['authorization_code', 'refresh_token'];
  code_challenge_methods_supported: string[] = ['S256'];

  /**
   * `none`: clients are public, and a secret is ignored. With that alone, clients that go by this list use
   * PKCE.
   */
  token_endpoint_auth_methods_supported: string[] = ['none'];

  /** The redirect back carries `iss` (RFC 9207 §3). */
  authorization_response_iss_parameter_supported: boolean = true;

  /** RFC 9449 §5.1. */
  dpop_signing_alg_values_supported: string[] = ['ES256'];

  /** If devices without a browser may sign in (RFC 8628 §4). */
  device_authorization_endpoint?: string;

  /** Algorithms of `private_key_jwt`, if there are programs with keys. */
  token_endpoint_auth_signing_alg_values_supported?: string[];

  /**
   * If programs may name themselves by the URL of a document (draft-ietf-oauth-client-id-metadata-document).
   */
  client_id_metadata_document_supported?: boolean;

  /** What programs may ask for, at all APIs together. */
  scopes_supported?: string[];

  /** APIs with tokens of their own (RFC 9728 §4). */
  protected_resources?: string[];

  /** Further ways to a token (ID-JAG). */
  authorization_grant_profiles_supported?: string[];

  /** @param others grants of other modules @param more members of other modules */
  constructor(publicUrl: string, others: readonly GrantMetadata[], more: object) {
    for (const { grantType, endpoint } of others) {
      this.grant_types_supported.push(grantType);
      if (endpoint !== undefined) this.device_authorization_endpoint = publicUrl + endpoint;
    }
    this.issuer = publicUrl;
    this.authorization_endpoint = `${publicUrl}/oauth2/authorize`;
    this.token_endpoint = `${publicUrl}/oauth2/token`;
    this.jwks_uri = `${publicUrl}/.well-known/jwks.json`;
    this.revocation_endpoint = `${publicUrl}/oauth2/revoke`;
    this.introspection_endpoint = `${publicUrl}/oauth2/introspect`;
    this.service_documentation = `${publicUrl}/docs`;
    Object.assign(this, more);
  }
}

/**
 * The same for libraries that know only the address of OpenID Connect, with what Discovery 1.0 §3 requires.
 */
export class OpenIdMetadata extends ServerMetadata {
  subject_types_supported: string[] = ['public'];

  /** Of access tokens: the service issues no ID tokens. */
  id_token_signing_alg_values_supported: string[] = ['ES256'];
}

/** Metadata for stock clients and for verifiers of access tokens. */
@Public()
@Controller()
export class ServerMetadataController {
  constructor(
    private readonly grants: TokenGrants,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /**
   * What the service is and does, for clients that configure themselves
   *
   * Authorization server metadata (RFC 8414).
   *
   * @returns Only what the service has.
   */
  @Get('.well-known/oauth-authorization-server')
  @Header('Cache-Control', 'public, max-age=300')
  metadata(): ServerMetadata {
    return new ServerMetadata(this.settings.publicUrl, this.grants.metadata, this.grants.members);
  }

  /**
   * The same, for libraries that know only this address
   *
   * OpenID Connect Discovery 1.0, for libraries that verify access tokens. The service issues no ID tokens.
   *
   * @returns Only what the service has, and what Discovery requires.
   */
  @Get('.well-known/openid-configuration')
  @Header('Cache-Control', 'public, max-age=300')
  openIdMetadata(): OpenIdMetadata {
    return new OpenIdMetadata(this.settings.publicUrl, this.grants.metadata, this.grants.members);
  }
}
