import type { LatchkeyError } from '../latchkey-error.js';
import type { DeviceRequest } from '../latchkey.js';
import type { DeviceRequestsOptions } from '../options.js';
import english from '../texts/account/requests-en.js';
import { STYLE } from './device-requests-style.js';
import type { Kit } from './kit.js';

/** Errors after which the session ends, which the client reports itself. */
const OF_SESSION: readonly string[] = ['signed_out', 'invalid_token'];

/** Shows the requests in an element. @param options are read at each error @returns a function that removes them */
export function show(kit: Kit, place: Element, options: DeviceRequestsOptions): () => void {
  const { client, make } = kit;
  const texts = { ...english, ...kit.texts };
  const root = kit.mount(place, STYLE, texts.language);
  const list = make('ul', { role: 'list', ariaLabel: texts.deviceRequests });
  const status = make('p', { role: 'status' });
  const problem = make('p', { role: 'alert', className: 'problem' });
  let left = false;

  /** Decides once at a time; `disabled` would take the focus away. */
  const decide = async (by: HTMLElement, ...answer: [string, boolean, string?]): Promise<boolean> => {
    if (by.ariaBusy) return false;
    by.ariaBusy = 'true';
    problem.textContent = status.textContent = '';
    try {
      await client.decideDeviceRequest(...answer);
      status.textContent = answer[1] ? texts.requestApproved : texts.requestDenied;
      return true;
    } catch (error) {
      fail(error as LatchkeyError);
      return false;
    } finally {
      by.ariaBusy = null;
      void load();
    }
  };
  const fail = (error: LatchkeyError): void => {
    if (OF_SESSION.includes(error.code)) return;
    const known: Readonly<Record<string, string>> = {
      not_found: texts.requestOver,
      access_denied: texts.requestWrongNumber,
    };
    problem.textContent = known[error.code] ?? texts.actionFailed;
    options.onError?.(error);
  };

  const rowOf = (request: DeviceRequest): HTMLElement => {
    const { request_id: id, client_id: program, device_name: name, address } = request;
    const when = ago(texts.language, request.created_at);
    const facts = filled(texts.requestFacts, {
      program: make('bdi', {}, program),
      address: address ?? '?',
      when,
    });
    const number = make('input', {
      required: true,
      inputMode: 'numeric',
      pattern: '[0-9]{2}',
      maxLength: 2,
      autocomplete: 'off',
    });
    const yes = make('button', { className: 'main' }, texts.approve);
    const no = make('button', { type: 'button', className: 'main' }, texts.deny);
    const form = make('form', {}, make('label', {}, texts.requestNumber, number), yes, no);
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void decide(form, id, true, number.value);
    });
    no.addEventListener('click', () => void decide(form, id, false));
    const question = filled(texts.requestQuestion, { device: make('bdi', {}, name ?? program) });
    const title = make('strong', { dir: 'auto' }, ...question);
    const row = make(
      'li',
      {},
      title,
      make('p', { dir: 'auto' }, ...facts),
      make('p', {}, texts.requestWarning),
      form,
    );
    row.dataset['id'] = id;
    return row;
  };

  const code = make('input', { required: true, autocomplete: 'off', maxLength: 64, spellcheck: false });
  code.autocapitalize = 'characters';
  const approve = make('button', { className: 'main' }, texts.approve);
  const deny = make('button', { type: 'button', className: 'main' }, texts.deny);
  const byCode = make('form', {}, make('label', {}, texts.requestCode, code), approve, deny);
  const answerCode = async (isApproved: boolean): Promise<void> => {
    if (!byCode.reportValidity()) return;
    if (await decide(byCode, code.value.trim(), isApproved)) code.value = '';
  };
  byCode.addEventListener('submit', (event) => {
    event.preventDefault();
    void answerCode(true);
  });
  deny.addEventListener('click', () => void answerCode(false));
  root.append(list, byCode, make('p', { className: 'hint' }, texts.requestWarning), problem, status);

  let loads = 0;
  const load = async (): Promise<void> => {
    const { session } = client;
    const mine = ++loads;
    byCode.hidden = !session;
    if (!session) return list.replaceChildren();
    try {
      const requests = await client.deviceRequests();
      if (left || mine !== loads) return; // a newer answer is on its way
      const rows = new Map([...list.children].map((row) => [(row as HTMLElement).dataset['id'], row]));
      const ids = new Set<string | undefined>(requests.map(({ request_id: id }) => id));
      for (const [id, row] of rows) if (!ids.has(id)) row.remove();
      // A row that stays is not touched: it keeps what is typed, the focus, and a click that has begun.
      requests.forEach((request, index) => {
        if (!rows.has(request.request_id)) list.insertBefore(rowOf(request), list.children[index] ?? null);
      });
    } catch (error) {
      fail(error as LatchkeyError);
    }
  };
  const offChange = client.on('change', () => void load());
  let offChannel: (() => void) | undefined;
  const follow = async (): Promise<void> => {
    const channel = await client.connect();
    const stop = channel.on('device.requested', () => void load());
    if (left) stop();
    else offChannel = stop;
  };
  follow().catch(() => undefined); // without a channel the list is that of now
  const expiry = setInterval(() => void load(), 60_000);
  void load();

  return () => {
    left = true;
    clearInterval(expiry);
    offChange();
    offChannel?.();
    root.host.remove();
  };
}

/** Fills a text. What the device chose, in `bdi`, cannot change the direction of what is beside it. */
function filled(text: string, values: Readonly<Record<string, string | HTMLElement>>) {
  return text.split(/\{(\w+)\}/).map((part, i) => (i % 2 === 0 ? part : (values[part] ?? '')));
}

/** @param language may be the application's, and so invalid, such as `pt_BR` */
function ago(language: string, at: string): string {
  const minutes = Math.max(0, Math.floor((Date.now() - Date.parse(at)) / 60_000));
  const options = { numeric: 'auto' } as const;
  try {
    return new Intl.RelativeTimeFormat(language, options).format(-minutes, 'minute');
  } catch {
    return new Intl.RelativeTimeFormat(undefined, options).format(-minutes, 'minute');
  }
}
