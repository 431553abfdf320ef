import { parse } from 'node:querystring';
import type { DynamicModule, LoggerService, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import express, { type Express, type RequestHandler } from 'express';
import type { Logger } from 'pino';
import type { Settings } from '../../config/settings/settings.js';
import { Events } from '../../events.js';
import { currentTracer } from '../../spans.js';
import { STORED_ADDRESSES } from '../network.js';
import { deferBodies } from '../parameters/body.js';
import { RateLimits } from '../rate-limit.js';
import { LOGO_PATH, makeBrand, serveLogo } from '../page/brand.js';
import { answerOptions, corsFor } from '../middleware/cors.js';
import { inOrder, LatchkeyExpressAdapter } from './express.adapter.js';
import { refuseUnreadableRequests } from './unreadable-requests.js';
import { requestLog } from '../middleware/request-log.js';
import { securityHeaders } from '../middleware/security-headers.js';

/** @param Clock shared by all instances @param first middleware before all other, which sees its changes */
export async function createApp(
  module: DynamicModule,
  settings: Settings,
  log: { pino: Logger; nest: LoggerService },
  Clock: Type<{ now(): number }>,
  first: readonly RequestHandler[],
): Promise<NestExpressApplication> {
  const adapter = new LatchkeyExpressAdapter(createExpress(settings));
  const options = { logger: log.nest, abortOnError: false, bodyParser: false };
  const app = await NestFactory.create<NestExpressApplication>(module, adapter, options);
  const [events, clock] = [app.get(Events), app.get(Clock)];
  adapter.useClock(clock);
  const tracer = currentTracer();
  if (tracer) app.use(tracer.request); // first, so that the others run within the request's span
  const bodies = deferBodies(app.get(RateLimits));
  app.use(
    inOrder(
      ...first,
      requestLog(log.pino, events),
      securityHeaders,
      corsFor(settings),
      answerOptions,
      bodies,
    ),
  );
  if (settings.brandLogoFile) app.use(LOGO_PATH, serveLogo(settings.brandLogoFile));
  refuseUnreadableRequests(app.getHttpServer(), clock, () => events.emit('request.unreadable'));
  return app;
}

function createExpress(settings: Settings): Express {
  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false); // no answer may be stored
  // `a[b]=c` has the name `a[b]`. All are read: a repeated one cannot hide behind 1,000 others.
  app.set('query parser', (query: string) => parse(query, '&', '=', { maxKeys: 0 }));
  app.set('strict routing', true); // one spelling for each path: limits, logs and the router see it alike
  app.set('case sensitive routing', true);
  app.set('trust proxy', settings.trustProxy ?? false);
  app.set(STORED_ADDRESSES, settings.auditAddresses);
  const brand = makeBrand(settings);
  if (brand) app.locals['brand'] = brand;
  return app;
}
