import request from 'supertest';
import { startTestService } from '../support/service.js';

it.each([
  ['true', 1],
  ['false', 0],
])('with DEMO_ENABLED %s, the page /docs links back to it so often: %i', async (DEMO_ENABLED, links) => {
  const service = await startTestService({ DEMO_ENABLED });
  try {
    const { text } = await request(service.url).get('/docs').expect(200);
    expect(text.split('<a href="./">Back to the start page</a>')).toHaveLength(links + 1);
  } finally {
    await service.close();
  }
});
