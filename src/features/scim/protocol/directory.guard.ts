import { hash, timingSafeEqual } from 'node:crypto';
import {
  createParamDecorator,
  Inject,
  Injectable,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import type { Request as HttpRequest, Response as HttpResponse } from 'express';
import { originOf, type Origin } from '../../../audit/audit-event.js';
import { type ScimSettings, scimAddress, scimProviders } from '../scim.settings.js';
import { SETTINGS, type Settings } from '../../../platform/config/settings/settings.js';
import { RateLimits } from '../../../platform/http/rate-limit.js';
import { DirectoryActivities } from '../activity/directory-activity.js';
import type { ResourceKind } from './names.js';
import { ScimError } from './scim-error.js';

/** The directory that sends a request. */
export interface Directory {
  /** Name of the provider. */
  readonly provider: string;
  readonly settings: ScimSettings;
  /** Address of its interface, without a trailing slash. */
  readonly base: string;
  readonly origin: Origin;
  /** Of the resources that the path names. */
  readonly kind: ResourceKind;
}

declare module 'express-serve-static-core' {
  interface Request {
    /** Set by DirectoryGuard. */
    directory?: Directory;
  }
}

/** Injects the directory that sends the request. */
export const CallingDirectory = createParamDecorator(
  (_data: unknown, context: ExecutionContext) => context.switchToHttp().getRequest<HttpRequest>().directory!,
);

/** A hash that no token has. */
const NOBODY = Buffer.alloc(32);

/**
 * Authenticates a directory by the token of the provider in the path. An unknown provider, one without SCIM,
 * and a wrong token have the same answer, and take the same time.
 */
@Injectable()
export class DirectoryGuard implements CanActivate {
  private readonly known: ReadonlyMap<
    string,
    Pick<Directory, 'settings' | 'base'> & { readonly hashes: readonly Buffer[] }
  >;

  constructor(
    private readonly limits: RateLimits,
    private readonly activities: DirectoryActivities,
    @Inject(SETTINGS) settings: Settings,
  ) {
    const entries = [...scimProviders(settings)].map(([name, scim]) => {
      const hashes = scim.tokens.map((token) => hash('sha256', token, 'buffer'));
      const base = scimAddress(settings, name);
      return [name, { hashes: [hashes[0]!, hashes[1] ?? NOBODY], settings: scim, base }] as const;
    });
    this.known = new Map(entries);
  }

  async canActivate(context: ExecutionContext): Promise<true> {
    const http = context.switchToHttp();
    const request = http.getRequest<HttpRequest>();
    const provider = String(request.params['provider']);
    const presented = hash('sha256', bearerIn(request) ?? '', 'buffer');
    const known = this.known.get(provider);
    const matches = (known?.hashes ?? [NOBODY, NOBODY]).map((one) => timingSafeEqual(one, presented));
    if (!known || !matches.includes(true)) {
      await this.limits.count('bad_token', request.ip);
      throw new ScimError(401, 'the token is not that of the directory', undefined, {
        'WWW-Authenticate': 'Bearer error="invalid_token"',
      });
    }
    const origin = { ...originOf(request), actor: { type: 'directory', name: provider } } as const;
    request.actor = origin.actor;
    const path = request.path.slice(`/scim/v2/${provider}`.length);
    this.activities.watch(provider, request, path, http.getResponse<HttpResponse>());
    const kind = path.startsWith('/Groups') ? 'Group' : 'User';
    const { settings, base } = known;
    request.directory = { provider, settings, base, origin, kind };
    return true;
  }
}

function bearerIn({ headers }: HttpRequest): string | undefined {
  return /^bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
}
