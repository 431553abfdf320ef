import { createVerifier } from '@latchkey/server';
import { authenticate, requireRole } from '@latchkey/server/express';
import express from 'express';

const issuer = process.env.VITE_LATCHKEY_URL ?? 'http://localhost:3000';
const latchkey = createVerifier({ issuer, serviceKey: process.env.LATCHKEY_KEY });
const lists = new Map<string, string[]>(); // of each user; a real API has a database
export const api = express().use('/api', authenticate(latchkey), express.urlencoded());

api.get('/api/list', ({ claims }, res) => res.json(lists.get(claims.sub) ?? []));
api.post('/api/list', async ({ claims: { sub: userId }, body }, res) => {
  const [list, item] = [lists.get(userId) ?? [], String(body?.item)];
  const data = list.includes(item) ? list.filter((one) => one !== item) : [...list.slice(-49), item];
  lists.set(userId, data);
  await latchkey.push({ userId, event: 'list', data }); // to all devices of this user
  res.sendStatus(204);
});

api.delete('/api/lists', requireRole('admin'), async (_req, res) => {
  const users = [...lists.keys()];
  lists.clear();
  for (const userId of users) await latchkey.push({ userId, event: 'list', data: [] });
  res.sendStatus(204);
});
