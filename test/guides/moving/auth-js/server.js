import { ExpressAuth, getSession } from '@auth/express';
import express from 'express';
import { auth } from './auth.js';
import { database } from './database.js';

const app = express();
app.use('/auth/*', ExpressAuth(auth));
app.use(async (req, res, next) => {
  res.locals.session = await getSession(req, auth);
  next();
});

app.get('/', async (req, res) => {
  const { session } = res.locals;
  if (!session) return res.send('<a href="/auth/signin">Sign in</a>');
  const { id, name } = session.user;
  const { rows } = await database.query('SELECT text FROM notes WHERE user_id = $1', [id]);
  res.json({ id, name, notes: rows.map(({ text }) => text) });
});
app.post('/notes', express.urlencoded(), async (req, res) => {
  if (!res.locals.session) return res.sendStatus(401);
  const values = [res.locals.session.user.id, req.body.text];
  await database.query('INSERT INTO notes VALUES ($1, $2)', values);
  res.redirect(303, '/');
});
app.get('/admin', (req, res) => {
  res.sendStatus(res.locals.session?.user.role === 'admin' ? 204 : 403);
});

app.listen(process.env.PORT);
