import { dirname, basename } from 'node:path';
import { Controller, Get, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { Public } from '../token/access.js';
import { demoFile, LIBRARIES } from './demo-files.js';
import { filesToServe } from './files-to-serve.js';

// The dialog's frame may show any page: a provider's page may lead to others before it comes back. Avatars may be on any
// host too.
const PAGE_POLICY =
  "default-src 'self'; frame-src *; img-src 'self' data: https:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
// The provider redirects to the callback inside that frame.
const CALLBACK_POLICY =
  "default-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

/** The path of each file that the pages load as `demo/<name>`: the folder's files as found at start, and the libraries. */
const FILES: ReadonlyMap<string, string> = new Map([
  ...filesToServe(demoFile('.')).map((name) => [name, demoFile(name)] as const),
  ...LIBRARIES,
]);

/** The demo page: static files, each with a route of its own, so that no other request ever looks for a file. */
@Public()
@Controller()
export class DemoController {
  @Get()
  page(@Res() response: Response): void {
    response.setHeader('Content-Security-Policy', PAGE_POLICY);
    send(response, demoFile('index.html'));
  }

  @Get('callback')
  callback(@Res() response: Response): void {
    response.setHeader('Content-Security-Policy', CALLBACK_POLICY);
    send(response, demoFile('callback.html'));
  }

  @Get([...FILES.keys()].map((name) => `demo/${name}`))
  file(@Req() request: Request, @Res() response: Response): void {
    send(response, FILES.get(basename(request.path))!);
  }
}

function send(response: Response, path: string): void {
  response.setHeader('Cache-Control', 'no-cache'); // may be stored, but must be revalidated: 304 while it is unchanged
  response.sendFile(basename(path), { root: dirname(path), cacheControl: false });
}
