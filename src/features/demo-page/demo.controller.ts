import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Body, Controller, Get, HttpCode, Inject, Module, Post, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import type { SessionIds } from '../../platform/events.js';
import { AnyJson, RequiredText } from '../../platform/http/parameters/parameter.js';
import { filesToServe, PACKAGE_ROOT, sendFile } from '../../platform/http/static-files.js';
import type { Pushed } from '../../realtime/push/push.dto.js';
import { PushService } from '../../realtime/push/push.service.js';
import { RealtimeModule } from '../../realtime/realtime.module.js';
import { Caller, Public } from '../../platform/http/access.js';

// The dialog's frame may show any page: a provider may redirect. Avatars may be on any host, too.
const PAGE_POLICY =
  "default-src 'self'; frame-src *; img-src 'self' data: https:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
// The provider redirects to the callback inside that frame.
const CALLBACK_POLICY =
  "default-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

// Made by `npm run build:client`; the build copies it: `src/` and `dist/src/` have one path to it.
const SDK = fileURLToPath(new URL('../../../packages/client/dist/', import.meta.url));

/** A file of the demo page, `demo/<name>` beside package.json. */
function demoFile(name: string): string {
  return join(PACKAGE_ROOT, 'demo', name);
}

/** Files by path, listed at start: the demo's, and the SDK's with their source maps. */
const FILES: ReadonlyMap<string, string> = new Map([
  ...filesToServe(demoFile('.')).map((name) => [`/demo/${name}`, demoFile(name)] as const),
  ...filesToServe(SDK).flatMap((name) =>
    [name, `${name}.map`].map((file) => [`/latchkey-client/${file}`, join(SDK, file)] as const),
  ),
]);

/** The demo page: static files, each with a route, so that other requests never look for a file. */
@Public()
@Controller()
class DemoController {
  constructor(@Inject(SETTINGS) private readonly settings: Settings) {}

  /** The page signs in at the default provider, unless its query names another. */
  @Get()
  page(@Req() { query }: Request, @Res() response: Response): void {
    const { providers } = this.settings;
    const [first] = providers.keys();
    const hasDefault = providers.has('mock'); // the default of GET /oauth2/authorize
    if (!hasDefault && first !== undefined && query['provider'] === undefined)
      return response.redirect(`./?provider=${encodeURIComponent(first)}`);
    response.setHeader('Content-Security-Policy', PAGE_POLICY);
    sendFile(response, demoFile('index.html'));
  }

  @Get('callback')
  callback(@Res() response: Response): void {
    response.setHeader('Content-Security-Policy', CALLBACK_POLICY);
    sendFile(response, demoFile('callback.html'));
  }

  @Get([...FILES.keys()])
  file(@Req() request: Request, @Res() response: Response): void {
    sendFile(response, FILES.get(request.path)!);
  }
}

const TTL = 3600; // seconds

class DemoPushDto {
  /** The prefix distinguishes the page's events from the service's and the application's. */
  @RequiredText({
    matches: { pattern: /^demo\.[A-Za-z0-9_.:-]{1,64}$/, as: 'demo. and letters, digits or _ . : -' },
  })
  event!: string;

  /** What the event carries: any JSON. */
  @AnyJson()
  data?: unknown;
}

@Controller('demo/push')
class DemoPushController {
  constructor(
    private readonly pushes: PushService,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  /**
   * Sends an event to the caller's own channel, as `POST /push` does: a page in a browser must not have a
   * service key. Not in production, where any user could fill the history.
   */
  @Post()
  @HttpCode(202)
  push(@Caller() caller: SessionIds, @Body() { event, data }: DemoPushDto): Promise<Pushed> {
    if (this.settings.production) throw new OAuthError('not_found', 'there is no such path');
    return this.pushes.push(caller.userId, event, data, { ttl: TTL });
  }
}

@Module({ imports: [RealtimeModule], controllers: [DemoController, DemoPushController] })
export class DemoModule {}
