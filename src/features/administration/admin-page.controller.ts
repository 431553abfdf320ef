import { join } from 'node:path';
import { Controller, Get, Redirect, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { filesToServe, PACKAGE_ROOT, sendCompressed } from '../../platform/http/static-files.js';
import { Public } from '../../platform/http/access.js';

const COMMON = "default-src 'none'; script-src 'self'; style-src 'self'; base-uri 'none'; form-action 'none'";
// The frame of the sign-in may show any page: a provider may redirect to other hosts. Pictures of users are
// not loaded: their hosts would learn the address of the administrator.
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

/** The administration page: static files, which anyone may load. What they show needs a right. */
@Public()
@Controller()
export class AdminPageController {
  /** @internal A page. */
  @Get(VIEWS)
  page(@Req() request: Request, @Res() response: Response): void {
    response.setHeader('Content-Security-Policy', PAGE_POLICY);
    sendCompressed(request, response, join(FOLDER, 'index.html'));
  }

  /** @internal A page. Nest takes a plain slash off the end of a path. */
  @Get('admin{/}')
  @Redirect('../admin')
  slash(): void {}

  /** @internal A page. */
  @Get('admin/callback')
  callback(@Req() request: Request, @Res() response: Response): void {
    response.setHeader('Content-Security-Policy', CALLBACK_POLICY);
    sendCompressed(request, response, join(FOLDER, 'callback.html'));
  }

  /** @internal Files of the page. */
  @Get([...FILES.keys()])
  file(@Req() request: Request, @Res() response: Response): void {
    sendCompressed(request, response, FILES.get(request.path)!);
  }
}
