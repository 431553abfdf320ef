import type { Kit } from './kit.js';

/** Asks once before an action, in place of the buttons of an element. */
export function makeQuestion(
  { make, busy, texts }: Kit,
  place: HTMLElement,
  opener: HTMLButtonElement,
  act: () => Promise<unknown>,
) {
  const text = make('p', { dir: 'auto' });
  const no = make('button', { type: 'button' }, texts.cancel);
  const yes = make('button', { type: 'button', className: 'danger' }, texts.signOut);
  const element = make('div', { className: 'question', role: 'group', hidden: true }, text, yes, no);
  place.append(element);

  const close = (): void => {
    if (element.hidden) return;
    const isFocused = element.matches(':focus-within');
    element.hidden = true;
    place.classList.remove('asking');
    if (isFocused) opener.focus();
  };
  no.addEventListener('click', close);
  element.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return;
    event.preventDefault(); // a dialog around the list stays open
    close();
  });
  const run = async (): Promise<void> => {
    await act();
    close();
  };
  yes.addEventListener('click', () => void busy(yes, run));

  return {
    close,
    /** Shows the question. The focus is on the button without an effect, so a key that is pressed twice does nothing. */
    ask(question: string): void {
      element.ariaLabel = text.textContent = question;
      element.hidden = false;
      place.classList.add('asking');
      no.focus();
    },
  };
}
