import type { Kit } from '../kit.js';

/** Makes a modal question before an action. It keeps the focus, and closes on Escape. */
export function makeAlert({ make, busy, texts }: Kit, root: ShadowRoot) {
  const title = make('h2', { id: 'question' });
  const effect = make('p', { id: 'effect' });
  const no = make('button', { type: 'button' }, texts.cancel);
  const yes = make('button', { type: 'button', className: 'danger' });
  const dialog = make(
    'dialog',
    { role: 'alertdialog' },
    title,
    effect,
    make('div', { className: 'actions' }, no, yes),
  );
  dialog.setAttribute('aria-labelledby', title.id);
  dialog.setAttribute('aria-describedby', effect.id);
  root.append(dialog);
  let settle: ((isSure: boolean) => void) | undefined;
  no.addEventListener('click', () => dialog.close());
  yes.addEventListener('click', () => settle?.(true));
  dialog.addEventListener('close', () => {
    if (!dialog.open) settle?.(false); // the event comes late: the next question may be open
  });

  return {
    close: (): void => dialog.close(),
    /** Asks. The focus is on the button without an effect. @returns when the question is answered, and the action done */
    ask: async (
      question: (string | Node)[],
      details: (string | Node)[],
      answer: string,
      act: () => Promise<void>,
    ): Promise<void> => {
      settle?.(false);
      title.replaceChildren(...question);
      effect.replaceChildren(...details);
      yes.textContent = answer;
      dialog.showModal();
      no.focus();
      const isSure = await new Promise<boolean>((resolve) => (settle = resolve));
      if (!isSure) return;
      await busy(yes, act);
      dialog.close();
    },
  };
}
