import type { Device } from '../latchkey.js';
import english from '../texts/account/programs-en.js';
import type { DeviceName, fill as Fill, namesOf as NamesOf } from './device-names.js';
import type { Kit } from './kit.js';
import { STYLE } from './programs-style.js';
import type { makeQuestion as MakeQuestion } from './question.js';

const ROBOT =
  'M7 8h10a2 2 0 0 1 2 2v6a2 2 0 0 1-2 2H7a2 2 0 0 1-2-2v-6a2 2 0 0 1 2-2ZM12 8V4.500M9.500 12v1.500M14.500 12v1.500';

/**
 * Makes the part below the devices. What the list of devices has, too, is passed: a module that both import would be another file.
 * @param remove signs a device out and removes it; resolves with whether it is gone
 * @param say shows a sentence as the status
 * @returns a function that shows the programs among devices
 */
export function makePrograms(
  kit: Kit,
  root: ShadowRoot,
  remove: (id: string) => Promise<boolean>,
  say: (text: string) => void,
  fill: typeof Fill,
  namesOf: typeof NamesOf,
  makeQuestion: typeof MakeQuestion,
): (all: readonly Device[]) => void {
  const { make, icon } = kit;
  const texts = { ...english, ...kit.texts };
  const list = make('ul', { role: 'list', ariaLabel: texts.programs }); // the style takes the role away in Safari
  const heading = make('h3', {}, texts.programs);
  const section = make('section', {}, heading, make('p', {}, texts.programsHint), list);
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  root.adoptedStyleSheets.push(sheet);
  root.querySelector('[role=status]')!.before(section);
  const rows = new Map<string, ReturnType<typeof makeRow>>();
  const ofProgram = { ...kit, texts: { ...texts, signOut: texts.endProgram } };
  const date = new Intl.DateTimeFormat(texts.language, { dateStyle: 'medium' });

  const makeRow = (id: string) => {
    let name = '';
    const label = make('strong', { dir: 'auto' });
    const [host, access, times] = [make('p'), make('p'), make('p')];
    const end = make('button', { type: 'button', className: 'danger' }, texts.endProgram);
    const text = make('div', { className: 'text' }, make('p', {}, label), host, access, times);
    const actions = make('div', { className: 'actions' }, end);
    const element = make('li', {}, make('span', { className: 'icon' }, icon(ROBOT)), text, actions);
    const question = makeQuestion(ofProgram, element, end, async () => {
      if (await remove(id)) say(fill(texts.programEnded, { program: name }));
    });
    end.addEventListener('click', () => question.ask(fill(texts.endQuestion, { program: name })));
    return {
      element,
      show({ agent, last_seen_at: last }: Device, { label: named, lastUsed }: DeviceName): void {
        const { client_id: client, client_name, resource, scope, allowed_at: since } = agent!;
        label.textContent = name = client_name;
        // The name is what the program says of itself; the host of its address is proven.
        host.replaceChildren(make('bdi', {}, toPlace(client).split('/')[0]!));
        const values = { api: toPlace(resource), scope: scope.split(' ').join(', ') };
        access.replaceChildren(...isolated(make, texts.programAccess, values));
        times.replaceChildren(
          make(
            'time',
            { dateTime: since },
            fill(texts.programSince, { when: date.format(Date.parse(since)) }),
          ),
          ' · ',
          make('time', { dateTime: last, title: new Date(last).toLocaleString(texts.language) }, lastUsed),
        );
        end.ariaLabel = fill(texts.endProgramNamed, { program: named });
      },
    };
  };

  return (all) => {
    const programs = all.filter(({ agent, signed_in: isIn }) => agent && isIn); // others act no more
    const names = namesOf(programs.map(asNamed), texts, Date.now());
    for (const [id, { element }] of rows) {
      if (programs.some((program) => program.device_id === id)) continue;
      const next = element.nextElementSibling ?? element.previousElementSibling ?? root;
      const isFocused = element.contains(root.activeElement);
      element.remove();
      rows.delete(id);
      if (isFocused) next.querySelector<HTMLElement>('li button:not([hidden])')?.focus();
    }
    programs.forEach((program, index) => {
      const { device_id: id } = program;
      const row = rows.get(id) ?? makeRow(id);
      rows.set(id, row);
      row.show(program, names[index]!);
      if (!row.element.parentNode) list.insertBefore(row.element, list.children[index] ?? null);
    });
    section.hidden = !programs.length;
  };
}

/** Replaces the placeholders of a text by elements: in a sentence from right to left, addresses stay as they are. */
function isolated(
  make: Kit['make'],
  text: string,
  values: Readonly<Record<string, string>>,
): (Node | string)[] {
  return text.split(/\{(\w+)\}/).map((part, index) => (index % 2 ? make('bdi', {}, values[part]!) : part));
}

/** A program has the name that it gives itself, and not the browser in which it was allowed. */
function asNamed(program: Device): Device {
  return { ...program, device_name: program.agent!.client_name, browser: null, os: null };
}

/** Returns an address without its scheme; other text as it is. */
function toPlace(address: string): string {
  return address.replace(/^\w+:\/\//, '').replace(/\/$/, '');
}
