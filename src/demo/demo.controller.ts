import { Controller, Get, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { DEMO_DIRECTORY } from './demo-directory.js';
import { Public } from '../http/access.js';

// Whatever page a provider has, and wherever it leads before it comes back, may be shown in the dialog's frame.
const PAGE_POLICY =
  "default-src 'self'; frame-src *; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
// The provider redirects to the callback inside of that frame.
const CALLBACK_POLICY =
  "default-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

/** The demo page: static files, each with a route of its own, so that no other request ever looks for a file. */
@Public()
@Controller()
export class DemoController {
  @Get()
  page(@Res() response: Response): void {
    response.setHeader('Content-Security-Policy', PAGE_POLICY);
    send(response, 'index.html');
  }

  @Get('callback')
  callback(@Res() response: Response): void {
    response.setHeader('Content-Security-Policy', CALLBACK_POLICY);
    send(response, 'callback.html');
  }

  @Get([
    'demo/demo.css',
    'demo/demo.js',
    'demo/dialog.js',
    'demo/device.js',
    'demo/callback.js',
    'demo/latchkey.js',
    'demo/session.js',
    'demo/steps.js',
    'demo/pkce.js',
    'demo/view.js',
  ])
  file(@Req() request: Request, @Res() response: Response): void {
    send(response, request.path.slice('/demo/'.length));
  }
}

function send(response: Response, name: string): void {
  response.setHeader('Cache-Control', 'no-cache'); // may be stored, must be asked for: 304 while it is unchanged
  response.sendFile(name, { root: DEMO_DIRECTORY, cacheControl: false });
}
