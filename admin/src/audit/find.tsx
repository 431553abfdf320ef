import { useState, type ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import type { ApiError } from '../api/api.js';
import { trailOf } from './filter-names.js';
import { isId, kindOf } from './kind-of-text.js';

/** A field for any id, an address or an error code; it becomes the filter that fits. */
export function Find({ setFilter }: { setFilter: (name: string, value: string) => void }): ReactNode {
  const [text, setText] = useState('');
  const [problem, setProblem] = useState<ReactNode>();
  const [, navigate] = useLocation();

  const find = async (typed: string): Promise<void> => {
    const wanted = typed.trim();
    if (wanted === '') return;
    try {
      const kind = await kindOf(wanted);
      if (!kind) return setProblem(<NoName text={wanted} />);
      if (isId(wanted)) navigate(trailOf({ [kind]: wanted }), { replace: true });
      else setFilter(kind, wanted);
      setText('');
    } catch (error) {
      setProblem((error as ApiError).message);
    }
  };
  const type = (typed: string): void => {
    setText(typed);
    setProblem(undefined);
    if (isId(typed.trim())) void find(typed); // pasted
  };
  return (
    <form
      className="wide"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        void find(text);
      }}
    >
      <label>
        Search
        <input
          type="search"
          value={text}
          onChange={({ target }) => type(target.value)}
          placeholder="Id, address or error"
          enterKeyHint="search"
          maxLength={64}
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
        />
      </label>
      <p role="status" className="hint">
        {problem}
      </p>
    </form>
  );
}

function NoName({ text }: { text: string }): ReactNode {
  return (
    <>
      The trail has no names. <Link href={`/users?q=${encodeURIComponent(text)}`}>Search the users</Link>{' '}
      instead.
    </>
  );
}
