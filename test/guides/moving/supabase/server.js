import { build } from 'esbuild';
import express from 'express';

const settings = ['SUPABASE_URL', 'SUPABASE_KEY', 'LATCHKEY_URL'];
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
app.use((req, res) => res.sendFile('index.html', { root: '.' }));
app.listen(process.env.PORT);
