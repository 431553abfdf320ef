import { Health, Liveness } from '../../src/operations/health.js';
import type { Operations } from '../operation.js';

const tag = 'Operations';

export const OPERATIONS: Operations = {
  'GET /health/live': {
    id: 'live',
    tag,
    summary: 'Whether the process answers',
    answers: {
      200: { description: 'It does.', types: [Liveness], examples: { alive: { status: 'ok' } } },
    },
  },
  'GET /health/ready': {
    id: 'ready',
    tag,
    summary: 'Whether requests may be sent here',
    answers: {
      200: {
        description: 'They may.',
        types: [Health],
        examples: { ready: { status: 'ok', database: 'up' } },
      },
      503: {
        description: 'The database is away or cannot be written to, or the service is stopping.',
        types: [Health],
        examples: { 'no database': { status: 'unavailable', database: 'down' } },
      },
    },
  },
  'GET /metrics': {
    id: 'metrics',
    tag,
    summary: 'Metrics for Prometheus',
    description:
      'In production with a service key that has the right `read`, elsewhere for everybody. With `METRICS_PORT` it is on that port only.',
    answers: {
      200: {
        description: 'The text format of Prometheus.',
        mediaType: 'text/plain',
        schema: { type: 'string' },
      },
    },
    errors: ['invalid_token', 'insufficient_scope', 'slow_down'],
    security: [{ serviceKey: ['read'] }, {}],
  },
  'GET /docs': {
    id: 'page',
    tag,
    summary: 'This document, to be read',
    answers: {
      200: {
        description: 'A page without scripts.',
        mediaType: 'text/html',
        schema: { type: 'string' },
        headers: ['Cache-Control', 'ETag'],
      },
      304: { description: 'It has not changed.' },
    },
  },
  'GET /docs/openapi.json': {
    id: 'document',
    tag,
    summary: 'This document',
    answers: {
      200: {
        description: 'OpenAPI 3.1.',
        schema: { type: 'object', required: ['openapi', 'paths'] },
        headers: ['Cache-Control', 'ETag'],
      },
      304: { description: 'It has not changed.' },
    },
  },
};
