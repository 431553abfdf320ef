import { keycloak } from './auth.js';

const [status, signIn, signOut, publish, form, notes] = [
  'status',
  'sign-in',
  'sign-out',
  'publish',
  'form',
  'notes',
].map((id) => document.getElementById(id));

async function api(path, init) {
  await keycloak.updateToken(30);
  const answer = await fetch(path, { ...init, headers: { Authorization: `Bearer ${keycloak.token}` } });
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.json();
}

async function show() {
  const isSignedIn = keycloak.authenticated;
  signIn.hidden = isSignedIn;
  signOut.hidden = form.hidden = !isSignedIn;
  publish.hidden = !keycloak.hasRealmRole('editor');
  const texts = isSignedIn ? await api('/api/notes') : [];
  notes.replaceChildren(
    ...texts.map((text) => Object.assign(document.createElement('li'), { textContent: text })),
  );
  status.textContent = isSignedIn ? `Signed in as ${keycloak.tokenParsed.preferred_username}` : 'Signed out';
}

signIn.onclick = () => keycloak.login();
signOut.onclick = () => keycloak.logout({ redirectUri: location.origin });
publish.onclick = async () => (status.textContent = await api('/api/publish', { method: 'POST' }));
form.onsubmit = async (event) => {
  event.preventDefault();
  await api('/api/notes', { method: 'POST', body: form.elements.text.value });
  await show();
};
await keycloak.init({ onLoad: 'check-sso', pkceMethod: 'S256' });
await show();
