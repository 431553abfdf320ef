import { useEffect, useId, useRef, useState, type ReactNode } from 'react';
import type { ApiError } from '../api/api.js';
import { say } from './toast.js';

interface ActionProps {
  /** The button's text; of a small one in a table, `subject` says of what. */
  readonly label: string;
  readonly subject?: string;
  readonly isSmall?: boolean;
  readonly isDangerous?: boolean;
  /** The question of the dialog, and the text of the button that answers it with yes. */
  readonly question: string;
  readonly yes: string;
  /** What will happen. */
  readonly children: ReactNode;
  /** Does it; returns what has been done. */
  readonly run: () => Promise<string>;
}

/** A button with an action that needs a confirmation. */
export function Action({ label, subject, isSmall, isDangerous, ...dialog }: ActionProps): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const kind = `button${isSmall ? ' small' : ''}${isDangerous ? ' danger' : ''}`;
  return (
    <>
      <button type="button" className={kind} onClick={() => setOpen(true)}>
        {label}
        {subject && <span className="visually-hidden"> {subject}</span>}
      </button>
      {isOpen && <Confirmation {...dialog} isDangerous={isDangerous} close={() => setOpen(false)} />}
    </>
  );
}

/** The dialog of an action. Escape and Cancel do nothing; an error is shown in it, and the action may be tried again. */
function Confirmation({
  question,
  yes,
  isDangerous,
  children,
  run,
  close,
}: Pick<ActionProps, 'question' | 'yes' | 'children' | 'run'> & {
  isDangerous: boolean | undefined;
  close: () => void;
}): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const cancel = useRef<HTMLButtonElement>(null);
  const title = useId();
  const [isRunning, setRunning] = useState(false);
  const [error, setError] = useState<ApiError>();
  useEffect(() => {
    dialog.current!.showModal();
    cancel.current!.focus();
  }, []);

  const go = async (): Promise<void> => {
    setRunning(true);
    setError(undefined);
    try {
      const done = await run();
      dialog.current?.close();
      say(done);
    } catch (failure) {
      setError(failure as ApiError);
      setRunning(false);
    }
  };
  return (
    <dialog ref={dialog} className="card confirm" aria-labelledby={title} onClose={close}>
      <h2 id={title}>{question}</h2>
      <div className="lead">{children}</div>
      {error && (
        <p className="notice bad" role="alert">
          {error.message}
        </p>
      )}
      <div className="actions">
        <button type="button" ref={cancel} className="button" onClick={() => dialog.current!.close()}>
          Cancel
        </button>
        <button
          type="button"
          className={isDangerous ? 'button danger' : 'button primary'}
          aria-disabled={isRunning}
          aria-busy={isRunning}
          onClick={() => isRunning || void go()}
        >
          {error ? 'Try again' : yes}
        </button>
      </div>
    </dialog>
  );
}
