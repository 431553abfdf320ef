import type { Provider, SignInOptions } from '../options.js';
import type { QuestionTexts, Texts } from '../texts/texts.js';
import { makeButtons } from './provider-buttons.js';
import type { Providers } from './providers.js';

export { showButtons } from './provider-buttons.js';

/** The part of an address that the service gets. */
const DOMAIN = /@[^\s@]+$/;
/** Set by script, which every Content Security Policy allows. The rest is the dialog's style. */
const FIELD =
  'display:block;box-sizing:border-box;width:100%;min-height:2.75rem;margin:.25rem 0 1rem;padding:.5rem 1rem;border:1px solid;border-radius:var(--radius);background:0 0;color:inherit;font:inherit';

/**
 * Makes what the dialog shows if there are several providers: a button for each, or a question for an e-mail address, if its domain
 * chooses the provider.
 * @param all providers
 * @param listByEmail as of `Providers`
 * @param email of the user, if it is known
 * @param go continues with more options
 * @returns the name of the provider, if the domain leaves no choice
 * @throws LatchkeyError as `Call` does
 */
export async function makeChoice(
  all: readonly Provider[],
  listByEmail: Providers['listByEmail'],
  email: string | undefined,
  texts: Texts,
  go: (more: SignInOptions) => void,
): Promise<HTMLElement | string> {
  const withProvider = (provider?: string): void => go({ provider });
  const list = listByEmail();
  if (!list) return makeButtons(all, texts, withProvider);
  const [domain] = DOMAIN.exec(email ?? '') ?? [];
  if (!domain) return makeQuestion(texts, email, go);
  const { providers: serving } = await list(`?email=${encodeURIComponent(domain)}`);
  if (!serving.length) return makeQuestion(texts, email, go, 'unserved');
  return serving.length > 1 ? makeButtons(serving, texts, withProvider) : serving[0]!.name;
}

/** Until another language is loaded. */
const ENGLISH: QuestionTexts = {
  email: 'E-mail address',
  next: 'Continue',
  unserved: 'Nobody can sign in here with this address. Please check it.',
};

/** Makes a form with one field. The browser checks the address. */
function makeQuestion(
  texts: Texts,
  email = '',
  go: (more: SignInOptions) => void,
  problem?: 'unserved',
): HTMLElement {
  const words = { ...ENGLISH, ...texts };
  const make = document.createElement.bind(document);
  const field = Object.assign(make('input'), {
    type: 'email',
    name: 'username',
    autocomplete: 'username',
    required: true,
    maxLength: 320,
    dir: 'ltr',
    value: email,
  });
  field.style.cssText = FIELD;
  const label = make('label');
  label.append(words.email, field);
  const button = Object.assign(make('button'), { className: 'main', textContent: words.next });
  button.style.width = '100%';
  const form = make('form');
  if (problem) {
    const alert = Object.assign(make('p'), { role: 'alert', textContent: words[problem] });
    field.ariaInvalid = 'true';
    form.append(alert);
  }
  form.append(label, button);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    go({ email: field.value });
  });
  return form;
}
