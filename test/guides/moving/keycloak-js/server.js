import { build } from 'esbuild';
import express from 'express';
import { authenticate } from './authenticate.js';
import { database } from './database.js';

const settings = ['KEYCLOAK_URL', 'LATCHKEY_URL'];
await build({
  entryPoints: ['app.js'],
  bundle: true,
  splitting: true,
  format: 'esm',
  outdir: 'bundle',
  define: Object.fromEntries(
    settings.map((name) => [`process.env.${name}`, JSON.stringify(process.env[name])]),
  ),
});

const app = express();
app.use('/bundle', express.static('bundle'));
app.use('/api', authenticate);
app.get('/api/notes', async (req, res) => {
  const { rows } = await database.query('SELECT text FROM notes WHERE owner = $1 ORDER BY id', [req.user.id]);
  res.json(rows.map(({ text }) => text));
});
app.post('/api/notes', express.text(), async (req, res) => {
  await database.query('INSERT INTO notes (owner, text) VALUES ($1, $2)', [req.user.id, req.body]);
  res.json('saved');
});
app.post('/api/publish', (req, res) => {
  if (!req.user.roles.includes('editor')) return res.sendStatus(403);
  res.json('Published');
});
app.use((req, res) => res.sendFile('index.html', { root: '.' }));
app.listen(process.env.PORT);
