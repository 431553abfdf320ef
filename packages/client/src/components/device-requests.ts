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
  const { client, make, filled } = kit;
  const texts = { ...english, ...kit.texts };
  const root = kit.mount(place, STYLE, texts.language);
  const list = make('ul', { role: 'list', ariaLabel: texts.deviceRequests });
  const status = make('p', { role: 'status' });
  const problem = make('p', { role: 'alert', className: 'problem' });
  const relative = new Intl.RelativeTimeFormat(texts.language, { numeric: 'auto' });
  let left = false;

  const decide = (by: HTMLElement, ...answer: [string, boolean, string?]): Promise<boolean | undefined> =>
    kit.busy(by, async () => {
      problem.textContent = status.textContent = '';
      try {
        await client.decideDeviceRequest(...answer);
        status.textContent = answer[1] ? texts.requestApproved : texts.requestDenied;
        return true;
      } catch (error) {
        fail(error as LatchkeyError);
        return false;
      } finally {
        void load();
      }
    });
  const fail = (error: LatchkeyError): void => {
    if (OF_SESSION.includes(error.code)) return;
    const known: Readonly<Record<string, string>> = {
      not_found: texts.requestOver,
      access_denied: texts.requestWrongNumber,
    };
    problem.textContent = known[error.code] ?? texts.actionFailed;
    options.onError?.(error);
  };

  const rowOf = (id: string, request: DeviceRequest) => {
    const { client_id: program, device_name: name, address } = request;
    const minutes = Math.max(0, Math.floor((Date.now() - Date.parse(request.created_at)) / 60_000));
    const when = relative.format(-minutes, 'minute');
    const facts = filled(texts.requestFacts, { program, address: address ?? '?', when });
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
    const question = filled(texts.requestQuestion, { device: name ?? program });
    const title = make('strong', { dir: 'auto' }, ...question);
    const about = make('p', { dir: 'auto' }, ...facts);
    return { element: make('li', {}, title, about, make('p', {}, texts.requestWarning), form) };
  };
  const showRequests = kit.keyed(list, rowOf);

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
    if (!session) return showRequests(new Map());
    try {
      const requests = await client.deviceRequests();
      if (left || mine !== loads) return; // a newer answer is on its way
      showRequests(new Map(requests.map((request) => [request.request_id, request])));
    } catch (error) {
      fail(error as LatchkeyError);
    }
  };
  const offChange = client.on('change', () => void load());
  const offChannel = kit.follow(['device.requested'], () => void load());
  const expiry = setInterval(() => void load(), 60_000);
  void load();

  return () => {
    left = true;
    clearInterval(expiry);
    offChange();
    offChannel();
    root.host.remove();
  };
}
