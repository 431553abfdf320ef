import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Controller, Get, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { PACKAGE_ROOT } from '../http/package-root.js';
import { filesToServe, sendFile } from '../http/static-files.js';
import { Public } from '../token/guard/access.js';

const COMMON = "default-src 'none'; script-src 'self'; style-src 'self'; base-uri 'none'; form-action 'none'";
// The frame of the sign-in may show any page: a provider may redirect to other hosts. Pictures of users are not loaded: their hosts would
// learn the address of the administrator.
const PAGE_POLICY = `${COMMON}; connect-src 'self'; img-src 'self' data:; frame-src *; frame-ancestors 'none'`;
// The provider redirects to the callback inside that frame.
const CALLBACK_POLICY = `${COMMON}; img-src 'self'; frame-ancestors 'self'`;

/** Made by `npm run build:admin`. */
const FOLDER = join(PACKAGE_ROOT, 'admin/dist');

/** Files by path, listed at start. */
const FILES: ReadonlyMap<string, string> = new Map(
  filesToServe(FOLDER).map((name) => [`/admin/${name}`, join(FOLDER, name)]),
);

/** The views of the page, whose paths its script reads. */
const VIEWS = ['admin', 'admin/users', 'admin/users/:user_id', 'admin/audit', 'admin/identity-providers'];

/** The administration page (contract §9): static files, which anyone may load. What they show needs a right. */
@Public()
@Controller()
export class AdminPageController {
  private readonly compressed = new Map<string, { readonly body: Buffer; readonly etag: string }>();

  /** @internal A page. */
  @Get(VIEWS)
  page(@Res() response: Response): void {
    response.setHeader('Content-Security-Policy', PAGE_POLICY);
    sendFile(response, join(FOLDER, 'index.html'));
  }

  /** @internal A page. */
  @Get('admin/callback')
  callback(@Res() response: Response): void {
    response.setHeader('Content-Security-Policy', CALLBACK_POLICY);
    sendFile(response, join(FOLDER, 'callback.html'));
  }

  /** @internal Files of the page. */
  @Get([...FILES.keys()])
  file(@Req() request: Request, @Res() response: Response): void {
    const path = FILES.get(request.path)!;
    response.vary('Accept-Encoding');
    if (!request.acceptsEncodings('gzip')) return sendFile(response, path);
    const { body, etag } = this.gzip(path);
    response.type(extname(path)).setHeader('Cache-Control', 'no-cache');
    response.setHeader('Content-Encoding', 'gzip').setHeader('ETag', etag);
    response.send(body); // 304 if the browser has it
  }

  /** Compresses a file at its first request. */
  private gzip(path: string): { readonly body: Buffer; readonly etag: string } {
    const known = this.compressed.get(path);
    if (known) return known;
    const body = gzipSync(readFileSync(path), { level: 9 });
    const made = { body, etag: `"${createHash('sha256').update(body).digest('base64')}"` };
    this.compressed.set(path, made);
    return made;
  }
}
