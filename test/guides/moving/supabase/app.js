import { supabase } from './auth.js';

const byId = (id) => document.getElementById(id);
const [status, signIn, signOut, form, notes] = ['status', 'sign-in', 'sign-out', 'form', 'notes'].map(byId);

async function userNow() {
  const { data } = await supabase.auth.getUser();
  return data.user && { name: data.user.user_metadata.name };
}

async function allNotes() {
  const { data, error } = await supabase.from('notes').select('text').order('id');
  if (error) throw error;
  return data.map(({ text }) => text);
}

async function save(text) {
  const { error } = await supabase.from('notes').insert({ text });
  if (error) throw error;
}

async function show() {
  const user = await userNow();
  signIn.hidden = Boolean(user);
  signOut.hidden = form.hidden = !user;
  const texts = user ? await allNotes() : [];
  notes.replaceChildren(
    ...texts.map((text) => Object.assign(document.createElement('li'), { textContent: text })),
  );
  status.textContent = user ? `Signed in as ${user.name}` : 'Signed out';
}

signIn.onclick = () =>
  supabase.auth.signInWithOAuth({ provider: 'google', options: { redirectTo: location.origin } });
signOut.onclick = () => supabase.auth.signOut();
form.onsubmit = async (event) => {
  event.preventDefault();
  await save(form.elements.text.value);
  await show();
};
supabase.auth.onAuthStateChange(() => void setTimeout(show));
