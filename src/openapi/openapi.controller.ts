import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { Controller, Get, Header, Inject, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { SETTINGS, type Settings } from '../config/settings/settings.js';
import { PACKAGE_ROOT } from '../http/package-root.js';
import { sendFile } from '../http/static-files.js';
import { Public } from '../token/guard/access.js';

/** Origin that `docs/openapi.json` contains in place of PUBLIC_URL. */
const WRITTEN_URL = 'http://localhost:3000';

const require = createRequire(import.meta.url);
/** Folder of Swagger UI. Its files are sent to browsers; the service loads none of its code. */
const VIEWER = dirname(require.resolve('swagger-ui-dist/package.json'));

const SCRIPT =
  "SwaggerUIBundle({ url: '/docs/openapi.json', dom_id: '#document', deepLinking: true, validatorUrl: null });";
const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Latchkey: HTTP interface</title>
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="/docs/swagger-ui.css" />
  </head>
  <body>
    <div id="document"></div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script>${SCRIPT}</script>
  </body>
</html>
`;
const POLICY = [
  "default-src 'none'",
  `script-src 'self' 'sha256-${hash('sha256', SCRIPT, 'base64')}'`,
  "style-src 'self'",
  'img-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * The HTTP interface as `npm run docs:api` describes it. Public: nothing of the instance is in it except
 * PUBLIC_URL.
 */
@Public()
@Controller('docs')
export class OpenApiController {
  private text?: string;

  constructor(@Inject(SETTINGS) private readonly settings: Settings) {}

  /**
   * This document as a page
   *
   * @returns A page of Swagger UI.
   * @returns {304} Unchanged.
   */
  @Get()
  @Header('Content-Security-Policy', POLICY)
  @Header('Content-Type', 'text/html; charset=utf-8')
  @Header('ETag', etagOf(PAGE))
  @Header('Cache-Control', 'no-cache')
  page(): string {
    return PAGE;
  }

  /**
   * This document
   *
   * @returns OpenAPI 3.1.
   * @returns {304} Unchanged.
   */
  @Get('openapi.json')
  @Header('Content-Type', 'application/json; charset=utf-8')
  @Header('Cache-Control', 'no-cache')
  document(@Res({ passthrough: true }) response: Response): string {
    this.text ??= readFileSync(join(PACKAGE_ROOT, 'docs/openapi.json'), 'utf8')
      .replaceAll(WRITTEN_URL, this.settings.publicUrl)
      .replaceAll(encodeURIComponent(WRITTEN_URL), encodeURIComponent(this.settings.publicUrl));
    response.setHeader('ETag', etagOf(this.text));
    return this.text;
  }

  /** @internal Files of the page. */
  @Get(['swagger-ui-bundle.js', 'swagger-ui.css'])
  viewer(@Req() { path }: Request, @Res() response: Response): void {
    sendFile(response, join(VIEWER, basename(path)));
  }
}

function etagOf(text: string): string {
  return `"${hash('sha256', text, 'base64')}"`;
}
