import { createClient } from '@latchkey/client';
import {
  LatchkeyProvider,
  SignedIn,
  SignedOut,
  SignInButton,
  useChannel,
  UserButton,
} from '@latchkey/client/react';
import { useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';

const url = import.meta.env.VITE_LATCHKEY_URL ?? 'http://localhost:3000';
const latchkey = createClient({ url, provider: 'mock', redirectUri: '/callback' });

function List() {
  const [list, setList] = useState<string[]>([]);
  const isLive = useChannel('list', (changed) => setList(changed as string[])); // here or on another device
  useEffect(() => {
    void latchkey.fetch('/api/list').then(async (answer) => answer.ok && setList(await answer.json()));
  }, [isLive]); // and after each time away
  const toggle = async (item: unknown) => {
    const request = { method: 'POST', body: new URLSearchParams({ item: String(item) }) };
    if (!(await latchkey.fetch('/api/list', request).catch(() => null))?.ok) alert('That was not saved.');
  };
  return (
    <form action={(data) => toggle(data.get('item'))}>
      <fieldset disabled={!isLive}>
        <input name="item" placeholder="What is missing?" maxLength={80} required autoComplete="off" />
        <button>Add</button>
        {list.map((item) => (
          <button key={item} type="button" onClick={() => void toggle(item)} children={item} />
        ))}
      </fieldset>
      <p role="status">{isLive ? 'Live on all your devices' : 'Connecting …'}</p>
    </form>
  );
}

function Admin() {
  const [outcome, setOutcome] = useState('');
  const empty = async () => {
    const answer = await latchkey.fetch('/api/lists', { method: 'DELETE' }).catch(() => null);
    setOutcome(answer?.ok ? 'All lists are empty.' : 'That was not done.');
  };
  return (
    <section>
      <button onClick={() => void empty()}>Empty the lists of all users</button>
      <output>{outcome}</output>
    </section>
  );
}

if (location.pathname === '/callback') latchkey.handleCallback().catch(({ message }) => alert(message));
else
  createRoot(document.getElementById('root')!).render(
    <LatchkeyProvider client={latchkey}>
      <UserButton className="user" />
      <h1>Shopping list</h1>
      <SignedIn children={<List />} />
      <SignedIn role="admin" children={<Admin />} />
      <SignedOut children={<SignInButton />} />
    </LatchkeyProvider>,
  );
