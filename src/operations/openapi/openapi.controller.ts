import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Controller, Get, Header, Inject, Res } from '@nestjs/common';
import type { Response } from 'express';
import { Declared } from '../../platform/declared.js';
import { SETTINGS, type Settings } from '../../platform/config/settings/settings.js';
import { PACKAGE_ROOT } from '../../platform/http/static-files.js';
import { Public } from '../../platform/http/access.js';

/** Origin that `docs/openapi.json` contains in place of PUBLIC_URL. */
const WRITTEN_URL = 'http://localhost:3000';

const STYLE = /<style>([^]*?)<\/style>/;
/** Link to the page at `/`. */
const BACK = /\s*<p class="back">.*<\/p>/;

/** The HTTP interface, written by `npm run docs:api`. Public: of the instance, it has only PUBLIC_URL. */
@Public()
@Controller('docs')
export class OpenApiController {
  private readonly texts = new Map<string, string>();

  constructor(
    @Inject(SETTINGS) private readonly settings: Settings,
    private readonly declared: Declared,
  ) {}

  /**
   * This document as a page
   *
   * @returns A page of HTML, without scripts.
   * @returns {304} Unchanged.
   */
  @Get()
  @Header('Content-Type', 'text/html; charset=utf-8')
  @Header('Cache-Control', 'no-cache')
  page(@Res({ passthrough: true }) response: Response): string {
    const all = this.read('docs/openapi.html');
    const text = this.declared.hasHome ? all : all.replace(BACK, '');
    const style = hash('sha256', STYLE.exec(text)![1]!, 'base64');
    response.setHeader(
      'Content-Security-Policy',
      `default-src 'none'; style-src 'sha256-${style}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    );
    response.setHeader('ETag', etagOf(text));
    return text;
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
    const text = this.read('docs/openapi.json');
    response.setHeader('ETag', etagOf(text));
    return text;
  }

  private read(file: string): string {
    const text = this.texts.get(file) ?? this.withPublicUrl(readFileSync(join(PACKAGE_ROOT, file), 'utf8'));
    this.texts.set(file, text);
    return text;
  }

  private withPublicUrl(text: string): string {
    const { publicUrl } = this.settings;
    return text
      .replaceAll(WRITTEN_URL, publicUrl)
      .replaceAll(encodeURIComponent(WRITTEN_URL), encodeURIComponent(publicUrl));
  }
}

function etagOf(text: string): string {
  return `"${hash('sha256', text, 'base64')}"`;
}
