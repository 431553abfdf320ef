import type { DynamicModule, LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import express, { json, urlencoded, type Express } from 'express';
import type { Logger } from 'pino';
import type { Settings } from '../config/settings.js';
import { corsFor, options } from './cors.js';
import { LatchkeyExpressAdapter } from './express.adapter.js';
import { refuseUnreadableRequests } from './unreadable-requests.js';
import { refuseRepeatedMembers } from './repeated-members.js';
import { requestLog } from './request-log.js';
import { requireReadableBody } from './require-readable-body.js';
import { securityHeaders } from './security-headers.js';

const LARGEST_BODY = '64kb'; // contract §3: payload_too_large beyond

/** The application, ready to listen: everything that stands between the socket and the controllers. */
export async function createApp(
  module: DynamicModule,
  settings: Settings,
  log: { pino: Logger; nest: LoggerService },
): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>(
    module,
    new LatchkeyExpressAdapter(createExpress(settings)),
    { logger: log.nest, abortOnError: false, bodyParser: false },
  );
  app.use(requestLog(log.pino), securityHeaders, corsFor(settings), options);
  app.use(
    json({ limit: LARGEST_BODY, verify: refuseRepeatedMembers }),
    urlencoded({ limit: LARGEST_BODY, extended: false, parameterLimit: Infinity }), // the size bounds them
    requireReadableBody,
  );
  refuseUnreadableRequests(app.getHttpServer());
  return app;
}

function createExpress(settings: Settings): Express {
  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false); // nothing may be stored anyway
  app.set('query parser', 'simple'); // a[b]=c is the name "a[b]", not an object
  app.set('strict routing', true); // one spelling a path: limits and logs see the same one as the router
  app.set('case sensitive routing', true);
  app.set('trust proxy', settings.trustProxy ?? false);
  return app;
}
