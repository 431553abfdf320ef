import type { Device, RefusedProgram } from '../latchkey.js';
import english from '../texts/account/programs-en.js';
import type { DeviceName, fill as Fill, namesOf as NamesOf } from './devices/device-names.js';
import type { Kit, Row } from './kit.js';
import { STYLE } from './programs-style.js';
import type { makeQuestion as MakeQuestion } from './question.js';

const ROBOT =
  'M7 8h10a2 2 0 0 1 2 2v6a2 2 0 0 1-2 2H7a2 2 0 0 1-2-2v-6a2 2 0 0 1 2-2ZM12 8V4.500M9.500 12v1.500M14.500 12v1.500';

/** Removes a device, or allows a program again. @returns whether that is done */
type Act = (action: 'removeDevice' | 'allowProgram', id: string) => Promise<boolean>;

/**
 * Makes the part below the devices. What the list of devices has, too, is passed: a module that both import would be another file.
 * @param say shows a sentence as the status
 * @returns a function that shows the programs among devices, and those that the user may allow again
 */
export function makePrograms(
  kit: Kit,
  root: ShadowRoot,
  act: Act,
  say: (text: string) => void,
  fill: typeof Fill,
  namesOf: typeof NamesOf,
  makeQuestion: typeof MakeQuestion,
): (all: readonly Device[], refused: readonly RefusedProgram[]) => void {
  const { make, icon } = kit;
  const texts = { ...english, ...kit.texts };
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  root.adoptedStyleSheets.push(sheet);
  const ofProgram = { ...kit, texts: { ...texts, signOut: texts.endProgram } };
  const date = new Intl.DateTimeFormat(texts.language, { dateStyle: 'medium' });

  /** What both lists show of a program. @param facts below its name */
  const makeParts = (button: HTMLButtonElement, ...facts: HTMLElement[]) => {
    const label = make('strong', { dir: 'auto' });
    const host = make('p');
    const text = make('div', { className: 'text' }, make('p', {}, label), host, ...facts);
    const actions = make('div', { className: 'actions' }, button);
    return {
      element: make('li', {}, make('span', { className: 'icon' }, icon(ROBOT)), text, actions),
      setName: (name: string, client: string): void => {
        label.textContent = name;
        // The name is what the program says of itself; the host of its address is proven.
        host.replaceChildren(make('bdi', {}, toPlace(client).split('/')[0]!));
      },
    };
  };
  const onDate = (text: string, at: string): HTMLElement =>
    make('time', { dateTime: at }, fill(text, { when: date.format(Date.parse(at)) }));

  const makeRow = (id: string): Row<readonly [Device, DeviceName]> => {
    let name = '';
    const [access, times] = [make('p'), make('p')];
    const end = make('button', { type: 'button', className: 'danger' }, texts.endProgram);
    const { element, setName } = makeParts(end, access, times);
    const question = makeQuestion(ofProgram, element, end, async () => {
      if (await act('removeDevice', id)) say(fill(texts.programEnded, { program: name }));
    });
    end.addEventListener('click', () => question.ask(fill(texts.endQuestion, { program: name })));
    return {
      element,
      show([{ agent, last_seen_at: last }, { label: named, lastUsed }]): void {
        const { client_id: client, client_name, resource, scope, allowed_at: since } = agent!;
        setName((name = client_name), client);
        const values = { api: toPlace(resource), scope: scope.split(' ').join(', ') };
        access.replaceChildren(...kit.filled(texts.programAccess, values));
        times.replaceChildren(
          onDate(texts.programSince, since),
          ' · ',
          make('time', { dateTime: last, title: new Date(last).toLocaleString(texts.language) }, lastUsed),
        );
        end.ariaLabel = fill(texts.endProgramNamed, { program: named });
      },
    };
  };

  const makeRefused = (id: string): Row<RefusedProgram> => {
    let name = '';
    const [api, time] = [make('p'), make('p')];
    const allow = make('button', { type: 'button' }, texts.allowAgain);
    const { element, setName } = makeParts(allow, api, time);
    const run = async (): Promise<void> => {
      if (await act('allowProgram', id)) say(fill(texts.programAllowed, { program: name }));
    };
    allow.addEventListener('click', () => void kit.busy(allow, run));
    return {
      element,
      show({ client_id: client, client_name, resource, refused_at: at }): void {
        setName((name = client_name), client);
        api.replaceChildren(make('bdi', {}, toPlace(resource)));
        time.replaceChildren(onDate(texts.programStopped, at));
        const program = `${client_name}, ${toPlace(resource)}`; // the same one may use several APIs
        allow.ariaLabel = fill(texts.allowAgainNamed, { program });
      },
    };
  };

  const status = root.querySelector('[role=status]')!;
  /** Makes a list. @returns a function that shows programs by their ids; the list is hidden without any */
  const makeList = <Shown>(title: string, hint: string, makeOne: (id: string) => Row<Shown>) => {
    const list = make('ul', { role: 'list', ariaLabel: title }); // the style takes the role away in Safari
    const section = make('section', {}, make('h3', {}, title), make('p', {}, hint), list);
    status.before(section);
    const showRows = kit.keyed(list, makeOne);
    return (programs: ReadonlyMap<string, Shown>): void => {
      showRows(programs);
      section.hidden = !programs.size;
    };
  };
  const showPrograms = makeList(texts.programs, texts.programsHint, makeRow);
  const showRefused = makeList(texts.stoppedPrograms, texts.stoppedHint, makeRefused);

  return (all, refused) => {
    const programs = all.filter(({ agent, signed_in: isIn }) => agent && isIn); // others act no more
    const names = namesOf(programs.map(asNamed), texts, Date.now());
    showPrograms(new Map(programs.map((program, at) => [program.device_id, [program, names[at]!]])));
    showRefused(new Map(refused.map((program) => [program.device_id, program])));
  };
}

/** A program has the name that it gives itself, and not the browser in which it was allowed. */
function asNamed(program: Device): Device {
  return { ...program, device_name: program.agent!.client_name, browser: null, os: null };
}

/** Returns an address without its scheme; other text as it is. */
function toPlace(address: string): string {
  return address.replace(/^\w+:\/\//, '').replace(/\/$/, '');
}
