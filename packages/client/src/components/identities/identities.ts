import type { Identities, Identity, OtherIdentity } from '../../identity.js';
import type { LatchkeyError } from '../../latchkey-error.js';
import type { IdentitiesOptions } from '../../options.js';
import english from '../../texts/account/identities-en.js';
import type { Kit, Row, Values } from '../kit.js';
import { makeAlert } from './alert.js';
import { STYLE } from './identities-style.js';

/** Errors that are not shown: the user knows, or the session ends, which the client reports itself. */
const SILENT: readonly string[] = ['cancelled', 'signed_out', 'invalid_token'];

const NONE: Identities = { identities: [], joinable: [] };

/** Outcomes of a `link()` before the page was left, which the user has seen. */
const seen = new WeakSet<Promise<unknown>>();

/** @param options are read at each error @returns a function that removes the list */
export function show(kit: Kit, place: Element, options: IdentitiesOptions): () => void {
  const { client, make, filled } = kit;
  const texts = { ...english, ...kit.texts };
  const root = kit.mount(place, STYLE, texts.language);
  const list = make('ul', { role: 'list', ariaLabel: texts.identities }); // the style takes the role away in Safari
  const add = make('div', { className: 'add' });
  const problem = make('span', { role: 'alert' });
  const retry = make('button', { type: 'button', hidden: true }, texts.retry);
  const trouble = make('div', { className: 'trouble', hidden: true }, problem, retry);
  const status = make('p', { role: 'status' });
  const alert = makeAlert(kit, root);
  root.prepend(list, add, trouble, status);
  const date = new Intl.DateTimeFormat(texts.language, { dateStyle: 'medium' });
  let labels: ReadonlyMap<string, string> | undefined;
  let shown: Identities = NONE;
  let left = false;

  const labelOf = (provider: string): string => labels?.get(provider) ?? provider;
  const nameOf = ({ provider, username, email }: OtherIdentity): Node => {
    const account = email ?? username;
    const name = make('bdi', {}, labelOf(provider));
    if (account) name.append(' (', make('bdi', {}, account), ')');
    return name;
  };
  const say = (text: string, values: Values = {}): void => status.replaceChildren(...filled(text, values));

  const fail = (error: LatchkeyError, text?: string): void => {
    if (SILENT.includes(error.code)) return;
    const known: Readonly<Record<string, string>> = {
      identity_in_use: texts.identityTaken,
      // Without a status the user has declined at the provider.
      ...(error.status && { access_denied: texts.identityRefused }),
    };
    problem.textContent = text ?? known[error.code] ?? texts.actionFailed;
    trouble.hidden = false;
    retry.hidden = !text;
    options.onError?.(error);
  };
  const run = (by: HTMLElement, work: () => Promise<void>): Promise<void> =>
    kit.busy(by, async () => {
      trouble.hidden = true;
      say('');
      await work().catch(fail);
      await load();
    });

  /** Reports an account that is joined, or asks whether its user may become part of this one. */
  const report = async (linking: Promise<Identity>): Promise<void> => {
    try {
      const { provider } = await linking;
      say(texts.identityConnected, { provider: labelOf(provider) });
    } catch (caught) {
      const error = caught as LatchkeyError;
      if (!error.mergeToken || !error.identity) return fail(error);
      await askToMerge(error.identity, error.mergeToken);
    }
  };
  const askToMerge = async (identity: OtherIdentity, token: string) => {
    await load();
    const own = shown.identities.find(({ primary }) => primary);
    const values: Values = { other: nameOf(identity), own: own ? nameOf(own) : texts.identityOwn };
    const question = filled(texts.mergeQuestion, values);
    const merge = async (): Promise<void> => {
      await client.mergeUser(token).then(() => say(texts.identityMerged, values), fail);
    };
    await alert.ask(question, filled(texts.mergeEffect, values), texts.merge, merge);
  };

  const rowOf = (_key: string, identity: Identity): Row<Identity> => {
    const { provider, primary, linked_at: since } = identity;
    const name = make('p', {}, make('strong', {}, make('bdi', {}, labelOf(provider))));
    const text = make('div', {}, name);
    const row = make('li', {}, text);
    const account = identity.email ?? identity.username;
    if (account) text.append(make('p', {}, make('bdi', {}, account)));
    if (primary) name.append(make('span', { className: 'tag' }, texts.identityOwn));
    if (since) {
      const when = make('time', { dateTime: since }, date.format(Date.parse(since)));
      text.append(make('p', {}, ...filled(texts.identitySince, { when })));
    }
    if (primary) return { element: row };
    const part = make('button', { type: 'button', className: 'danger' }, texts.identityDisconnect);
    part.ariaLabel = texts.identityDisconnectNamed.replace('{provider}', () => labelOf(provider));
    const unlink = (): Promise<void> =>
      run(part, async () => {
        await client.unlink(provider).catch((error: LatchkeyError) => {
          if (error.code !== 'not_found') throw error; // another device has done it
        });
        say(texts.identityDisconnected, { provider: labelOf(provider) });
      });
    part.addEventListener('click', () => {
      const question = filled(texts.disconnectQuestion, { account: nameOf(identity) });
      void alert
        .ask(question, [texts.disconnectEffect], texts.identityDisconnect, unlink)
        .then(() => focusOn(part));
    });
    row.append(part);
    return { element: row };
  };
  const connect = async (button: HTMLElement, provider: string): Promise<void> => {
    await run(button, () => report(client.link(provider)));
    if (!root.activeElement) focusOn(button); // a dialog was open
  };
  const buttonOf = (provider: string): Row<string> => {
    const text = texts.identityConnect.replace('{provider}', () => labelOf(provider));
    const button = make('button', { type: 'button', dir: 'auto' }, text);
    button.addEventListener('click', () => void connect(button, provider));
    return { element: button };
  };

  /** Moves the focus to an element, or from one that is removed. */
  const focusOn = (element?: HTMLElement): void => {
    const next = root.querySelector('.add button') ?? root.querySelector('li button');
    (element?.isConnected ? element : (next as HTMLElement | null))?.focus();
  };
  const showRows = kit.keyed(list, rowOf);
  const showButtons = kit.keyed(add, buttonOf);
  const showAll = (): void => {
    const { identities, joinable } = shown;
    const rows = new Map(identities.map((identity) => [JSON.stringify(identity), identity]));
    const hadFocus = Boolean(root.activeElement);
    showRows(rows);
    showButtons(new Map(joinable.map((provider) => [provider, provider])));
    if (hadFocus && !root.activeElement) focusOn();
  };

  let loads = 0;
  let newest: Promise<void> | undefined;
  /** Resolves once the accounts are shown as they were at the call, or later. */
  const load = (): Promise<void> => (newest = read(++loads));
  const read = async (mine: number): Promise<void> => {
    try {
      labels ??= await client.providers().then(
        (all) => new Map(all.map(({ name, label }) => [name, label])),
        () => undefined, // the names do
      );
      const identities = client.session ? await client.identities() : NONE;
      if (left) return;
      if (mine !== loads) return await newest; // a newer answer is on its way
      shown = identities;
      const isFocused = root.activeElement === retry;
      if (!retry.hidden) trouble.hidden = retry.hidden = true;
      if (status.textContent === texts.wait) say('');
      showAll();
      if (isFocused) focusOn();
    } catch (error) {
      if (!left && !shown.identities.length) fail(error as LatchkeyError, texts.identitiesFailed);
    }
  };
  retry.addEventListener('click', () => void load());

  let user: string | undefined;
  let offChannel: (() => void) | undefined;
  const onChange = (): void => {
    const id = client.session?.userId;
    if (id === user) return;
    user = id;
    offChannel?.();
    alert.close();
    shown = NONE;
    trouble.hidden = true;
    showAll();
    say(id ? texts.wait : '');
    void load();
    if (id) offChannel = kit.follow(['identities.changed', 'ready'], () => void load());
  };
  const offChange = client.on('change', onChange);
  onChange();
  const { linked } = client;
  if (linked && !seen.has(linked)) {
    const reportOnce = async (): Promise<void> => {
      await report(linked);
      if (left) return;
      seen.add(linked);
      await load();
    };
    void reportOnce();
  }

  return () => {
    left = true;
    offChange();
    offChannel?.();
    root.host.remove();
  };
}
