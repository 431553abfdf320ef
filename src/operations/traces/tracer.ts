import {
  context,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Span,
} from '@opentelemetry/api';
import type { Request, Response } from 'express';
import { routeOf } from '../../platform/http/server/route-table.js';
import { OAuthError } from '../../platform/errors/oauth-error.js';
import type { Tracer } from '../../platform/spans.js';
import { METHODS } from '../metrics/http-metrics.js';

const CODE = /^[A-Z0-9_]{1,40}$/; // of Node.js (ECONNRESET), and SQLSTATE

/**
 * Makes spans by OpenTelemetry's API. No span has a path, a query, a header except `tracestate`, an address,
 * a parameter, or the message of an error: they may hold secrets.
 */
export function makeTracer(): Tracer {
  const tracer = trace.getTracer('latchkey');
  return {
    request(request, response, next) {
      // W3C `traceparent`, unless set otherwise
      const parent = propagation.extract(ROOT_CONTEXT, request.headers);
      const method = METHODS.has(request.method) ? request.method : 'HTTP';
      const span = tracer.startSpan(method, { kind: SpanKind.SERVER }, parent);
      response.once('close', () => endRequest(span, method, request, response));
      context.with(trace.setSpan(parent, span), next);
    },
    begin(name, attributes) {
      if (!trace.getActiveSpan()?.isRecording()) return undefined;
      const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes });
      return (error) => {
        if (error !== undefined && error !== null) {
          span.setAttribute('error.type', typeOf(error)).setStatus({ code: SpanStatusCode.ERROR });
        }
        span.end();
      };
    },
    bind: (work) => context.bind(context.active(), work),
    outsideTrace: (work) => context.with(ROOT_CONTEXT, work),
  };
}

function endRequest(span: Span, method: string, request: Request, response: Response): void {
  const route = routeOf(request);
  const { statusCode: status, locals } = response;
  if (route !== undefined) span.updateName(`${method} ${route}`).setAttribute('http.route', route);
  span.setAttribute('http.request.method', method === 'HTTP' ? '_OTHER' : method);
  if (response.headersSent) span.setAttribute('http.response.status_code', status);
  span.setAttribute('latchkey.request_id', request.id); // as in the log
  if (locals.error !== undefined) span.setAttribute('error.type', locals.error);
  if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
}

/** Returns an error's code, which holds nothing of the input. */
function typeOf(error: unknown): string {
  if (error instanceof OAuthError) return error.error;
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && CODE.test(code) ? code : '_OTHER';
}
