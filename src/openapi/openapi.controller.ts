import { Controller, Get, Inject, Res } from '@nestjs/common';
import type { Response } from 'express';
import type { Settings } from '../config/settings/settings.js';
import { SETTINGS } from '../config/settings/settings.module.js';
import { Public } from '../token/guard/access.js';
import { readServedFile, type ServedFile } from './served-file.js';

/** What `npm run docs:api` has made, for everybody: it holds nothing of the instance but PUBLIC_URL. */
@Public()
@Controller('docs')
export class OpenApiController {
  private files?: { readonly page: ServedFile; readonly document: ServedFile };

  constructor(@Inject(SETTINGS) private readonly settings: Settings) {}

  /** A page without scripts. */
  @Get()
  page(@Res() response: Response): void {
    const { page } = this.read();
    response.setHeader('Content-Security-Policy', page.policy);
    send(response, 'text/html; charset=utf-8', page);
  }

  /** OpenAPI 3.1. */
  @Get('openapi.json')
  document(@Res() response: Response): void {
    send(response, 'application/json; charset=utf-8', this.read().document);
  }

  /** With the first request: most instances are never asked. */
  private read(): NonNullable<typeof this.files> {
    const { publicUrl } = this.settings;
    this.files ??= {
      page: readServedFile('openapi.html', publicUrl),
      document: readServedFile('openapi.json', publicUrl),
    };
    return this.files;
  }
}

function send(response: Response, type: string, { text, etag }: ServedFile): void {
  response.setHeader('Cache-Control', 'no-cache'); // may be stored, but must be revalidated: 304 while it is unchanged
  response.setHeader('Content-Type', type);
  response.setHeader('ETag', etag);
  response.send(text);
}
